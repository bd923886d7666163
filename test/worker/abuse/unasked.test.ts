/** Responses that come before their requests, as from a worker that would forge a measurement. */
import { expect, test } from 'vitest'
import { abuse, anyExecute, anyPrepare, begin, connect, expectEnd, record } from '../../support/worker.js'

const WORKER = `
import json, os
requests = os.fdopen(int(os.environ['METEWAND_PROTOCOL_READ_FD']), 'rb', 0)
responses = int(os.environ['METEWAND_PROTOCOL_WRITE_FD'])
def say(*values): os.write(responses, b''.join(json.dumps(value).encode() + b'\\n' for value in values))
hello = json.loads(requests.readline())
say({'id': '0', 'ok': True, 'protocol': 1, 'worker_id': hello['worker_id'], 'sdk': None, 'capabilities': ['one_shot']})
requests.readline()
forged = {'result': {'manifest': 'forged'}, 'statistics': {}, 'implementation_time_ns': 1}
say({'id': '1', 'ok': True}, {'id': '2', 'ok': True, **forged})
requests.readline()
`

test('a response that is there before its request is none to it, and ends the session [MP-06, MP-14]', async () => {
  const connected = await connect(record('/usr/bin/python3', ['-I', '-c', WORKER]))
  expect(await connected.session.prepare(anyPrepare)).toEqual({})
  const details = { id: '2' }
  await expectEnd(connected, connected.session.execute(anyExecute), { code: 'ERR_RESPONSE_EXTRA', details })
})

test('a line that nobody asked for and that has only begun ends the session [MP-06, MP-14]', async () => {
  const connected = await connect(abuse('and-a-half', 'prepare'))
  expect(await connected.session.prepare(anyPrepare)).toEqual({})
  const call = begin(connected.session, 'execute')
  await expectEnd(connected, call, { code: 'ERR_RESPONSE_EXTRA', details: { id: 'none' } })
})

test('what a worker says after it was told goodbye is seen, and refuses its run [MP-06, M-37]', async () => {
  const connected = await connect(abuse('speaks-after-end', 'shutdown'))
  const call = connected.session.shutdown()
  await expectEnd(connected, call, { code: 'ERR_RESPONSE_EXTRA', details: { id: '1' } })
  expect(connected.process.tryWait()).toMatchObject({ code: 0, endedBy: 'self' })
})
