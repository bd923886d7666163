/** The longest frame in both directions, and that a long session does not grow. */
import { KiB } from 'exactspawn'
import { expect, test } from 'vitest'
import { FRAME_MAX_BYTES } from '../../../lib/base/limits.js'
import { until } from '../../support/until.js'
import {
  AMPLE_MS,
  abuse,
  anyExecute,
  anyPrepare,
  connect,
  expectAbuse,
  expectEnd,
  rounds,
} from '../../support/worker.js'

/** The fields of a second request whose whole line has so many bytes. */
function paddedPrepare(bytes: number): { fields: typeof anyPrepare; padding: number } {
  const line = JSON.stringify({ id: '1', method: 'prepare', ...anyPrepare, problem_parameters: { pad: '' } })
  const padding = bytes - line.length - 1
  return { fields: { ...anyPrepare, problem_parameters: { pad: 'x'.repeat(padding) } }, padding }
}

test('a request of one byte more than a frame may have ends the session unsent [MP-08, MP-14]', async () => {
  const connected = await connect(abuse('none'))
  const call = connected.session.prepare(paddedPrepare(FRAME_MAX_BYTES + 1).fields)
  const details = { limitBytes: 1_048_576, bytes: 1_048_577 }
  await expectEnd(connected, call, { code: 'ERR_MESSAGE_TOO_LONG', details })
})

test('a response of one byte more than a frame may have ends the session [MP-02, MP-14]', async () => {
  const details = { limitBytes: 1_048_576 }
  await expectAbuse(abuse('padded', 'execute', '1048577'), { code: 'ERR_FRAME_LINE_TOO_LONG', details })
})

test('the longest request and the longest response arrive whole, again and again [MP-02, MP-08]', async () => {
  const asked = await connect(abuse('none'))
  const { fields, padding } = paddedPrepare(FRAME_MAX_BYTES)
  await asked.session.prepare(fields)
  expect((await asked.session.execute(anyExecute)).statistics).toEqual({ padding })
  await asked.session.shutdown()
  const answered = await connect(abuse('padded', 'execute', String(FRAME_MAX_BYTES)))
  for (let times = 0; times < 3; times++) {
    const { result, statistics, implementation_time_ns } = await answered.session.execute(anyExecute)
    const pad = statistics['pad'] as string
    expect(pad).toMatch(/^x+$/)
    // Python puts a space behind each colon and comma.
    const line = JSON.stringify({ id: '1', ok: true, result, statistics, implementation_time_ns })
    expect(line.length + 1 + line.match(/":|,"/g)!.length).toBe(FRAME_MAX_BYTES)
  }
  await answered.session.shutdown()
})

test('thousands of small exchanges neither mix nor grow anything in the host [B082, MP-07]', async () => {
  const { session } = await connect(abuse('none'))
  const exchange = async (index: number) => {
    await session.prepare({ ...anyPrepare, problem_parameters: { pad: 'x'.repeat(index % 99) } })
    expect((await session.execute(anyExecute)).statistics).toEqual({ padding: index % 99 })
  }
  for (let index = 0; index < 100; index++) await exchange(index)
  const before = memory()
  for (let index = 0; index < rounds(2_000) / 2; index++) await exchange(index)
  await until('no more memory than before', () => memory() - before < 512 * KiB)
  await session.shutdown()
}, 10 * AMPLE_MS)

function memory(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
