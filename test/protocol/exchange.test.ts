import { expect, test } from 'vitest'
import { FRAME_MAX_BYTES } from '../../lib/base/limits.js'
import { createRedactor } from '../../lib/io/redactor.js'
import { Exchange, type ExchangeTerms } from '../../lib/protocol/exchange.js'
import { ROLES, type Capability, type Method, type RequestFields } from '../../lib/protocol/messages.js'
import { parseStrictJson } from '../../lib/protocol/strict-json.js'
import { requests, successes, workerId } from './message-samples.js'

const plan: ExchangeTerms = { role: 'implementation', workerId, capabilities: ['one_shot'] }
const ok = (id: string) => ({ id, ok: true })
const sent = ({ frame }: { frame: Buffer }) => parseStrictJson(frame)
const code = (expected: string, details: object = {}) => expect.objectContaining({ code: expected, ...details })

function greeted(terms: Partial<ExchangeTerms> = {}) {
  const exchange = new Exchange({ ...plan, capabilities: [], ...terms })
  exchange.hello().accept(successes.hello)
  return exchange
}

function fieldsOf<M extends Method>(method: M) {
  const { id: _, method: __, ...fields } = requests[method] as { id: string; method: M } & Record<string, unknown>
  return fields as unknown as RequestFields[M]
}

test('a method of another role is refused here and takes no id, for every role [MP-11, MP-07]', () => {
  const all = ['materialize', 'prepare', 'execute', 'reset', 'evaluate', 'shutdown'] as const
  const served: Record<string, string[]> = {
    dataset_materializer: ['materialize'],
    implementation: ['prepare', 'execute', 'reset'],
    problem_evaluator: ['evaluate'],
  }
  for (const role of ROLES) {
    for (const method of all) {
      const exchange = greeted({ role })
      const call = () => exchange.request(method, fieldsOf(method))
      if (method === 'shutdown' || served[role]!.includes(method)) {
        expect(sent(call())).toMatchObject({ id: '1', method })
      } else {
        const details = { name: 'SessionError', phase: method, role }
        expect(call).toThrow(code('ERR_INVALID_ROLE', details))
        expect(sent(exchange.request('shutdown', {}))).toMatchObject({ id: '1' })
      }
    }
  }
})

test('a request that cannot be said takes no id [MP-07, MP-08]', () => {
  const exchange = greeted()
  const prepare = fieldsOf('prepare')
  const bad = [
    { ...prepare, implementation_parameters: { a: NaN } },
    { ...prepare, implementation_parameters: { a: 'x'.repeat(FRAME_MAX_BYTES) } },
    { ...prepare, extra: 1 },
    { ...prepare, implementation_seed: -1 },
  ]
  const codes = bad.map((fields) => {
    try {
      return exchange.request('prepare', fields)
    } catch (error) {
      return (error as { code: string }).code
    }
  })
  expect(codes).toEqual([
    'ERR_MESSAGE_INVALID',
    'ERR_MESSAGE_TOO_LONG',
    'ERR_MESSAGE_INVALID',
    'ERR_MESSAGE_INVALID',
  ])
  expect(sent(exchange.request('prepare', prepare))).toEqual(requests.prepare)
})

test('a request before the response of the last is refused [MP-07]', () => {
  const exchange = greeted()
  const pending = exchange.request('reset', {})
  expect(() => exchange.request('reset', {})).toThrow(code('ERR_REQUEST_PENDING', { id: '1' }))
  expect(pending.accept(ok('1'))).toEqual(ok('1'))
  expect(sent(exchange.request('reset', {}))).toMatchObject({ id: '2' })
})

test('a wrong id settles nothing, and a response after the one that settled is extra [MP-06]', () => {
  const exchange = greeted()
  const pending = exchange.request('reset', {})
  expect(() => pending.accept(ok('2'))).toThrow(code('ERR_REQUEST_ID_MISMATCH', { expected: '1', actual: '2' }))
  expect(() => pending.accept({ ok: true })).toThrow(code('ERR_REQUEST_ID_INVALID'))
  expect(pending.accept(ok('1'))).toEqual(ok('1'))
  expect(() => pending.accept(ok('1'))).toThrow(code('ERR_RESPONSE_EXTRA', { id: '1' }))
})

test('a whole session is these requests, with ids in order [MP-07, MP-09]', () => {
  const exchange = new Exchange(plan)
  const hello = exchange.hello()
  expect(sent(hello)).toEqual(requests.hello)
  expect(hello.accept(successes.hello)).toEqual(successes.hello)
  for (const method of ['prepare', 'execute', 'reset', 'shutdown'] as const) {
    const pending = exchange.request(method, fieldsOf(method))
    expect(sent(pending)).toEqual(requests[method])
    expect(pending.accept(successes[method])).toBe(successes[method])
  }
})

const reported: Capability[] = ['one_shot', 'fresh_sequence']
const good = { ...successes.hello, capabilities: reported }
const materializer = { role: 'dataset_materializer' } as const
const otherId = workerId.replaceAll('0', '1')

test.each<[check: string, terms: Partial<ExchangeTerms>, answer: object, expected: string, actual: string]>([
  ['id', {}, { ...good, id: '1' }, '0', '1'],
  ['id', {}, { ...good, id: 0 }, '0', 'none'],
  ['version', {}, { ...good, protocol: 2 }, '1', '2'],
  ['identity', {}, { ...good, worker_id: otherId }, workerId, otherId],
  ['capability', {}, { ...good, capabilities: ['applicability'] }, 'one_shot', 'applicability'],
  ['role', materializer, good, 'implementation', 'dataset_materializer'],
  ['reserved', { capabilities: reported }, good, 'one_shot', 'fresh_sequence'],
])('a handshake fails on its %s alone [MP-09]', (check, terms, answer, expected, actual) => {
  const failed = code('ERR_HANDSHAKE_FAILED', { name: 'ProtocolError', check, expected, actual })
  expect(() => new Exchange({ ...plan, ...terms }).hello().accept(answer)).toThrow(failed)
})

test('of several checks that fail the first in order is told [MP-09]', () => {
  const terms = { ...plan, ...materializer, capabilities: ['fresh_sequence', 'one_shot'] as const }
  let answer: object = { ...good, id: '7', protocol: 2, worker_id: otherId, capabilities: [] }
  const mended = [{ id: '0' }, { protocol: 1 }, { worker_id: workerId }, { capabilities: reported }]
  for (const [index, check] of ['id', 'version', 'identity', 'capability', 'role'].entries()) {
    expect(() => new Exchange(terms).hello().accept(answer)).toThrow(code('ERR_HANDSHAKE_FAILED', { check }))
    answer = { ...answer, ...mended[index] }
  }
  const implementation = { ...terms, role: 'implementation' } as const
  const reserved = code('ERR_HANDSHAKE_FAILED', { check: 'reserved' })
  expect(() => new Exchange(implementation).hello().accept(answer)).toThrow(reserved)
})

test('a reserved capability that nobody selected is only a report [MP-09]', () => {
  expect(new Exchange(plan).hello().accept(good)).toMatchObject({ capabilities: reported })
  expect(new Exchange({ ...plan, ...materializer, capabilities: [] }).hello().accept(good)).toMatchObject({ ok: true })
})

test('an identity that is none is refused before anything is sent [MP-09]', () => {
  const exchange = new Exchange({ ...plan, workerId: 'worker-1' })
  expect(() => exchange.hello()).toThrow(code('ERR_MESSAGE_INVALID', { field: 'worker_id' }))
})

test('a failure of hello is a failure, not a handshake that failed [MP-12]', () => {
  const failure = { id: '0', ok: false, error: { code: 'internal_error', message: 'no license' } }
  expect(new Exchange(plan).hello().accept(failure)).toEqual(failure)
})

test('a failure arrives without a secret, in its message, its details and their keys [M-65]', () => {
  const exchange = greeted({ redact: createRedactor([Buffer.from('hunter2')]) })
  const details = { 'hunter2!': ['x hunter2', 1, null], nested: { deep: 'hunter2' } }
  const error = { code: 'operation_failed', message: 'key hunter2 refused', details }
  expect(exchange.request('reset', {}).accept({ id: '1', ok: false, error })).toEqual({
    id: '1',
    ok: false,
    error: {
      code: 'operation_failed',
      message: 'key [redacted] refused',
      details: { '[redacted]!': ['x [redacted]', 1, null], nested: { deep: '[redacted]' } },
    },
  })
})

test('an error that quotes a worker quotes no secret, and its cause does not either [M-65]', () => {
  const redact = createRedactor([Buffer.from('hunter2')])
  const errorOf = (step: () => unknown) => {
    try {
      return step()
    } catch (error) {
      return error
    }
  }
  const exchange = greeted({ redact })
  const pending = exchange.request('reset', {})
  const errors = [
    errorOf(() => pending.accept(ok('hunter2'))),
    errorOf(() => pending.accept({ ...ok('1'), 'a hunter2': 1 })),
    errorOf(() => pending.accept(ok('hunter2'))),
    errorOf(() => new Exchange({ ...plan, redact }).hello().accept(ok('hunter2'))),
  ]
  expect(errors).toMatchObject([
    { code: 'ERR_REQUEST_ID_MISMATCH', actual: '[redacted]' },
    { code: 'ERR_MESSAGE_INVALID', field: 'a [redacted]' },
    { code: 'ERR_RESPONSE_EXTRA', id: '[redacted]' },
    { code: 'ERR_HANDSHAKE_FAILED', actual: '[redacted]', cause: { code: 'ERR_REQUEST_ID_MISMATCH' } },
  ])
  expect(JSON.stringify(errors)).not.toContain('hunter2')
})

test('a request that version 1 cannot say is refused without the secret in it [M-65, MP-10]', () => {
  const secret = 'hunter2-secret'
  const exchange = new Exchange({ ...plan, redact: createRedactor([Buffer.from(secret)]) })
  const refused = () => exchange.request('reset', { [secret]: 1 } as never)
  expect(refused).toThrow(code('ERR_MESSAGE_INVALID'))
  try {
    refused()
  } catch (error) {
    expect(`${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain(secret)
  }
})
