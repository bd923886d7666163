// Many children at once: what one costs in memory and descriptors while it lives, and what it takes when all end together.
import { cpuMicroseconds, microseconds, openDescriptors, residentKiB } from '../clock.mjs'
import { Gate } from './gate.mjs'

export async function measure(adapter, parameters) {
  const { program, pipes = 0, count = 1000 } = parameters
  for (let i = 0; i < 20; i++) await adapter.run(program, [], pipes)
  const gate = new Gate(parameters)
  const resident = residentKiB()
  const descriptors = openDescriptors()
  let cpu = cpuMicroseconds()
  const ends = await gate.hold(adapter, count, pipes)
  const startCpuMs = (cpuMicroseconds() - cpu) / 1e3
  const facts = {
    startCpuMs,
    residentKiB: (residentKiB() - resident) / count,
    descriptors: (openDescriptors() - descriptors) / count,
  }
  const begin = microseconds()
  cpu = cpuMicroseconds()
  gate.close()
  await Promise.all(ends)
  return { ...facts, wallMs: (microseconds() - begin) / 1e3, cpuMs: (cpuMicroseconds() - cpu) / 1e3 }
}
