// Starts for each second while so many are in flight.
import { cpuMicroseconds, microseconds } from '../clock.mjs'

export async function measure({ run }, { program, pipes = 0, total = 400, inFlight = 16 }) {
  for (let i = 0; i < 20; i++) await run(program, [], pipes)
  const begin = microseconds()
  const cpu = cpuMicroseconds()
  let left = total
  const lane = async () => {
    while (left-- > 0) await run(program, [], pipes)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return { perSecond: (total / (microseconds() - begin)) * 1e6, cpuUs: (cpuMicroseconds() - cpu) / total }
}
