/** Frames that are no responses, or no response to what was asked. */
import { expect, test } from 'vitest'
import { abuse, begin, connect, expectAbuse, expectEnd, expectRefusal } from '../../support/worker.js'

test('a response to another request ends the worker with both ids [MP-06, MP-14]', async () => {
  const details = { expected: '1', actual: '77' }
  await expectAbuse(abuse('mismatched-id'), { code: 'ERR_REQUEST_ID_MISMATCH', details })
})

test('a response whose id is no string, or is missing, ends the worker [MP-06, MP-14]', async () => {
  await expectAbuse(abuse('non-string-id'), { code: 'ERR_REQUEST_ID_INVALID', details: {} })
  await expectAbuse(abuse('no-id'), { code: 'ERR_REQUEST_ID_INVALID', details: {} })
})

test('a second response is never taken for the one to the next request [MP-06, MP-14]', async () => {
  for (const phase of ['prepare', 'shutdown']) {
    const connected = await connect(abuse('extra-response'))
    await begin(connected.session, 'execute')
    await expectEnd(connected, begin(connected.session, phase), { code: 'ERR_RESPONSE_EXTRA', details: { id: '1' } })
  }
})

test('a field that version 1 does not know ends the worker in every phase [MP-10, MP-14]', async () => {
  const expected = { code: 'ERR_MESSAGE_INVALID', details: { field: 'extra', reason: 'no such field' } }
  await expectRefusal(abuse('unknown-field', 'hello'), expected)
  for (const phase of ['prepare', 'execute', 'reset', 'shutdown']) {
    await expectAbuse(abuse('unknown-field', phase), expected, { phase })
  }
})

test('a greeting without an SDK is none: it must be said, also that there is none [MP-10]', async () => {
  const details = { field: 'sdk', reason: 'missing' }
  await expectRefusal(abuse('missing-sdk', 'hello'), { code: 'ERR_MESSAGE_INVALID', details })
})

test('responses on stdout are logs, and a flood of both streams holds up nothing [M-17, M-18, M-19]', async () => {
  const { session } = await connect(abuse('noise'), { launch: { logs: { stdoutBytes: 31, stderrBytes: 47 } } })
  const { statistics } = await session.execute({ result_dir: '/' })
  expect(statistics).toEqual({ padding: null })
  const { stdout, stderr, exit } = await session.shutdown()
  expect(exit).toMatchObject({ code: 0, endedBy: 'self' })
  expect(stdout).toMatchObject({ truncated: true, complete: true })
  expect(Buffer.from(stdout.bytes).toString()).toBe('{"id": "1", "ok": true, "result')
  expect(stderr.bytes.length).toBe(47)
  expect(stdout.totalBytes).toBeGreaterThan(1_000_000)
  expect(stderr.totalBytes - 'requests ended\n'.length).toBe(stdout.totalBytes)
})
