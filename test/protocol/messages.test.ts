import { expect, test } from 'vitest'
import { asRequest, asResponse, WIRE_PROTOCOL_VERSION } from '../../lib/protocol/messages.js'
import { requests, successes } from './message-samples.js'

type Path = readonly (string | number)[]

const methods = Object.keys(requests) as (keyof typeof requests)[]

/** Every field of a message, as a path. What is in an object of parameters is the caller's. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const free = /parameters|statistics|details/.test(String(path.at(-1)))
  if (typeof value !== 'object' || value === null || Array.isArray(value) || free) return [path]
  const inner = Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))
  return path.length === 0 ? inner : [path, ...inner]
}

/** A copy with the field at the path as `change` leaves it in its object. */
function changed<T>(message: T, path: Path, change: (holder: Record<string, unknown>, key: string) => void): T {
  const copy = structuredClone(message)
  const holder = path.slice(0, -1).reduce((at: unknown, key) => (at as Record<string, unknown>)[key]!, copy)
  change(holder as Record<string, unknown>, String(path.at(-1)))
  return copy
}

const refused = (field: string, reason?: string) => {
  const reasons = reason === undefined ? {} : { reason }
  return expect.objectContaining({ name: 'ProtocolError', code: 'ERR_MESSAGE_INVALID', field, ...reasons })
}

const everyMessage = methods.flatMap((method) => [
  { name: `${method} request`, message: requests[method] as object, read: asRequest as (value: unknown) => unknown },
  { name: `${method} response`, message: successes[method], read: (value: unknown) => asResponse(method, value) },
])

test.each(everyMessage)('a $name without one of its fields is refused, for each of them [MP-10]', (sample) => {
  const { message, read } = sample
  for (const path of pathsOf(message)) {
    const less = changed(message, path, (holder, key) => delete holder[key])
    // Without its method or its outcome nothing says which fields there are.
    const reason = /^(method|ok)$/.test(path.join()) ? undefined : 'missing'
    expect(() => read(less), path.join('.')).toThrow(refused(path.join('.'), reason))
  }
})

test.each(everyMessage)('a $name with a field too many is refused, in each of its objects [MP-10]', (sample) => {
  const { message, read } = sample
  for (const path of pathsOf(message)) {
    const outer = path.slice(0, -1)
    for (const extra of ['extra', '__proto__', 'toString']) {
      const more = changed(message, [...outer, extra], (holder, key) => {
        Object.defineProperty(holder, key, { value: 1, enumerable: true })
      })
      expect(() => read(more)).toThrow(refused([...outer, extra].join('.'), 'no such field'))
    }
  }
})

test.each(everyMessage)('a $name with a field of a wrong kind is refused, for each of them [MP-10]', (sample) => {
  const { message, read } = sample
  for (const path of pathsOf(message)) {
    for (const wrong of [undefined, '', -1, 0.5, 2 ** 53, NaN, [[]], true]) {
      const bad = changed(message, path, (holder, key) => (holder[key] = wrong))
      if (wrong === true && path.join() === 'ok') continue
      expect(() => read(bad), `${path.join('.')} ${String(wrong)}`).toThrow(
        expect.objectContaining({ code: 'ERR_MESSAGE_INVALID' }),
      )
    }
  }
})

test.each(everyMessage)('a $name is given back as it is [MP-10]', ({ message, read }) => {
  expect(read(message)).toBe(message)
})

test.each([null, undefined, 1, 'x', [], true])('%j is no message [MP-10]', (value) => {
  expect(() => asRequest(value)).toThrow(refused('', 'must be an object'))
  expect(() => asResponse('reset', value)).toThrow(refused('', 'must be an object'))
})

test('protocols are a set that is not empty, of whole numbers [MP-09]', () => {
  const offer = (protocols: unknown) => () => asRequest({ ...requests.hello, protocols })
  expect(offer([])).toThrow(refused('protocols', 'must not be empty'))
  expect(offer([1, 2, 1])).toThrow(refused('protocols', 'must not repeat a value'))
  expect(offer([1, '2'])).toThrow(refused('protocols[1]'))
  expect(offer([1, 2])()).toMatchObject({ protocols: [1, 2] })
})

test('capabilities are a set of known names, and may be empty [MP-09]', () => {
  const answer = (capabilities: unknown) => () => asResponse('hello', { ...successes.hello, capabilities })
  expect(answer(['one_shot', 'one_shot'])).toThrow(refused('capabilities', 'must not repeat a value'))
  expect(answer(['one_shot', 'telepathy'])).toThrow(refused('capabilities[1]'))
  expect(answer([])()).toMatchObject({ capabilities: [] })
})

test('sdk must be there, as an object or as null [MP-10]', () => {
  const { sdk: _, ...without } = successes.hello
  expect(() => asResponse('hello', without)).toThrow(refused('sdk', 'missing'))
  expect(asResponse('hello', { ...without, sdk: null })).toMatchObject({ sdk: null })
  expect(() => asResponse('hello', { ...without, sdk: { name: 'x' } })).toThrow(refused('sdk.version', 'missing'))
})

test('an identity is its prefix and 64 digits of lower hex, no more and no less [MP-09]', () => {
  const id = requests.hello.worker_id
  for (const bad of [id.slice(1), id.slice(0, -1), `${id}0`, id.toUpperCase(), `${id}\n`, ` ${id}`]) {
    expect(() => asRequest({ ...requests.hello, worker_id: bad })).toThrow(refused('worker_id'))
  }
})

test('a seed and a time are whole numbers up to 2^53 - 1 [MP-10]', () => {
  const seed = (implementation_seed: number) => () => asRequest({ ...requests.prepare, implementation_seed })
  expect(seed(0)()).toBeDefined()
  expect(seed(2 ** 53 - 1)()).toBeDefined()
  expect(seed(2 ** 53)).toThrow(refused('implementation_seed'))
  const time = (ns: unknown) => () => asResponse('execute', { ...successes.execute, implementation_time_ns: ns })
  expect(time(null)()).toBeDefined()
  expect(time(-1)).toThrow(refused('implementation_time_ns'))
})

test('a failure answers any method, with one of four codes, a message and maybe details [MP-12]', () => {
  const fail = (error: object) => ({ id: '0', ok: false, error: { code: 'operation_failed', message: 'm', ...error } })
  for (const method of methods) {
    expect(asResponse(method, fail({ details: { a: [1] } }))).toMatchObject({ ok: false })
    for (const code of ['invalid_request', 'unsupported_operation', 'internal_error']) {
      expect(asResponse(method, fail({ code }))).toMatchObject({ error: { code } })
    }
    expect(() => asResponse(method, fail({ code: 'bored' }))).toThrow(refused('error.code'))
    expect(() => asResponse(method, fail({ message: '' }))).toThrow(refused('error.message'))
    expect(() => asResponse(method, fail({ details: [] }))).toThrow(refused('error.details', 'must be an object'))
    expect(() => asResponse(method, fail({ stack: 's' }))).toThrow(refused('error.stack', 'no such field'))
    const bare = { ...successes[method], ok: false }
    expect(() => asResponse(method, bare)).toThrow(refused('error', 'missing'))
  }
})

test('the response of one method is none of another [MP-10]', () => {
  expect(() => asResponse('execute', successes.reset)).toThrow(refused('result', 'missing'))
  expect(() => asResponse('reset', successes.execute)).toThrow(refused('result', 'no such field'))
})

test('the version on the wire is 1 [M-68]', () => {
  expect(WIRE_PROTOCOL_VERSION).toBe(1)
})
