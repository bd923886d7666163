/** What a worker says of a secret that it was given: nowhere in logs, failures or errors. */
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { LaunchRecord } from '../../../lib/worker.js'
import { PosixWorkerProcess, WorkerCommand } from '../../../lib/worker.js'
import { until } from '../../support/until.js'
import { launch as launchWorker } from '../../support/worker.js'
import { abuse, begin, connect, expectAbuse, expectRefusal, logText, record, rejection } from '../../support/worker.js'

const SECRET = 'hunter2-"correct"-horse'
const launch = { secrets: { token: SECRET } }
const NO_LOGS = { stdoutBytes: 0, stderrBytes: 0 }

function withToken(launched: LaunchRecord): LaunchRecord {
  return { ...launched, secretChannels: [{ name: 'token', by: 'variable', variable: 'TOKEN' }] }
}

/** Everything that a program prints, stores or sends of an error. */
function expectNoSecret(error: Error): void {
  const shown = [error.message, error.stack, String(error), inspect(error, { depth: 9, showHidden: true })]
  for (const text of [...shown, JSON.stringify(error), JSON.stringify(JSON.stringify(error))]) {
    expect(text).not.toContain('hunter2')
    expect(text).not.toContain('horse')
  }
}

test('a secret in two writes shows in no snapshot, and in no failure [B104, B106, M-23, M-64, M-65]', async () => {
  const { session, process } = await connect(withToken(abuse('split-secret', 'prepare,execute')), { launch })
  await begin(session, 'prepare')
  const half = Math.floor(SECRET.length / 2)
  for (const stream of ['stdout', 'stderr'] as const) {
    await until('the first half', () => session.logSnapshot()[stream].totalBytes === 'token '.length + half)
    expect(logText(process, stream)).toBe('token ')
    expect(session.logSnapshot()).toMatchObject({ complete: false, scope: 'worker_lifetime_to_snapshot' })
  }
  const error = await rejection(begin(session, 'execute'))
  expect(error).toMatchObject({ code: 'ERR_WORKER_FAILURE' })
  expect(error.details).toEqual({
    phase: 'execute',
    workerCode: 'internal_error',
    workerMessage: 'refused [redacted] at last',
    workerDetails: { token: '[redacted]', '[redacted]': ['in [redacted]'] },
  })
  expectNoSecret(error)
  const { stdout, stderr } = await session.shutdown()
  expect(Buffer.from(stdout.bytes).toString()).toBe('token [redacted] end\n')
  expect(Buffer.from(stderr.bytes).toString()).toBe('token [redacted] end\nrequests ended\n')
})

test('a worker that is killed within a secret has told none of its half [B104, M-64, M-65]', async () => {
  const { session, process } = await connect(withToken(abuse('split-secret', 'prepare')), { launch })
  await begin(session, 'prepare')
  // Before the ends are closed: the worker would see its requests end, and write on.
  process.kill()
  await process.wait()
  for (const stream of ['stdout', 'stderr'] as const) expect(logText(process, stream)).toBe('token [redacted]')
})

test('an error that quotes what came over the response pipe quotes no secret [B106, M-65, MP-04, MP-06]', async () => {
  const told = (line: string, phase: string) => withToken(abuse('tells-secret', phase, line))
  const id = { code: 'ERR_REQUEST_ID_MISMATCH', details: { expected: '1', actual: '[redacted]' } }
  const key = { code: 'ERR_FRAME_DUPLICATE_KEY', details: { key: '[redacted]' } }
  const field = { code: 'ERR_MESSAGE_INVALID', details: { field: '[redacted]', reason: 'no such field' } }
  expectNoSecret(await expectAbuse(told('{"id":"%s"}', 'execute'), id, { launch }))
  expectNoSecret(await expectAbuse(told('{"%s":1,"%s":2}', 'execute'), key, { launch }))
  expectNoSecret(await expectAbuse(told('{"id":"1","ok":true,"%s":0}', 'reset'), field, { launch, phase: 'reset' }))
})

test('a word of the protocol that is the secret leaves the failure whole [M-65, MP-12]', async () => {
  for (const token of ['message', 'details', 'operation_failed', 'code']) {
    const given = { ...launch, secrets: { token } }
    const { session } = await connect(withToken(abuse('fails', 'prepare')), { launch: given })
    const error = await rejection(begin(session, 'prepare'))
    expect(error.details).toMatchObject({ workerCode: 'operation_failed', workerMessage: 'no', workerDetails: { why: [1] } })
    await session.shutdown()
  }
})

test('a secret of several lines shows in no log, also where the worker quotes it [M-64]', async () => {
  const key = '-----BEGIN KEY-----\nMIIE"vQ\\IB\u00e4\n-----END KEY-----\n'
  const script = `
import json, os, sys
key = os.environ['TOKEN']
print(key); print(json.dumps({'key': key})); print(json.dumps([key], ensure_ascii=False))
`
  const given = { secrets: { token: key } }
  const process = await launchWorker(withToken(record('/usr/bin/python3', ['-X', 'utf8', '-c', script])), given)
  const { stdout } = await process.wait()
  expect(Buffer.from(stdout.bytes).toString()).toBe('[redacted]\n{"key": "[redacted]"}\n["[redacted]"]\n')
})

test('a key that its owner wipes after the call is still taken out of failures [M-65]', async () => {
  const key = Buffer.from(SECRET)
  const launched = launchWorker(withToken(abuse('split-secret', 'execute')), { secrets: { token: key } })
  const command = new WorkerCommand({ program: '/bin/cat', env: {}, logs: NO_LOGS, secrets: [key] })
  const spawned = PosixWorkerProcess.spawn(command)
  key.fill('A')
  for (const process of [await launched, await spawned]) {
    expect(process.redact(`x ${SECRET}`)).toBe('x [redacted]')
    await process[Symbol.asyncDispose]()
  }
})

test('a number or the name of a library that is the secret is not shown [B106, M-65]', async () => {
  const PIN = '86753099'
  const script = `
import json, os
requests = os.fdopen(int(os.environ['METEWAND_PROTOCOL_READ_FD']), 'rb', 0)
pin = os.environ['TOKEN']
def say(**fields): os.write(int(os.environ['METEWAND_PROTOCOL_WRITE_FD']), json.dumps(fields).encode() + b'\\n')
hello = json.loads(requests.readline())
sdk = {'name': 'sdk ' + pin, 'version': pin}
say(id='0', ok=True, protocol=1, worker_id=hello['worker_id'], sdk=sdk, capabilities=['one_shot'])
requests.readline()
details = {'pin': int(pin), 'pins': [int(pin), 7], 'half': int(pin) / 2}
say(id='1', ok=False, error={'code': 'operation_failed', 'message': pin, 'details': details})
requests.readline()
`
  const pinned = { ...launch, secrets: { token: PIN } }
  const { session } = await connect(withToken(record('/usr/bin/python3', ['-I', '-c', script])), { launch: pinned })
  expect(session.facts.sdk).toEqual({ name: 'sdk [redacted]', version: '[redacted]' })
  const error = await rejection(begin(session, 'prepare'))
  const workerDetails = { pin: '[redacted]', pins: ['[redacted]', 7], half: Number(PIN) / 2 }
  expect(error.details).toMatchObject({ workerMessage: '[redacted]', workerDetails })
  await session[Symbol.asyncDispose]()
})

test('a greeting that is refused is quoted without the secret in it [B106, M-65, MP-09]', async () => {
  const expected = { code: 'ERR_HANDSHAKE_FAILED', details: { check: 'id', expected: '0', actual: 'in [redacted]' } }
  const launched = withToken(abuse('tells-secret', 'hello', '{"id":"in %s"}'))
  expectNoSecret(await expectRefusal(launched, expected, { launch }))
})

test('a result is data and comes as it was, also where it tells the secret [M-65]', async () => {
  const line = '{"id":"1","ok":true,"result":{"manifest":"%s"},"statistics":{},"implementation_time_ns":null}'
  const { session } = await connect(withToken(abuse('tells-secret', 'execute', line)), { launch })
  expect(await begin(session, 'execute')).toMatchObject({ result: { manifest: SECRET } })
  await session.shutdown()
})
