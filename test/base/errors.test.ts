import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import {
  AbortError,
  CapabilityError,
  DirectoryError,
  errorJson,
  ExactSpawnError,
  LifecycleError,
  PipeError,
  SpawnError,
  SpecError,
  SpecTypeError,
  suppress,
  toError,
} from '../../lib/base/errors.js'
import { ERROR_MAX_LEVELS, ERRORS_MAX, MESSAGE_MAX_CHARS, MESSAGE_SUBJECT_MAX_CHARS } from '../../lib/base/limits.js'
import { errorSamples, exit } from './error-samples.js'

const rows = Object.entries(errorSamples).map(([code, [error, Class, message]]) => ({ code, error, Class, message }))

function spawnFailed(path: string, options?: ErrorOptions) {
  return new SpawnError('ERR_SPAWN_FAILED', { stage: 'exec', errno: -2, syscall: 'execve', path }, options)
}

test.each(rows)('$code has its class, its words and its details [I-9]', ({ code, error, Class, message }) => {
  expect(error).toBeInstanceOf(Class)
  expect(error).toBeInstanceOf(code === 'ERR_INVALID_LOG_LIMITS' ? TypeError : ExactSpawnError)
  expect(error).toMatchObject({ code, message, suppressed: [], ...error.details })
  expect(error.stack).toMatch(new RegExp(`^${Class.prototype.name}: `))
  expect([error.name, error.constructor.name]).toEqual([Class.prototype.name, Class.prototype.name])
})

test.each(rows)('$code comes back from JSON with its details [I-9]', ({ code, error, message }) => {
  const revived: unknown = JSON.parse(JSON.stringify(error))
  expect(revived).toMatchObject({ name: error.name, code, message, details: error.details })
  expect(ExactSpawnError.is(revived, error.code)).toBe(true)
})

test.each(rows)('$code can be cloned and keeps nothing that runs [I-9]', ({ error, message }) => {
  expect(structuredClone(error)).toMatchObject({ message })
  expect(Object.keys(error)).toEqual(['code', 'details'])
  const own = Object.getOwnPropertyDescriptors(error)
  expect(own).not.toHaveProperty('name')
  expect(Object.values(own).map(({ value }) => typeof value)).not.toContain('function')
})

test('a value that is no error of ours is not taken for one [I-9]', () => {
  const foreign = Object.assign(new Error('x'), { code: 'ERR_ABORTED', details: {} })
  const unknownCode = { name: 'x', code: 'ERR_NOPE', message: 'x', details: {} }
  const inherited = { ...unknownCode, code: 'toString' }
  const values = [null, undefined, 'ERR_ABORTED', 1, {}, [], new Error('x'), foreign, unknownCode, inherited]
  for (const value of values) expect(ExactSpawnError.is(value)).toBe(false)
  expect(ExactSpawnError.is({ ...unknownCode, code: 'ERR_ABORTED', details: null })).toBe(false)
})

test('a code is told from the other codes of its family [I-9]', () => {
  const error: unknown = new PipeError('ERR_PIPE_CLOSED', { direction: 'childReads' })
  expect(ExactSpawnError.is(error)).toBe(true)
  expect(ExactSpawnError.is(error, 'ERR_PIPE_CLOSED')).toBe(true)
  expect(ExactSpawnError.is(error, 'ERR_PIPE_BUSY')).toBe(false)
  expect(error).not.toBeInstanceOf(SpawnError)
})

test('an error of another copy of the package is known by its code [P-10]', async () => {
  vi.resetModules()
  const copy = await import('../../lib/base/errors.js')
  const error: unknown = new copy.LifecycleError('ERR_WAIT_TIMEOUT', { timeoutMs: 1 })
  expect(error).not.toBeInstanceOf(LifecycleError)
  expect(ExactSpawnError.is(error, 'ERR_WAIT_TIMEOUT')).toBe(true)
  const typed: unknown = new copy.SpecTypeError('ERR_INVALID_LOG_LIMITS', { field: 'f', reason: 'r' })
  expect(ExactSpawnError.is(typed, 'ERR_INVALID_LOG_LIMITS')).toBe(true)
})

test('a failed system call is read off the error and off its cause, as in Node [P-2]', () => {
  const error = spawnFailed('/bin/no')
  expect(error).toMatchObject({ stage: 'exec', errno: -2, syscall: 'execve', path: '/bin/no' })
  expect(error.cause).toMatchObject({ code: 'ENOENT', errno: -2, syscall: 'execve', path: '/bin/no' })
})

test('a start killed before exec names the signal and has no system call as cause [P-2]', () => {
  const error = new SpawnError('ERR_SPAWN_FAILED', { stage: 'killed-before-exec', signal: 'SIGKILL' })
  expect(error.message).toBe('spawn failed at killed-before-exec: by SIGKILL')
  expect('cause' in error).toBe(false)
})

test('a cause that is given stays the very object, whatever it is [B088]', () => {
  for (const cause of [new RangeError('first'), 'a word', undefined, { why: 'because' }]) {
    expect(spawnFailed('/bin/no', { cause })).toHaveProperty('cause', cause)
    const error = new AbortError('ERR_ABORTED', {}, { cause })
    expect(error.cause).toBe(cause)
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name: 'AbortError', code: 'ERR_ABORTED' })
  }
})

test('details are frozen to their depth, and an exit record in them stays the same object [P-8]', () => {
  const streams = [1]
  const error = new LifecycleError('ERR_LOG_DRAIN_DEADLINE', { streams, deadlineMs: 1, exit })
  streams.push(2)
  expect(error.details.streams).toEqual([1])
  expect(Object.isFrozen(error.details)).toBe(true)
  expect(Object.isFrozen(error.details.streams)).toBe(true)
  expect(error.details.exit).toBe(exit)
  expect(error.exit).toBe(exit)
})

test('a control of a path cannot forge a second line of a message [I-9]', () => {
  expect(spawnFailed('/bin/a\nroot: all fine\u001b[2K').message).not.toMatch(/[\u0000-\u001f]/)
})

test('a message keeps its reason after a subject of any length, and cuts no character [I-7]', () => {
  const fits = 'p'.repeat(MESSAGE_SUBJECT_MAX_CHARS)
  expect(spawnFailed(fits).message).toContain(`'${fits}': ENOENT`)
  expect(spawnFailed(`${fits}p`).message).toContain(`${fits.slice(1)}…': ENOENT`)
  const wide = spawnFailed('😀'.repeat(MESSAGE_SUBJECT_MAX_CHARS)).message
  expect(wide).toContain("😀…': ENOENT")
  expect(wide.isWellFormed()).toBe(true)
})

test('a message ends at its limit and not one character later [I-7]', () => {
  const unsupported = (reason: string) => {
    return new CapabilityError('ERR_UNSUPPORTED', { capability: 'c', reason }).message
  }
  const room = MESSAGE_MAX_CHARS - unsupported('').length
  expect(unsupported('r'.repeat(room))).toMatch(/r$/)
  const cut = unsupported('r'.repeat(room + 1))
  expect(cut).toMatch(/r…$/)
  expect(cut).toHaveLength(MESSAGE_MAX_CHARS)
})

test('later failures are attached to the first, and never the first to itself [P-2]', () => {
  const first = spawnFailed('/bin/no')
  const [second, third] = [new Error('second'), new Error('third')]
  suppress(first, [first])
  expect(Object.hasOwn(first, 'suppressed')).toBe(false)
  suppress(first, [second])
  suppress(first, [first, third])
  expect(first.suppressed).toEqual([second, third])
  expect(spawnFailed('/bin/no').suppressed).toEqual([])
})

test('any error can carry later ones, and a frozen one stays as it is [P-2]', () => {
  const plain = new Error('first')
  suppress(plain, [new Error('second')])
  expect(plain).toHaveProperty('suppressed', [new Error('second')])
  const single = Object.assign(new Error('first'), { suppressed: new Error('inner') })
  suppress(single, [new Error('second')])
  expect(single.suppressed).toEqual([new Error('inner'), new Error('second')])
  expect(() => suppress(Object.freeze(new Error('first')), [new Error('second')])).not.toThrow()
})

test('JSON has the chain of causes, what was suppressed, and no end of a circle [I-9]', () => {
  const inner = Object.assign(new Error('inner'), { code: 'EIO', errno: -5, env: { KEY: 'value' } })
  const error = spawnFailed('/bin/no', { cause: inner })
  suppress(error, [new TypeError('later')])
  inner.cause = error
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'SpawnError',
    code: 'ERR_SPAWN_FAILED',
    message: error.message,
    details: error.details,
    cause: { name: 'Error', code: 'EIO', errno: -5, message: 'inner', cause: '[Circular]' },
    suppressed: [{ name: 'TypeError', message: 'later' }],
  })
})

test('JSON of a reason that JSON cannot say is one word, and runs none of its code [I-9]', () => {
  const loud = { toJSON: () => expect.unreachable(), [inspect.custom]: () => expect.unreachable() }
  const causeInJson = (cause: unknown) => {
    return JSON.parse(JSON.stringify(new AbortError('ERR_ABORTED', {}, { cause }))).cause
  }
  expect([1n, loud, Symbol('s'), null].map(causeInJson)).toEqual(['1n', '[Object]', 'Symbol(s)', null])
  const { reason } = AbortSignal.abort()
  expect(causeInJson(reason)).toMatchObject({ name: 'AbortError', message: reason.message })
})

test('whatever was thrown becomes an error that has it as cause [I-9]', () => {
  const error = new Error('x')
  const { reason } = AbortSignal.abort()
  expect(toError(error)).toBe(error)
  expect(toError(reason)).toBe(reason)
  expect(toError('a password').message).not.toContain('password')
  expect(toError('a word').cause).toBe('a word')
})

test('JSON of a hostile error is JSON: what it says of itself is read without trust [I-9]', () => {
  const throwing = new (class extends Error {
    get code(): string {
      throw new Error('of the getter')
    }
  })('loud')
  const silent = new Proxy(new Error('silent'), {
    get: () => {
      throw new Error('of the trap')
    },
    getPrototypeOf: () => {
      throw new Error('of the trap')
    },
    has: () => {
      throw new Error('of the trap')
    },
  })
  const told = (fields: object) => JSON.parse(JSON.stringify(errorJson(Object.assign(new Error('x'), fields)))) as object
  expect(told({ code: 1n, errno: 1n, syscall: 7, path: {} })).toEqual({ name: 'Error', message: 'x' })
  for (const code of [null, 1.5, NaN, {}]) expect(told({ code })).toEqual({ name: 'Error', message: 'x' })
  expect(told({ code: 137, errno: -5 })).toMatchObject({ code: 137, errno: -5 })
  expect(told({ name: 5, message: { a: 1 } })).toEqual({ name: 'Error', message: '[Object]' })
  expect(told({ cause: silent, suppressed: [throwing, 1n] })).toMatchObject({ suppressed: [{ message: 'loud' }, '1n'] })
  expect(toError(silent)).toBeInstanceOf(Error)
  expect(ExactSpawnError.is(silent)).toBe(false)
  expect(ExactSpawnError.is(throwing, 'ERR_ABORTED')).toBe(false)
  expect(suppress(silent, [new Error('later')])).toBe(true)
  expect(suppress(Object.freeze(new Error('frozen')), [new Error('later')])).toBe(false)
})

test('JSON of a chain of causes ends at its depth, and of many errors at their number [I-9, P-5]', () => {
  let deep = new Error('0')
  for (let level = 1; level < 300; level++) deep = new Error(String(level), { cause: deep })
  const text = JSON.stringify(errorJson(deep))
  expect(text.match(/"cause":\{/g)).toHaveLength(ERROR_MAX_LEVELS - 1)
  expect(text).toContain('"cause":"[Cut]"')
  const many = Object.assign(new Error('many'), { suppressed: Array.from({ length: 10_000 }, () => new Error('one')) })
  expect(JSON.stringify(errorJson(many)).match(/"message":"one"/g)).toHaveLength(ERRORS_MAX - 1)
  expect(JSON.stringify(errorJson(many))).toContain('"[Cut]"')
})
