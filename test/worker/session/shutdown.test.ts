/** The end that a session asks for: acknowledgement and clean exit, within one limit. */
import { expect, test } from 'vitest'
import { finalLogSnapshot } from '../../../lib/worker.js'
import { alive } from '../../support/process-table.js'
import { timed, within } from '../../support/until.js'
import {
  abuse,
  begin,
  connect,
  expectEnd,
  expectGone,
  logText,
  rejection,
  roleOf,
  said,
  timeouts,
} from '../../support/worker.js'
import { escapee, gone } from '../../process/ends/children.js'

/** Long enough for an acknowledgement. */
const LIMIT_MS = within(200)
const briefly = { timeouts: { ...timeouts, shutdown: LIMIT_MS } }

test('a shutdown is acknowledged, then the worker sees its requests end, and exits [M-35, M-36, M-38]', async () => {
  const { session, process } = await connect(abuse('none'))
  const output = await session.shutdown()
  expect(output.exit).toMatchObject({ code: 0, signal: null, endedBy: 'self', groupLeft: 0 })
  expect(Buffer.from(output.stderr.bytes).toString()).toBe('requests ended\n')
  expect(await process.wait()).toBe(output)
  expect(finalLogSnapshot(output)).toMatchObject({ scope: 'worker_lifetime', complete: true })
  expectGone(process)
  const later = await rejection(session.shutdown())
  expect(later).toMatchObject({ code: 'ERR_SESSION_UNUSABLE', details: { phase: 'shutdown' } })
  expect(later.cause).toBe(undefined)
})

test('a worker that acknowledges and stays is ended at the limit [M-37]', async () => {
  const connected = await connect(abuse('acks-then-sleeps', 'shutdown', '0'), briefly)
  const details = { phase: 'shutdown', limitMs: LIMIT_MS }
  const call = connected.session.shutdown()
  const { result, ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PHASE_TIMEOUT', details }))
  expect(ms).toBeGreaterThanOrEqual(LIMIT_MS)
  expect(ms).toBeLessThan(within(1_500))
  expect(result.cause).toMatchObject({ code: 'ERR_WAIT_TIMEOUT' })
})

test('acknowledgement and exit share one limit: time that the first took is gone [M-37]', async () => {
  const limitMs = 800 + within(200)
  const terms = { timeouts: { ...timeouts, shutdown: limitMs } }
  const connected = await connect(abuse('acks-then-sleeps', 'shutdown', '0.8'), terms)
  const details = { phase: 'shutdown', limitMs }
  const call = connected.session.shutdown()
  const { result, ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PHASE_TIMEOUT', details }))
  expect(ms).toBeGreaterThanOrEqual(limitMs)
  // What the wait for the exit was given.
  expect((result.cause as { timeoutMs: number }).timeoutMs).toBeLessThanOrEqual(limitMs - 800)
})

test('a worker that acknowledges and exits with another code has failed [M-37]', async () => {
  const connected = await connect(abuse('acks-then-exits', 'shutdown', '3'))
  const exit = expect.objectContaining({ code: 3, signal: null }) as object
  await expectEnd(connected, connected.session.shutdown(), { code: 'ERR_UNSUCCESSFUL_EXIT', details: { exit } })
  expect((await connected.process.wait()).exit).toMatchObject({ code: 3, endedBy: 'self' })
})

test('a worker that refuses to shut down is ended with its words [M-35]', async () => {
  const connected = await connect(abuse('fails', 'shutdown'))
  const failed = { workerCode: 'operation_failed', workerMessage: 'no', workerDetails: { why: [1] } }
  const details = { phase: 'shutdown', ...failed }
  await expectEnd(connected, connected.session.shutdown(), { code: 'ERR_WORKER_FAILURE', details })
})

test('the signal of a shutdown also bounds the wait for the exit [M-37, B088]', async () => {
  const connected = await connect(abuse('acks-then-sleeps', 'shutdown', '0'))
  const signal = AbortSignal.timeout(200)
  const error = await expectEnd(connected, connected.session.shutdown({ signal }), { code: 'ERR_ABORTED', details: {} })
  expect(error.cause).toBe(signal.reason)
})

test('a member of the group that a worker leaves behind is killed and holds up no shutdown [M-44, M-38]', async () => {
  const { session, process } = await connect(abuse('ignores-interrupt'))
  await begin(session, 'execute')
  const member = await said(process, 'member')
  const { result, ms } = await timed(() => session.shutdown())
  expect(result).toMatchObject({ exit: { code: 0 }, stdout: { complete: true }, stderr: { complete: true } })
  expect(ms).toBeLessThan(within(900))
  await gone(member)
})

test('an escapee that holds the logs makes a run with a valid result one to reject [M-32, M-87, M-88]', async () => {
  for (const phase of ['materialize', 'execute', 'evaluate']) {
    const role = roleOf(phase)
    const { session, process } = await connect(abuse('escapes', 'shutdown'), { role })
    const { result: error, ms } = await timed(() => rejection(session.shutdown()))
    const pid = escapee(await said(process, 'escapee'), 'abuse.py')
    const exit = expect.objectContaining({ code: 0, signal: null }) as object
    expect(error).toMatchObject({ code: 'ERR_CONTROL_ENFORCEMENT_LOST', details: { role, exit } })
    const lost = { streams: [1, 2], deadlineMs: 1_000, exit }
    expect(error.cause).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE', details: lost })
    expect(ms).toBeGreaterThanOrEqual(1_000)
    expect(ms).toBeLessThan(within(1_900))
    expect(await rejection(process.wait())).toBe(error.cause)
    expect(process.logSnapshot().complete).toBe(false)
    expect(logText(process)).toMatch(/^escapee \d+\n$/)
    expect(alive(pid)).toBe(true)
    expect(session.usable).toBe(false)
    expectGone(process)
  }
})

test('an escapee that has let go of the logs and could still answer makes a run one to reject [M-88, MP-06]', async () => {
  const { session, process } = await connect(abuse('holds-responses', 'shutdown'))
  const error = await rejection(session.shutdown())
  escapee(await said(process, 'escapee'), 'abuse.py')
  const exit = expect.objectContaining({ code: 0, signal: null }) as object
  expect(error).toMatchObject({ code: 'ERR_CONTROL_ENFORCEMENT_LOST', details: { role: 'implementation', exit } })
  expect(error.cause).toMatchObject({ code: 'ERR_PIPE_TIMEOUT', details: { timeoutMs: 1_000 } })
  expectGone(process)
})

test('the limit of a shutdown ends with the exit: an escapee costs the logs their second [M-37, M-88]', async () => {
  // Long enough for acknowledgement and exit, shorter than what the logs have after it.
  const terms = { timeouts: { ...timeouts, shutdown: 900 } }
  const { session, process } = await connect(abuse('escapes', 'shutdown'), terms)
  const error = await rejection(session.shutdown())
  escapee(await said(process, 'escapee'), 'abuse.py')
  expect(error).toMatchObject({ code: 'ERR_CONTROL_ENFORCEMENT_LOST', details: { role: 'implementation' } })
  expectGone(process)
})
