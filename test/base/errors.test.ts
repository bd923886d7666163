import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import {
  AbortError,
  CapabilityError,
  DirectoryError,
  ExactSpawnError,
  LifecycleError,
  PipeError,
  SpawnError,
  SpecError,
  SpecTypeError,
  suppress,
  toError,
  type ErrorCode,
  type ErrorOf,
} from '../../lib/base/errors.js'
import { MESSAGE_MAX_CHARS, MESSAGE_SUBJECT_MAX_CHARS } from '../../lib/base/limits.js'

const diskFull = { errno: -28, syscall: 'mkdirat' }
const exit = Object.freeze({ code: 7, signal: null })
const host = { platform: 'linux', arch: 'x64', libc: 'musl', napi: '9' }
const noReader = { errno: -32, syscall: 'write' }
const noRoom = { errno: -24, syscall: 'pipe2' }

/** One error of every code, with its class and its whole message. */
const table: { [C in ErrorCode]: [error: ErrorOf<C>, Class: { prototype: Error }, message: string] } = {
  ERR_ABORTED: [
    new AbortError('ERR_ABORTED', { bytesWritten: 3 }),
    AbortError,
    'run operation: aborted by its signal (bytes written: 3)',
  ],
  ERR_SPAWN_FAILED: [
    new SpawnError('ERR_SPAWN_FAILED', {
      stage: 'exec',
      errno: -2,
      syscall: 'execve',
      path: '/bin/no',
      field: 'program',
      index: 1,
      hint: 'no interpreter',
    }),
    SpawnError,
    "spawn failed at exec '/bin/no': ENOENT, no such file or directory, " +
      'asked for by program item 1 (no interpreter)',
  ],
  ERR_COMMAND_CONSUMED: [
    new SpawnError('ERR_COMMAND_CONSUMED', { field: 'fds[3]' }),
    SpawnError,
    "spawn with endpoint 'fds[3]': it belongs to an earlier start",
  ],
  ERR_PIPE_CREATE_FAILED: [
    new SpawnError('ERR_PIPE_CREATE_FAILED', noRoom),
    SpawnError,
    'create pipe: EMFILE, too many open files',
  ],
  ERR_LOG_DRAIN_START_FAILED: [
    new SpawnError('ERR_LOG_DRAIN_START_FAILED', { stream: 1, ...noRoom }),
    SpawnError,
    'start drain of fd 1: EMFILE, too many open files',
  ],
  ERR_INVALID_SPEC: [
    new SpecError('ERR_INVALID_SPEC', { field: 'args[3]', reason: 'too long', bytes: 9, limit: 8 }),
    SpecError,
    "check spec field 'args[3]': too long, 9 bytes, limit 8",
  ],
  ERR_INVALID_SIGNAL: [
    new SpecError('ERR_INVALID_SIGNAL', { signal: 'SIGNOPE' }),
    SpecError,
    "check signal 'SIGNOPE': no such signal here",
  ],
  ERR_INVALID_LOG_LIMITS: [
    new SpecTypeError('ERR_INVALID_LOG_LIMITS', { field: 'stdoutBytes', reason: 'must be 0 or more' }),
    SpecTypeError,
    "check log limit 'stdoutBytes': must be 0 or more",
  ],
  ERR_PRIVATE_ROOT_UNAVAILABLE: [
    new DirectoryError('ERR_PRIVATE_ROOT_UNAVAILABLE', { path: '/srv', reason: 'open to other users' }),
    DirectoryError,
    "use private root '/srv': open to other users",
  ],
  ERR_PRIVATE_DIRECTORY_CREATE_FAILED: [
    new DirectoryError('ERR_PRIVATE_DIRECTORY_CREATE_FAILED', { path: '/srv/a', ...diskFull }),
    DirectoryError,
    "create private directory '/srv/a': ENOSPC, no space left on device",
  ],
  ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: [
    new DirectoryError('ERR_PRIVATE_DIRECTORY_REMOVE_FAILED', {
      path: '/srv/a',
      failures: [
        { path: 'b', errno: 'EBUSY' },
        { path: 'c', errno: 'EPERM' },
      ],
    }),
    DirectoryError,
    "remove private directory '/srv/a': 'b' stayed by EBUSY, and 1 more",
  ],
  ERR_WAIT_TIMEOUT: [
    new LifecycleError('ERR_WAIT_TIMEOUT', { timeoutMs: 5 }),
    LifecycleError,
    'wait for the child: still running after 5 ms',
  ],
  ERR_SIGNAL_FAILED: [
    new LifecycleError('ERR_SIGNAL_FAILED', { signal: 'SIGINT', errno: -1, syscall: 'pidfd_send_signal' }),
    LifecycleError,
    'send SIGINT: EPERM, operation not permitted',
  ],
  ERR_LOG_DRAIN_DEADLINE: [
    new LifecycleError('ERR_LOG_DRAIN_DEADLINE', { streams: [1, 2], deadlineMs: 1000, exit }),
    LifecycleError,
    "drain fd 1 and 2: still held open 1000 ms after the child's exit",
  ],
  ERR_TERMINATION_DEADLINE: [
    new LifecycleError('ERR_TERMINATION_DEADLINE', { killDeadlineMs: 1000, lastError: 'EPERM' }),
    LifecycleError,
    'terminate the child: no exit seen 1000 ms after SIGKILL, last error EPERM',
  ],
  ERR_PROCESS_GONE: [
    new LifecycleError('ERR_PROCESS_GONE', { pid: 77 }),
    LifecycleError,
    'reach process 77: it has been reaped',
  ],
  ERR_HANDLE_NOT_FOUND: [
    new LifecycleError('ERR_HANDLE_NOT_FOUND', { handle: 'h1' }),
    LifecycleError,
    "find handle 'h1': unknown here",
  ],
  ERR_UNSUPPORTED: [
    new CapabilityError('ERR_UNSUPPORTED', { capability: 'cgroup', reason: 'no cgroup v2 here' }),
    CapabilityError,
    "use 'cgroup': no cgroup v2 here",
  ],
  ERR_UNSUPPORTED_PLATFORM: [
    new CapabilityError('ERR_UNSUPPORTED_PLATFORM', host),
    CapabilityError,
    'load addon on linux-x64 (musl, Node-API 9): platform not supported',
  ],
  ERR_ADDON_LOAD_FAILED: [
    new CapabilityError('ERR_ADDON_LOAD_FAILED', {
      ...host,
      tried: [
        { file: '/a.node', message: 'cannot\n open' },
        { file: '/b.node', message: 'wrong machine' },
      ],
    }),
    CapabilityError,
    "load addon on linux-x64 (musl, Node-API 9): '/a.node' cannot open; '/b.node' wrong machine",
  ],
  ERR_PIPE_TIMEOUT: [
    new PipeError('ERR_PIPE_TIMEOUT', { fd: 9, direction: 'childReads', timeoutMs: 20, bytesWritten: 1 }),
    PipeError,
    'write to pipe at fd 9: not done after 20 ms (bytes written: 1)',
  ],
  ERR_PIPE_CLOSED: [
    new PipeError('ERR_PIPE_CLOSED', { direction: 'childWrites' }),
    PipeError,
    'read from pipe: closed by this host',
  ],
  ERR_PIPE_BUSY: [
    new PipeError('ERR_PIPE_BUSY', { fd: 9, direction: 'childWrites', operation: 'read' }),
    PipeError,
    'read from pipe at fd 9: another read is in flight',
  ],
  ERR_PIPE_WRITE_FAILED: [
    new PipeError('ERR_PIPE_WRITE_FAILED', { direction: 'childReads', ...noReader, bytesWritten: 0 }),
    PipeError,
    'write to pipe: EPIPE, broken pipe (bytes written: 0)',
  ],
  ERR_PIPE_READ_FAILED: [
    new PipeError('ERR_PIPE_READ_FAILED', { direction: 'childWrites', errno: -5, syscall: 'read' }),
    PipeError,
    'read from pipe: EIO, i/o error',
  ],
}

const rows = Object.entries(table).map(([code, [error, Class, message]]) => ({ code, error, Class, message }))

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
