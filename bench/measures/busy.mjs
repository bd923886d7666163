// A child writes while the JavaScript thread computes: how long does writing take it?
import { readFileSync } from 'node:fs'
import { microseconds } from '../clock.mjs'

export async function measure({ run }, { program, target, bytes, busyMs, report }) {
  for (let i = 0; i < 5; i++) await run(program, [], 2)
  const begin = microseconds()
  const ended = run(target, ['write', String(bytes), '65536', `report=${report}`], 2)
  while (microseconds() - begin < busyMs * 1e3);
  await ended
  return { childMs: Number(readFileSync(report, 'utf8')) / 1e6 }
}
