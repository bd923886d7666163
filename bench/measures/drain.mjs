// How fast output is taken from children, of which the first 64 KiB are kept and the rest is counted.
import { cpuMicroseconds, microseconds } from '../clock.mjs'

export async function measure({ drain, run }, parameters) {
  const { program, target, bytes, block = 65536, children = 1 } = parameters
  // The first start pays for threads and compiled code, which 100 ms of draining would show.
  for (let i = 0; i < 3; i++) await run(program, [], 2)
  const begin = microseconds()
  const cpu = cpuMicroseconds()
  const args = ['write', String(bytes), String(block), ...writerOptions(parameters)]
  const totals = await Promise.all(Array.from({ length: children }, () => drain(target, args, parameters)))
  const took = microseconds() - begin
  const total = totals.reduce((sum, count) => sum + count, 0)
  if (total !== bytes * children) throw new Error(`${bytes * children} bytes were written and ${total} counted`)
  return { gbPerSecond: total / took / 1e3, cpuPerGb: (cpuMicroseconds() - cpu) / 1e6 / (total / 1e9) }
}

function writerOptions({ childCpu, text, needle }) {
  const given = { cpu: childCpu, text, needle }
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
}
