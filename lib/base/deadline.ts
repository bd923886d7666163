/**
 * Bounds on one operation: a relative `timeoutMs` at the edge becomes an absolute instant here, and an
 * AbortSignal is joined to it. Instants are of `performance.now()`: no clock change moves them.
 */
import { onAbort } from './abort-listeners.js'
import { AbortError, type ExitFacts } from './errors.js'

/** What a caller may give to any call that waits. It bounds that call, never the child's life. */
export interface Bounds {
  signal?: AbortSignal | undefined
  /** Absent or Infinity: no limit. */
  timeoutMs?: number | undefined
}

/** What an operation knows when it is stopped, for the error. */
export interface StopFacts {
  bytesWritten?: number
  exit?: ExitFacts
}

/** Makes the error of what stopped an operation. */
export type StopError = (facts?: StopFacts) => Error

/** Takes the one function that ends the operation early. */
export type OnStop = (stop: (stopError: StopError) => void) => void

// A longer delay makes setTimeout fire after 1 ms instead, timers.setTimeout in Node's documentation.
const TIMER_MAX_MS = 2 ** 31 - 1

/**
 * Gives the instant `timeoutMs` from now; Infinity for no limit.
 *
 * @throws {TypeError} not a number
 * @throws {RangeError} negative or NaN
 */
export function deadlineAfter(timeoutMs: number | undefined, argument = 'timeoutMs'): number {
  checkTimeout(timeoutMs, argument)
  return timeoutMs === undefined ? Infinity : performance.now() + timeoutMs
}

function checkTimeout(timeoutMs: number | undefined, argument: string): void {
  if (timeoutMs === undefined) return
  if (typeof timeoutMs !== 'number') throw new TypeError(`${argument} must be a number of milliseconds`)
  if (!(timeoutMs >= 0)) throw new RangeError(`${argument} must be 0 or more milliseconds, not ${timeoutMs}`)
}

/** Gives the milliseconds left until a deadline, 0 when it has passed. */
export function remainingMs(deadline: number): number {
  return Math.max(0, deadline - performance.now())
}

/**
 * Runs one operation until it settles, its signal aborts or its time is up, whichever comes first.
 *
 * An operation that gives `onStop` a function still decides its own end when it is stopped: what had happened
 * by then (a read's bytes) is its result, or it rejects with what `stopError` makes of the facts it knows.
 * Without one the call rejects at once, and how the operation ends is ignored.
 * With a signal that has aborted the operation never starts. The timer keeps the host alive. No timer or
 * listener outlives the call.
 *
 * @throws {AbortError} ERR_ABORTED, `cause` is `signal.reason`
 * @throws {TypeError | RangeError} a bound that is none; the operation has not started
 */
export async function bounded<T>(
  start: (onStop: OnStop) => Promise<T>,
  { signal, timeoutMs }: Bounds,
  timeoutError: StopError,
): Promise<T> {
  checkBounds({ signal, timeoutMs })
  if (isUnbounded({ signal, timeoutMs })) return start(() => {})
  const abortError: StopError = (facts = {}) => {
    return new AbortError('ERR_ABORTED', facts, { cause: signal?.reason })
  }
  const deadline = deadlineAfter(timeoutMs)

  let stop: ((stopError: StopError) => void) | undefined
  let stoppedBy: StopError | undefined
  let release = () => {}
  const stopped = new Promise<never>((_, reject) => {
    const end = (stopError: StopError) => {
      release()
      stoppedBy = stopError
      if (stop === undefined) return reject(stopError())
      try {
        stop(stopError)
      } catch (error) {
        reject(error)
      }
    }
    const cancelTimer = at(deadline, () => end(timeoutError))
    const leaveSignal = signal === undefined ? undefined : onAbort(signal, () => end(abortError))
    release = () => {
      cancelTimer()
      leaveSignal?.()
    }
  })
  // An operation that was stopped before it could say how is told when it does: it must not run on unseen.
  const onStop: OnStop = (given) => (stoppedBy === undefined ? (stop = given) : given(stoppedBy))
  try {
    return await Promise.race([start(onStop), stopped])
  } finally {
    release()
  }
}

/** Tells whether nothing bounds a call: it needs neither timer nor listener. */
export function isUnbounded({ signal, timeoutMs }: Bounds): boolean {
  return signal === undefined && (timeoutMs === undefined || timeoutMs === Infinity)
}

/**
 * Checks bounds before an operation that may not have to wait at all, and so needs neither timer nor listener.
 *
 * @throws {AbortError} ERR_ABORTED: the signal has aborted already
 * @throws {TypeError | RangeError} a bound that is none
 */
export function checkBounds({ signal, timeoutMs }: Bounds): void {
  checkSignal(signal)
  checkTimeout(timeoutMs, 'timeoutMs')
  if (signal?.aborted) throw new AbortError('ERR_ABORTED', {}, { cause: signal.reason })
}

/**
 * Checks that a value can be listened to as an AbortSignal; another realm's is as good.
 *
 * @throws {TypeError} it cannot
 */
export function checkSignal(signal: AbortSignal | undefined, argument = 'signal'): void {
  if (signal === undefined || isAbortSignal(signal)) return
  throw new TypeError(`${argument} must be an AbortSignal`)
}

/** Tells whether a value can be listened to as an AbortSignal. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false
  const { aborted, addEventListener, removeEventListener } = value as Partial<AbortSignal>
  // All that a call does with it: what fails only at its end would leave the call pending for ever.
  const listened = typeof addEventListener === 'function' && typeof removeEventListener === 'function'
  return typeof aborted === 'boolean' && listened
}

/** Calls back once the deadline has passed, never before; gives the function that cancels it. */
function at(deadline: number, passed: () => void): () => void {
  if (deadline === Infinity) return () => {}
  let timer: NodeJS.Timeout
  const arm = () => {
    timer = setTimeout(check, Math.min(Math.ceil(remainingMs(deadline)), TIMER_MAX_MS))
  }
  // Timers count whole milliseconds of a clock read earlier: one can fire a fraction too soon.
  const check = () => (remainingMs(deadline) > 0 ? arm() : passed())
  arm()
  return () => clearTimeout(timer)
}
