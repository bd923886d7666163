// What one start and its end cost while so many other children live. `alive` is a rising list: 0+100+2000.
import { cpuMicroseconds, microseconds } from '../clock.mjs'
import { Gate } from './gate.mjs'

export async function measure(adapter, parameters) {
  const { program, alive, count = 60 } = parameters
  for (let i = 0; i < 20; i++) await adapter.run(program, [], 0)
  const gate = new Gate(parameters)
  const ends = []
  const facts = {}
  for (const wanted of String(alive).split('+').map(Number)) {
    ends.push(...(await gate.hold(adapter, wanted - ends.length, 0)))
    const begin = microseconds()
    const cpu = cpuMicroseconds()
    for (let i = 0; i < count; i++) await adapter.run(program, [], 0)
    facts[`cpuUs${wanted}`] = (cpuMicroseconds() - cpu) / count
    facts[`wallUs${wanted}`] = (microseconds() - begin) / count
  }
  gate.close()
  await Promise.all(ends)
  return facts
}
