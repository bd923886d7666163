/** Responses that come before their requests, as from a worker that would forge a measurement. */
import { expect, test } from 'vitest'
import { anyExecute, anyPrepare, connect, expectEnd, record } from '../../support/worker.js'

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
