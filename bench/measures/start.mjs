// One start after the other: how long until the end is known, how long the call itself holds the JavaScript thread, and
// what both cost in processor time.
import { cpuMicroseconds, microseconds } from '../clock.mjs'
import { median, quantile } from '../statistics.mjs'

// A host compiles what it runs often, so cases compare only after equally many starts.
export async function measure({ run }, { program, pipes = 0, count = 100, warmUps = 30 }) {
  const walls = []
  const blocks = []
  const once = async () => {
    const begin = microseconds()
    const ended = run(program, [], pipes)
    const returned = microseconds()
    await ended
    walls.push(microseconds() - begin)
    blocks.push(returned - begin)
  }
  for (let i = 0; i < warmUps; i++) await once()
  walls.length = 0
  blocks.length = 0
  const cpu = cpuMicroseconds()
  for (let i = 0; i < count; i++) await once()
  return {
    wallUs: median(walls),
    wallP99Us: quantile(walls, 0.99),
    wallLowUs: quantile(walls, 0.1),
    blockedUs: median(blocks),
    cpuUs: (cpuMicroseconds() - cpu) / count,
  }
}
