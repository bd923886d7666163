// What an event loop that starts 500 children has left for everything else: the longest time that a timer of one
// millisecond was late.
import { cpuMicroseconds, microseconds, sleep } from '../clock.mjs'
import { median } from '../statistics.mjs'

export async function measure({ run }, { program, pipes = 2, total = 500, inFlight = 16 }) {
  for (let i = 0; i < 20; i++) await run(program, [], pipes)
  await sleep(20)
  const gaps = []
  let last = microseconds()
  const tick = () => {
    const now = microseconds()
    gaps.push(Math.max(0, now - last - 1000))
    last = now
  }
  const timer = setInterval(tick, 1)
  const begin = microseconds()
  const cpu = cpuMicroseconds()
  let left = total
  const lane = async () => {
    while (left-- > 0) await run(program, [], pipes)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  const totalMs = (microseconds() - begin) / 1e3
  const cpuMs = (cpuMicroseconds() - cpu) / 1e3
  // The turn in which the last one ended counts too.
  await sleep(2)
  clearInterval(timer)
  return { maxGapMs: Math.max(...gaps) / 1e3, gapMs: median(gaps) / 1e3, totalMs, cpuMs }
}
