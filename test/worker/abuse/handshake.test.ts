/** Greetings that refuse the worker, each by the first check that fails. */
import { expect, test } from 'vitest'
import { abuse, connect, expectRefusal, launch, rejection, timeouts, workerId } from '../../support/worker.js'
import { WorkerSession } from '../../../lib/worker.js'

function failedCheck(check: string, expected: string, actual: string) {
  return { code: 'ERR_HANDSHAKE_FAILED', details: { check, expected, actual } }
}

test('a greeting with another id, or none, is refused by the check of the id [MP-09]', async () => {
  await expectRefusal(abuse('mismatched-id', 'hello'), failedCheck('id', '0', '77'))
  await expectRefusal(abuse('non-string-id', 'hello'), failedCheck('id', '0', 'none'))
})

test('a version that was not offered is refused [MP-09, M-68]', async () => {
  await expectRefusal(abuse('wrong-version', 'hello'), failedCheck('version', '1', '2'))
})

test('a worker of another identity is refused [MP-09]', async () => {
  const stranger = `mw1-resolved-worker-${'0'.repeat(64)}`
  await expectRefusal(abuse('wrong-identity', 'hello'), failedCheck('identity', workerId, stranger))
})

test('a worker without a capability that the plan selected is refused [MP-09]', async () => {
  await expectRefusal(abuse('missing-capability', 'hello'), failedCheck('capability', 'one_shot', 'applicability'))
})

test('only an implementation may have a capability selected [MP-09]', async () => {
  const terms = { role: 'problem_evaluator', capabilities: ['one_shot'] } as const
  const expected = failedCheck('role', 'implementation', 'problem_evaluator')
  await expectRefusal(abuse('reserved-capability', 'hello'), expected, terms)
})

test('a capability that is kept for later versions cannot be selected [MP-09]', async () => {
  const terms = { capabilities: ['one_shot', 'streaming_profile'] } as const
  const expected = failedCheck('reserved', 'one_shot', 'streaming_profile')
  await expectRefusal(abuse('reserved-capability', 'hello'), expected, terms)
})

test('what a worker reports beyond the selection is recorded and does nothing [MP-09]', async () => {
  const { session } = await connect(abuse('reserved-capability', 'hello'))
  expect(session.facts).toEqual({ sdk: null, capabilities: ['one_shot', 'streaming_profile'] })
  expect(Object.isFrozen(session.facts)).toBe(true)
  await session.shutdown()
})

test('a worker that answers the greeting by a failure is ended with its words [MP-09, MP-12]', async () => {
  const details = { phase: 'hello', workerCode: 'operation_failed', workerMessage: 'no', workerDetails: { why: [1] } }
  await expectRefusal(abuse('fails', 'hello'), { code: 'ERR_WORKER_FAILURE', details })
})

test('terms that no worker could meet are refused, and cost no worker [MP-09, P-2]', async () => {
  const process = await launch(abuse('none'))
  const right = { role: 'implementation', workerId, timeouts } as const
  for (const [wrong, field] of [
    [{ workerId: 'me' }, 'workerId'],
    [{ role: 'judge' }, 'role'],
    [{ capabilities: 'one_shot' }, 'capabilities'],
    [{ capabilities: ['one_shot', 'two_shot'] }, 'capabilities[1]'],
    [{ capabilities: ['one_shot', 'one_shot'] }, 'capabilities'],
    [{ capability: [] }, 'options.capability'],
  ] as const) {
    const error = await rejection(WorkerSession.connect(process, { ...right, ...wrong } as never))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field } })
  }
  const session = await WorkerSession.connect(process, right)
  await session.shutdown()
})

test('a refused worker is not greeted again [M-15]', async () => {
  const process = await launch(abuse('wrong-version', 'hello'))
  const terms = { role: 'implementation', workerId, timeouts } as const
  await rejection(WorkerSession.connect(process, terms))
  const again = await rejection(WorkerSession.connect(process, terms))
  expect(again).toMatchObject({ code: 'ERR_PROTOCOL_IO_TRANSFERRED', details: { endpoint: 'both' } })
})
