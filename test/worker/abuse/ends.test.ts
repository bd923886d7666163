/** Workers that end too early. */
import { expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { abuse, anyPrepare, begin, connect, expectEnd, expectRefusal, logText, record } from '../../support/worker.js'

test('a worker that crashes while it executes is told apart from one that answers wrongly [MP-03, MP-14]', async () => {
  const connected = await connect(abuse('crashes'))
  const details = { phase: 'execute', by: 'worker' }
  await expectEnd(connected, begin(connected.session, 'execute'), { code: 'ERR_PROTOCOL_CLOSED', details })
  expect(connected.process.tryWait()).toMatchObject({ code: null, signal: 'SIGKILL' })
  expect(logText(connected.process, 'stderr')).toBe('crashing\n')
})

test('a request to a worker that died before cannot be sent, and ends no host [B037, M-14, MP-14]', async () => {
  const connected = await connect(abuse('dies-after-answer'))
  await begin(connected.session, 'execute')
  await until('the exit', () => connected.process.tryWait())
  const details = { phase: 'prepare', bytesWritten: 0 }
  const call = connected.session.prepare(anyPrepare)
  const error = await expectEnd(connected, call, { code: 'ERR_PROTOCOL_WRITE_FAILED', details })
  expect(error.cause).toMatchObject({ code: 'ERR_PIPE_WRITE_FAILED', cause: { code: 'EPIPE' } })
  expect(connected.process.tryWait()).toMatchObject({ code: 5, signal: null })
})

test('a session whose worker has died is not usable, and says so before a call [MP-14]', async () => {
  const { session, process } = await connect(abuse('none'))
  expect(session.usable).toBe(true)
  process.kill()
  await until('the session to know', () => !session.usable)
  await session[Symbol.asyncDispose]()
})

test('a member that goes on in place of its leader is asked nothing more [MP-14, M-88]', async () => {
  const connected = await connect(abuse('member-serves', 'prepare'))
  await begin(connected.session, 'prepare')
  await until('the exit', () => connected.process.tryWait())
  const details = { phase: 'execute', by: 'worker' }
  await expectEnd(connected, begin(connected.session, 'execute'), { code: 'ERR_PROTOCOL_CLOSED', details })
})

test('a program that speaks no protocol is refused by its end [MP-03, MP-09]', async () => {
  const closed = { code: 'ERR_PROTOCOL_CLOSED', details: { phase: 'hello', by: 'worker' } }
  await expectRefusal(record('/bin/sh', ['-c', 'read line <&3; exit 0']), closed)
})
