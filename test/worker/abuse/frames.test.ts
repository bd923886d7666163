/** Bytes on the response pipe that are no frames: the worker is ended with the error that says which. */
import { FRAME_MAX_BYTES } from '../../../lib/base/limits.js'
import { KiB, MiB } from 'exactspawn'
import { expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { abuse, begin, connect, expectAbuse, expectRefusal } from '../../support/worker.js'

test('a key that comes twice in a response is named and ends the worker [MP-04, MP-14]', async () => {
  await expectAbuse(abuse('duplicate-keys'), { code: 'ERR_FRAME_DUPLICATE_KEY', details: { key: 'manifest' } })
})

test('bytes that are no UTF-8 end the worker with how far they were [MP-04, MP-14]', async () => {
  await expectAbuse(abuse('invalid-utf8'), { code: 'ERR_FRAME_INVALID_UTF8', details: { validUpTo: 7 } })
})

test('a byte order mark ends the worker [MP-01, MP-04, MP-14]', async () => {
  await expectAbuse(abuse('byte-order-mark'), { code: 'ERR_FRAME_BYTE_ORDER_MARK', details: {} })
})

test('a text that is no JSON ends the worker with where it stopped to be [MP-04, MP-14]', async () => {
  const details = { line: 1, column: 11, reason: expect.any(String) as string }
  await expectAbuse(abuse('malformed-json'), { code: 'ERR_FRAME_MALFORMED_JSON', details })
})

test('an end within a frame ends the session with what had come [MP-03, MP-14]', async () => {
  await expectAbuse(abuse('early-eof'), { code: 'ERR_FRAME_EARLY_EOF', details: { received: 7 } })
})

test('a response that comes byte by byte is as good as another [MP-05]', async () => {
  const { session } = await connect(abuse('fragmented', 'hello,execute,shutdown'))
  expect(await begin(session, 'execute')).toMatchObject({ result: { manifest: 'result.json' } })
  expect(await session.shutdown()).toMatchObject({ exit: { code: 0 } })
})

test('a response of one byte more than a frame may have ends the worker [MP-02, MP-14]', async () => {
  const launched = abuse('padded', 'execute', String(FRAME_MAX_BYTES + 1))
  await expectAbuse(launched, { code: 'ERR_FRAME_LINE_TOO_LONG', details: { limitBytes: 1_048_576 } })
})

test('a line without an end is kept no further than a frame can go [MP-02, MP-14]', async () => {
  const before = arrayBuffers()
  await expectAbuse(abuse('endless-line'), { code: 'ERR_FRAME_LINE_TOO_LONG', details: { limitBytes: MiB } })
  await until('no more than a frame is kept', () => arrayBuffers() - before < MiB + 512 * KiB)
})

// Freed in the background: one collection may still count what is gone.
function arrayBuffers(): number {
  globalThis.gc?.()
  return process.memoryUsage().arrayBuffers
}

test('a frame that is none refuses the worker while it is greeted [MP-04, MP-09]', async () => {
  await expectRefusal(abuse('invalid-utf8', 'hello'), { code: 'ERR_FRAME_INVALID_UTF8', details: { validUpTo: 7 } })
  await expectRefusal(abuse('early-eof', 'hello'), { code: 'ERR_FRAME_EARLY_EOF', details: { received: 7 } })
})
