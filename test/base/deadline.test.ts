import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { bounded, deadlineAfter, remainingMs, type OnStop, type StopError } from '../../lib/base/deadline.js'
import { AbortError, PipeError, type ExactSpawnError } from '../../lib/base/errors.js'

const timedOut: StopError = (facts) =>
  new PipeError('ERR_PIPE_TIMEOUT', { direction: 'childReads', timeoutMs: 20, ...facts })

const never = () => new Promise<never>(() => {})
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

/** Counts the timers that are set from now on and have neither fired nor been cleared; the runner has others. */
function timersFromNow(): () => number {
  const timers = new Set<unknown>()
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const setting = (run: () => void, ms?: number) => {
    const timer = set(() => (timers.delete(timer), run()), ms)
    timers.add(timer)
    return timer
  }
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(setting as typeof setTimeout)
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => (timers.delete(timer), clear(timer)))
  return () => timers.size
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('a timeout that is no number of milliseconds is refused before the operation starts [P-5]', async () => {
  for (const timeoutMs of ['5', null, 5n, {}, true]) {
    const call = bounded(() => expect.unreachable(), { timeoutMs: timeoutMs as number }, timedOut)
    await expect(call).rejects.toThrow(new TypeError('timeoutMs must be a number of milliseconds'))
  }
  for (const timeoutMs of [-1, -Infinity, NaN]) {
    const call = bounded(() => expect.unreachable(), { timeoutMs }, timedOut)
    const refusal = new RangeError(`timeoutMs must be 0 or more milliseconds, not ${timeoutMs}`)
    await expect(call).rejects.toThrow(refusal)
  }
  expect(() => deadlineAfter(-1, 'graceMs')).toThrow('graceMs must be')
})

test('a signal that is none is refused before the operation starts [P-5]', async () => {
  const [addEventListener, removeEventListener] = [() => {}, () => {}]
  const halves = [
    { aborted: false, addEventListener },
    { aborted: false, removeEventListener },
    { aborted: 0, addEventListener, removeEventListener },
    { aborted: false, addEventListener: true, removeEventListener: true },
  ]
  for (const signal of [null, 'SIGINT', {}, new EventTarget(), 1, ...halves]) {
    const call = bounded(() => expect.unreachable(), { signal: signal as AbortSignal }, timedOut)
    await expect(call).rejects.toThrow(new TypeError('signal must be an AbortSignal'))
  }
})

test('a signal that has aborted never starts the operation, whatever its timeout [B086]', async () => {
  const reason = new Error('not now')
  const signal = AbortSignal.abort(reason)
  for (const timeoutMs of [undefined, 0, 5]) {
    const call = bounded(() => expect.unreachable(), { signal, timeoutMs }, timedOut)
    await expect(call).rejects.toMatchObject({ name: 'AbortError', code: 'ERR_ABORTED', cause: reason })
  }
})

test('a deadline is absolute and its rest never negative [P-5]', () => {
  expect(deadlineAfter(undefined)).toBe(Infinity)
  expect(deadlineAfter(Infinity)).toBe(Infinity)
  const before = performance.now()
  const deadline = deadlineAfter(1000)
  expect(deadline - before).toBeGreaterThanOrEqual(1000)
  expect(remainingMs(deadline)).toBeLessThanOrEqual(1000)
  expect(remainingMs(before - 1)).toBe(0)
})

test('an operation starts at once and its end is the end of the call, bounded or not [P-5]', async () => {
  const { signal } = new AbortController()
  const timeoutMs = 60_000
  for (const bounds of [{}, { signal }, { timeoutMs }, { timeoutMs: Infinity }, { signal, timeoutMs }]) {
    let started = false
    const call = bounded(async () => ((started = true), 7), bounds, timedOut)
    expect(started).toBe(true)
    await expect(call).resolves.toBe(7)
    await expect(bounded(() => Promise.reject(new Error('own')), bounds, timedOut)).rejects.toThrow('own')
    const throwing = (): Promise<never> => {
      throw new Error('at once')
    }
    await expect(bounded(throwing, bounds, timedOut)).rejects.toThrow('at once')
  }
})

test('no timer or listener outlives a call, however it ends [B091]', async () => {
  const timers = timersFromNow()
  const quiet = new AbortController()
  const ends = [() => Promise.resolve(1), () => Promise.reject(new Error('own')), never]
  for (const start of ends) {
    await bounded(start, { signal: quiet.signal, timeoutMs: 5 }, timedOut).catch(() => {})
    expect(listeners(quiet.signal)).toBe(0)
    expect(timers()).toBe(0)
  }
  const aborting = new AbortController()
  const call = bounded(never, { signal: aborting.signal, timeoutMs: 60_000 }, timedOut)
  expect([listeners(aborting.signal), timers()]).toEqual([1, 1])
  aborting.abort()
  await expect(call).rejects.toBeInstanceOf(AbortError)
  expect([listeners(aborting.signal), timers()]).toEqual([0, 0])
})

test('an abort rejects at once with its very reason [B088]', async () => {
  for (const reason of [new Error('mine'), 'a word', { why: 'because' }]) {
    const controller = new AbortController()
    const call = bounded(never, { signal: controller.signal }, timedOut)
    controller.abort(reason)
    const error = await call.catch((thrown: unknown) => thrown)
    expect((error as ExactSpawnError).cause).toBe(reason)
  }
})

test('a timeout rejects with the given error and never before its time [P-5]', async () => {
  for (const timeoutMs of [0, 1, 3, 10.5]) {
    const begun = performance.now()
    await expect(bounded(never, { timeoutMs }, timedOut)).rejects.toMatchObject({ code: 'ERR_PIPE_TIMEOUT' })
    expect(performance.now() - begun).toBeGreaterThanOrEqual(timeoutMs)
  }
})

test('an operation that says how it is stopped decides its own end [P-5]', async () => {
  const controller = new AbortController()
  const write = bounded<never>(
    (onStop) => new Promise((_, reject) => onStop((stopError) => reject(stopError({ bytesWritten: 9 })))),
    { signal: controller.signal },
    timedOut,
  )
  controller.abort('enough')
  await expect(write).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: 'enough', bytesWritten: 9 })

  const start = (onStop: OnStop) => new Promise<string>((resolve) => onStop(() => resolve('bytes')))
  await expect(bounded(start, { timeoutMs: 1 }, timedOut)).resolves.toBe('bytes')
})

test('an operation whose stop fails rejects with that failure [P-5]', async () => {
  const start = (onStop: OnStop) => {
    onStop(() => {
      throw new Error('cannot stop')
    })
    return never()
  }
  await expect(bounded(start, { timeoutMs: 1 }, timedOut)).rejects.toThrow('cannot stop')
})

test('an operation that is stopped while it starts is told when it says how [B086]', async () => {
  const controller = new AbortController()
  let told = 0
  const start = (onStop: OnStop) => {
    controller.abort()
    onStop(() => told++)
    return never()
  }
  await expect(bounded(start, { signal: controller.signal }, timedOut)).rejects.toBeInstanceOf(AbortError)
  expect(told).toBe(1)
})

test('a result that came before the abort of the same tick is not lost [B087]', async () => {
  const controller = new AbortController()
  let finish = (_: string) => {}
  const start = () => new Promise<string>((resolve) => (finish = resolve))
  const call = bounded(start, { signal: controller.signal }, timedOut)
  finish('bytes')
  controller.abort()
  await expect(call).resolves.toBe('bytes')
})

test('an operation that fails after it was given up is no unhandled rejection [P-5]', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  let fail = (_: Error) => {}
  const start = () => new Promise<never>((_, reject) => (fail = reject))
  await expect(bounded(start, { timeoutMs: 0 }, timedOut)).rejects.toBeInstanceOf(PipeError)
  fail(new Error('too late'))
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

test('a timeout beyond what a timer can hold is kept and not cut to a millisecond [I-7]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  for (const timeoutMs of [2 ** 31 - 1, 2 ** 31, 2 ** 32]) {
    const ended = vi.fn()
    const call = bounded(never, { timeoutMs }, timedOut).catch(ended)
    await vi.advanceTimersByTimeAsync(timeoutMs - 1)
    expect(ended).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await call
    expect(ended).toHaveBeenCalledOnce()
  }
})
