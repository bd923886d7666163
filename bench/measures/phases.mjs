// As crowd, but start and end apart: until the program is there, and from there until its end is known.
import { microseconds } from '../clock.mjs'
import { median } from '../statistics.mjs'
import { Gate } from './gate.mjs'

export async function measure(adapter, parameters) {
  const { program, alive, count = 60 } = parameters
  for (let i = 0; i < 20; i++) await adapter.run(program, [], 0)
  const gate = new Gate(parameters)
  const ends = []
  const facts = {}
  for (const wanted of String(alive).split('+').map(Number)) {
    ends.push(...(await gate.hold(adapter, wanted - ends.length, 0)))
    const starts = []
    const rests = []
    for (let i = 0; i < count; i++) {
      const begin = microseconds()
      const { ended } = await adapter.start(program, [])
      const there = microseconds()
      await ended
      starts.push(there - begin)
      rests.push(microseconds() - there)
    }
    facts[`startUs${wanted}`] = median(starts)
    facts[`endUs${wanted}`] = median(rests)
  }
  gate.close()
  await Promise.all(ends)
  return facts
}
