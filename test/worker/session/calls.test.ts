/** Calls of a session: which are refused without harm, which end it, and that there is one at a time. */
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { abuse, anyExecute, anyPrepare, begin, connect, expectEnd, rejection } from '../../support/worker.js'

test('a method that the role does not serve is refused and takes no id [MP-07, MP-11]', async () => {
  const connected = await connect(abuse('mismatched-id', 'prepare'))
  const { session } = connected
  for (const phase of ['materialize', 'evaluate', 'materialize']) {
    const details = { phase, role: 'implementation' }
    await expect(begin(session, phase)).rejects.toMatchObject({ code: 'ERR_INVALID_ROLE', details })
  }
  const details = { expected: '1', actual: '77' }
  await expectEnd(connected, begin(session, 'prepare'), { code: 'ERR_REQUEST_ID_MISMATCH', details })
})

test('each role serves its own methods and refuses all others [MP-11]', async () => {
  for (const role of ['dataset_materializer', 'problem_evaluator'] as const) {
    const { session } = await connect(abuse('none'), { role })
    for (const phase of ['prepare', 'execute', 'reset']) {
      await expect(begin(session, phase)).rejects.toMatchObject({ code: 'ERR_INVALID_ROLE', details: { phase, role } })
    }
    await session.shutdown()
  }
})

test('a second call while one is pending is refused, and the first goes on unharmed [MP-07]', async () => {
  const connected = await connect(abuse('mismatched-id', 'reset'))
  const { session } = connected
  const first = session.prepare(anyPrepare)
  const others = ['execute', 'prepare', 'shutdown', 'reset'].map((phase) => rejection(begin(session, phase)))
  for (const error of await Promise.all(others)) {
    expect(error).toMatchObject({ code: 'ERR_REQUEST_PENDING', details: { id: '1' } })
  }
  expect(await first).toEqual({})
  expect(session.usable).toBe(true)
  const details = { expected: '2', actual: '77' }
  await expectEnd(connected, session.reset(), { code: 'ERR_REQUEST_ID_MISMATCH', details })
})

test('an execution is refused when the plan did not select it [MP-09, MP-11]', async () => {
  const { session } = await connect(abuse('none'), { capabilities: [] })
  const details = { phase: 'execute', capability: 'one_shot' }
  await expect(begin(session, 'execute')).rejects.toMatchObject({ code: 'ERR_CAPABILITY_NOT_SELECTED', details })
  expect(await begin(session, 'prepare')).toEqual({})
  await session.shutdown()
})

test('a signal that has aborted already refuses the call and harms nothing [B086, MP-07]', async () => {
  const connected = await connect(abuse('mismatched-id'))
  const { session } = connected
  const reason = new Error('too late')
  const error = await rejection(session.execute(anyExecute, { signal: AbortSignal.abort(reason) }))
  expect(error).toMatchObject({ code: 'ERR_ABORTED', details: {} })
  expect(error.cause).toBe(reason)
  await expect(session.execute(anyExecute, { signal: 'soon' as never })).rejects.toThrow(TypeError)
  const details = { expected: '1', actual: '77' }
  await expectEnd(connected, session.execute(anyExecute), { code: 'ERR_REQUEST_ID_MISMATCH', details })
})

test('a message that version 1 cannot say ends the session before a byte is sent [MP-08, MP-10, MP-14]', async () => {
  const connected = await connect(abuse('none'))
  const call = connected.session.prepare({ ...anyPrepare, implementation_seed: -1 })
  const details = { field: 'implementation_seed', reason: 'must be an integer from 0 to 2^53 - 1' }
  await expectEnd(connected, call, { code: 'ERR_MESSAGE_INVALID', details })
})

test('a failure that a worker reports is told with its phase, and the session goes on [MP-12]', async () => {
  for (const phase of ['prepare', 'execute']) {
    const { session } = await connect(abuse('fails', phase))
    const failed = { workerCode: 'operation_failed', workerMessage: 'no', workerDetails: { why: [1] } }
    for (let times = 0; times < 2; times++) {
      const error = await rejection(begin(session, phase))
      expect(error).toMatchObject({ code: 'ERR_WORKER_FAILURE', details: { phase, ...failed } })
      expect(session.usable).toBe(true)
    }
    await session.reset()
    expect((await session.shutdown()).exit.code).toBe(0)
  }
})

test('a failed reset ends the session: nobody knows what is left in the worker [MP-12, MP-14]', async () => {
  const details = { phase: 'reset', workerCode: 'operation_failed', workerMessage: 'no', workerDetails: { why: [1] } }
  const connected = await connect(abuse('fails', 'reset'))
  await begin(connected.session, 'execute')
  await expectEnd(connected, connected.session.reset(), { code: 'ERR_WORKER_FAILURE', details })
})

test('a signal that bounds many calls keeps no listener of any [B090]', async () => {
  const { session } = await connect(abuse('none'))
  const { signal } = new AbortController()
  for (let times = 0; times < 20; times++) {
    await session.prepare(anyPrepare, { signal })
    await session.execute(anyExecute, { signal })
  }
  await session.shutdown({ signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
