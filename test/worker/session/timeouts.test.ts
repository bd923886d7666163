/** What stops a phase: its own limit, or the signal of its call; whoever holds the pipes. */
import { MiB } from 'exactspawn'
import { expect, test } from 'vitest'
import type { PosixWorkerProcess } from '../../../lib/worker.js'
import { WorkerSession } from '../../../lib/worker.js'
import { alive } from '../../support/process-table.js'
import { timed, within } from '../../support/until.js'
import {
  abuse,
  anyExecute,
  anyPrepare,
  begin,
  connect,
  expectEnd,
  expectGone,
  launch,
  rejection,
  roleOf,
  said,
  timeouts,
  workerId,
} from '../../support/worker.js'
import { escapee } from '../../process/ends/children.js'

const LIMIT_MS = 150
/** A phase's limit and all of the end that follows. */
const SOON_MS = within(1_500)
const SCRIPT = 'abuse.py'

test('every phase has its own limit, and a worker that sleeps past it is ended [MP-13, MP-14, M-84]', async () => {
  for (const phase of ['materialize', 'prepare', 'execute', 'evaluate', 'reset', 'shutdown']) {
    const terms = { role: roleOf(phase), timeouts: { ...timeouts, [phase]: LIMIT_MS } }
    const connected = await connect(abuse('sleeps', phase), terms)
    const details = { phase, limitMs: LIMIT_MS }
    const { result, ms } = await timed(() =>
      expectEnd(connected, begin(connected.session, phase), { code: 'ERR_PHASE_TIMEOUT', details }),
    )
    expect(ms).toBeGreaterThanOrEqual(LIMIT_MS)
    expect(ms).toBeLessThan(SOON_MS)
    expect(result.cause).toMatchObject({ code: 'ERR_PIPE_TIMEOUT' })
  }
})

test('a worker that does not answer the greeting in time is ended [MP-13, M-84]', async () => {
  const process = await launch(abuse('sleeps', 'hello'))
  const terms = { role: 'implementation', workerId, timeouts: { ...timeouts, hello: LIMIT_MS } } as const
  const { result, ms } = await timed(() => rejection(WorkerSession.connect(process, terms)))
  expect(result).toMatchObject({ code: 'ERR_PHASE_TIMEOUT', details: { phase: 'hello', limitMs: LIMIT_MS } })
  expect(ms).toBeGreaterThanOrEqual(LIMIT_MS)
  expect(ms).toBeLessThan(SOON_MS)
  expectGone(process)
})

test('a long request that a worker never reads is given up at the limit of its phase [M-85, MP-13]', async () => {
  const terms = { timeouts: { ...timeouts, prepare: LIMIT_MS } }
  const connected = await connect(abuse('never-reads-again', 'hello'), terms)
  const call = connected.session.prepare({ ...anyPrepare, problem_parameters: { pad: 'x'.repeat(1_000_000) } })
  const details = { phase: 'prepare', limitMs: LIMIT_MS }
  const { result, ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PHASE_TIMEOUT', details }))
  expect(ms).toBeLessThan(SOON_MS)
  const { bytesWritten } = result.cause as { bytesWritten: number }
  expect(bytesWritten).toBeGreaterThanOrEqual(4_096)
  expect(bytesWritten).toBeLessThan(MiB)
})

test('an escapee with the response pipe holds up no phase past its limit [B049, M-84, M-86]', async () => {
  // Long enough for the escapee to be told.
  const limitMs = within(250)
  const terms = { timeouts: { ...timeouts, execute: limitMs } }
  const connected = await connect(abuse('escapes-and-exits'), terms)
  const call = begin(connected.session, 'execute')
  const details = { phase: 'execute', limitMs }
  const { ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PHASE_TIMEOUT', details }))
  const pid = escapee(await said(connected.process, 'escapee'), SCRIPT)
  expect(alive(pid)).toBe(true)
  expect(ms).toBeLessThan(SOON_MS)
})

test('an escapee with the request pipe that reads nothing holds up no request [M-85, M-86]', async () => {
  const terms = { timeouts: { ...timeouts, prepare: LIMIT_MS } }
  const connected = await connect(abuse('escapes', 'execute'), terms)
  await begin(connected.session, 'execute')
  const pid = escapee(await said(connected.process, 'escapee'), SCRIPT)
  connected.process.kill()
  const call = connected.session.prepare({ ...anyPrepare, problem_parameters: { pad: 'x'.repeat(1_000_000) } })
  const details = { phase: 'prepare', limitMs: LIMIT_MS }
  const { result, ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PHASE_TIMEOUT', details }))
  expect(ms).toBeLessThan(SOON_MS)
  expect((result.cause as { bytesWritten: number }).bytesWritten).toBeLessThan(MiB)
  expect(alive(pid)).toBe(true)
})

test('the signal of a call ends the session, with its very reason as the cause [B088, MP-14]', async () => {
  const connected = await connect(abuse('sleeps'))
  const aborter = new AbortController()
  const call = connected.session.execute(anyExecute, { signal: aborter.signal })
  const reason = new Error('enough')
  aborter.abort(reason)
  const error = await expectEnd(connected, call, { code: 'ERR_ABORTED', details: {} })
  expect(error.cause).toBe(reason)
})

test('the signal of a long write tells how much the worker can have read [M-85, MP-14]', async () => {
  const connected = await connect(abuse('never-reads-again', 'hello'))
  const aborter = new AbortController()
  const fields = { ...anyPrepare, problem_parameters: { pad: 'x'.repeat(1_000_000) } }
  const call = connected.session.prepare(fields, { signal: aborter.signal })
  aborter.abort()
  const details = { bytesWritten: expect.any(Number) as number }
  const error = await expectEnd(connected, call, { code: 'ERR_ABORTED', details })
  expect((error as unknown as { bytesWritten: number }).bytesWritten).toBeLessThan(MiB)
})

test('the signal of a connecting ends the worker, also one that had aborted before [B086, MP-14]', async () => {
  const reason = new Error('no more')
  const aborter = new AbortController()
  const asleep = await launch(abuse('sleeps', 'hello'))
  const terms = { role: 'implementation', workerId, timeouts } as const
  const greet = (process: PosixWorkerProcess) => {
    return rejection(WorkerSession.connect(process, { ...terms, signal: aborter.signal }))
  }
  const connecting = greet(asleep)
  aborter.abort(reason)
  const late = await launch(abuse('none'))
  for (const error of [await connecting, await greet(late)]) {
    expect(error).toMatchObject({ code: 'ERR_ABORTED' })
    expect(error.cause).toBe(reason)
  }
  for (const process of [asleep, late]) expectGone(process)
})
