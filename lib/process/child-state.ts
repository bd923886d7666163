/**
 * One started child as this environment knows it. Reached from events and pending calls, never the other way: it does not
 * know its handle, so that a handle that nobody holds can be collected and end its child.
 */
import type { NativeAddon } from '../addon/addon-types.js'
import { ENDED_BY, EVENT } from '../addon/addon-types.js'
import type { EventFields } from '../addon/events.js'
import { connectedAddon, offChild, onChild, releaseLoop, retainLoop } from '../addon/events.js'
import { childHasEnded, endChildrenAtHostExit } from '../addon/host-exit.js'
import { onAbort } from '../base/abort-listeners.js'
import type { Bounds, OnStop, StopError } from '../base/deadline.js'
import { bounded, isUnbounded } from '../base/deadline.js'
import { AbortError, errnoName, LifecycleError } from '../base/errors.js'
import { DISPOSE_MS, KILL_DEADLINE_MS } from '../base/limits.js'
import type { Exit, ExitStatus } from './exit.js'
import { exitStatus, readExit, wasSilent } from './exit.js'
import type { LogSnapshot } from './log.js'
import { readLog, SILENT_LOG } from './log.js'
import type { CheckedSpec } from './spawn-spec.js'

/** What a signal to a child that has exited comes back with, kill(2). */
export const ESRCH = 3
const waitTimeout = ({ timeoutMs = 0 }: Bounds) => () => new LifecycleError('ERR_WAIT_TIMEOUT', { timeoutMs })
const disposeTimeout = () => () => new LifecycleError('ERR_TERMINATION_DEADLINE', { killDeadlineMs: DISPOSE_MS })
const cause = (name: (typeof ENDED_BY)[number]): number => ENDED_BY.indexOf(name)

// Left again when the child has ended: what is registered outlives the quick collections, with all that it reaches, and
// every start would be paid for once more.
const dropped = new FinalizationRegistry<ChildState>((state) => state.drop())

interface Pending {
  settle: () => void
  stop: (error: Error) => void
  /** Whether a ladder that ran out ends this call. */
  ladder: boolean
}

/** One call that lasts until the end. */
interface Steps<T> {
  readonly begin: () => void
  readonly giveUp: () => void
  readonly ladder: boolean
  /** What the call gives, or throws, once the end is there. */
  readonly result: () => T
}

export interface LadderSpec {
  readonly firstSignal: number
  readonly graceMs: number
  readonly killDeadlineMs: number
}

export class ChildState {
  readonly number: number
  readonly spec: CheckedSpec
  readonly #native: NativeAddon = connectedAddon()
  readonly #pending = new Set<Pending>()
  readonly #logFds: readonly number[]
  #status: ExitStatus | null = null
  #exit: Exit | null = null
  #failure: Error | null = null
  #holdsLoop = false
  #endsWithHost = false
  #stopWatchingLifetime: () => void = () => {}
  /** Of the ladder that runs: a second one changes nothing of it but the grace. */
  #killDeadlineMs: number | undefined
  #disposed = false

  constructor(number: number, spec: CheckedSpec) {
    this.number = number
    this.spec = spec
    this.#logFds = spec.fds.filter(({ kind }) => kind === 'capture').map(({ target }) => target)
  }

  /** The child ends with its handle: when nothing reaches that any more, it is dropped. */
  endWith(handle: object): void {
    if (this.#exit === null) dropped.register(handle, this, this)
  }

  /** The child runs: from here on it can exit, and the end of this environment concerns it. */
  started(): void {
    this.#holdLoop()
    if (this.spec.owner === 'handle') {
      this.#endsWithHost = true
      endChildrenAtHostExit()
    }
    const { signal, firstSignal, graceMs } = this.spec.lifetime
    if (signal === undefined) return
    const abort = () => {
      this.#killDeadlineMs ??= KILL_DEADLINE_MS
      this.#native.end(this.number, cause('abort'), firstSignal, graceMs, KILL_DEADLINE_MS)
    }
    this.#stopWatchingLifetime = onAbort(signal, abort)
    if (signal.aborted) abort()
  }

  /**
   * Takes the events after the start, in place of whoever listened for the start. From here on the events reach this
   * state alone, and so neither the handle nor a pipe's end.
   */
  listen(): void {
    onChild(this.number, (type, fields) => this.#onEvent(type, fields))
  }

  #onEvent(type: number, fields: EventFields): void {
    if (type === EVENT.exited) this.#onExited(fields)
    else if (type === EVENT.settled) this.#onSettled(fields)
    else if (type === EVENT.endDeadline) this.#onEndDeadline(fields[0] as number)
  }

  get running(): boolean {
    return this.status === null
  }

  /** The final record once there is one, else what is known of the exit, else null. Looks itself; never waits. */
  get status(): ExitStatus | null {
    if (this.#exit !== null) return this.#exit
    if (this.#status !== null) return this.#status
    const seen = this.#native.peek(this.number)
    if (seen === null) return null
    return (this.#status = exitStatus(seen[0], seen[1], seen[2] !== 0, seen[3] !== 0))
  }

  /**
   * Waits for the end. `holder` stays reachable meanwhile. While at least one wait is pending the group is settled as soon
   * as the leader has gone.
   */
  wait(holder: object, bounds: Bounds): Promise<Exit> {
    return this.#untilSettled(holder, bounds, waitTimeout, {
      begin: () => this.#native.setWaiting(this.number, true),
      giveUp: () => this.#native.setWaiting(this.number, false),
      ladder: false,
      result: () => this.#result(),
    })
  }

  /** Runs the ladder and waits for the end. */
  terminate(holder: object, bounds: Bounds, ladder: LadderSpec): Promise<Exit> {
    return this.#untilSettled(holder, bounds, waitTimeout, {
      begin: () => {
        this.#killDeadlineMs ??= ladder.killDeadlineMs
        const { firstSignal, graceMs, killDeadlineMs } = ladder
        this.#native.end(this.number, cause('terminate'), firstSignal, graceMs, killDeadlineMs)
      },
      giveUp: () => {},
      ladder: true,
      result: () => this.#result(),
    })
  }

  /** Sends one signal; 0 or a positive errno, ESRCH when the child has exited. */
  signal(number: number, toGroup: boolean): number {
    return this.#exit === null ? this.#native.signal(this.number, number, toGroup) : ESRCH
  }

  kill(): number {
    return this.#exit === null ? this.#native.kill(this.number, cause('kill')) : ESRCH
  }

  /** Ends an owned child, within DISPOSE_MS; lets a detached one go: it is reaped when it ends, and can still be waited for. */
  async dispose(holder: object): Promise<void> {
    dropped.unregister(this)
    if (this.#exit !== null) return
    if (this.spec.owner === 'detached') return this.#letGo()
    await this.#untilSettled(holder, { timeoutMs: DISPOSE_MS }, disposeTimeout, {
      begin: () => {
        this.#disposed = true
        this.#native.dispose(this.number)
      },
      giveUp: () => {},
      ladder: false,
      result: () => {},
    })
  }

  /** The handle is gone: nobody hears of the child any more. A detached one still obeys its lifetime until it ends. */
  drop(): void {
    if (this.#exit !== null) return
    if (this.spec.owner === 'detached') return this.#letGo()
    this.#native.drop(this.number)
    this.#leave()
  }

  ref(): void {
    if (this.#status === null && this.#exit === null) this.#holdLoop()
  }

  /** A timeout is the only thing that bounds such a child, so it goes on holding the loop [B091]. */
  unref(): void {
    if (this.spec.lifetime.timeoutMs !== null) return
    this.#releaseLoop()
  }

  log(fd: number): LogSnapshot {
    return this.#exit?.logs[fd] ?? (readLog(this.number, fd) as LogSnapshot)
  }

  // Its end is still told to this state, which listens to the lifetime's signal until then.
  #letGo(): void {
    this.#native.dispose(this.number)
    this.unref()
  }

  #result(): Exit {
    if (this.#failure !== null) throw this.#failure
    return this.#exit as Exit
  }

  #untilSettled<T>(
    holder: object,
    bounds: Bounds,
    timeoutError: (bounds: Bounds) => StopError,
    steps: Steps<T>,
  ): Promise<T> {
    if (this.#exit !== null) return new Promise((resolve) => resolve(steps.result()))
    // Most calls have no bound, and a host may wait for a thousand children at a time.
    if (isUnbounded(bounds)) return this.#pend(holder, steps)
    return bounded((onStop) => this.#pend(holder, steps, onStop), bounds, timeoutError(bounds))
  }

  #pend<T>(holder: object, steps: Steps<T>, onStop?: OnStop): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      retainLoop()
      const end = () => {
        // The closure is what keeps the handle reachable while this call is pending.
        void holder
        if (this.#pending.delete(pending)) releaseLoop()
      }
      const pending: Pending = {
        ladder: steps.ladder,
        settle: () => {
          end()
          try {
            resolve(steps.result())
          } catch (error) {
            reject(error)
          }
        },
        stop: (error) => {
          end()
          if (this.#exit === null) steps.giveUp()
          reject(error)
        },
      }
      this.#pending.add(pending)
      onStop?.((stopError) => pending.stop(stopError(this.#status === null ? {} : { exit: this.#status })))
      steps.begin()
    })
  }

  #onExited(fields: EventFields): void {
    this.#status ??= exitStatus(fields[0] as number, fields[1] as number, fields[2] !== 0, fields[3] !== 0)
    this.#releaseLoop()
  }

  #onSettled(fields: EventFields): void {
    const exit = readExit(fields, this.#readLogs(fields))
    this.#exit = exit
    this.#failure = this.#failureOf(exit)
    this.#native.forget(this.number)
    this.#leave()
    for (const pending of [...this.#pending]) pending.settle()
  }

  // Most programs leave one of two logs empty, and a snapshot of it costs as much as one of a full one.
  #readLogs(fields: EventFields): Readonly<Record<number, LogSnapshot>> {
    const logs: Record<number, LogSnapshot> = {}
    this.#logFds.forEach((fd, index) => {
      logs[fd] = wasSilent(fields, index) ? SILENT_LOG : (readLog(this.number, fd) as LogSnapshot)
    })
    return Object.freeze(logs)
  }

  // A child ended by its lifetime's signal has no result that the one who aborted wants to take for one.
  #failureOf(exit: Exit): Error | null {
    const reason: unknown = this.spec.lifetime.signal?.reason
    if (exit.endedBy === 'abort') return new AbortError('ERR_ABORTED', { exit }, { cause: reason })
    const streams = this.#logFds.filter((fd) => exit.logs[fd]?.complete === false)
    // A dispose cuts the logs off: nobody held them.
    if (streams.length === 0 || this.#disposed) return null
    return new LifecycleError('ERR_LOG_DRAIN_DEADLINE', { streams, deadlineMs: this.spec.drainMs, exit })
  }

  #onEndDeadline(errno: number): void {
    const lastError = errno === 0 ? {} : { lastError: errnoName(-errno) }
    const killDeadlineMs = this.#killDeadlineMs ?? KILL_DEADLINE_MS
    this.#killDeadlineMs = undefined
    for (const pending of [...this.#pending]) {
      if (!pending.ladder) continue
      pending.stop(new LifecycleError('ERR_TERMINATION_DEADLINE', { killDeadlineMs, ...lastError }))
    }
  }

  #holdLoop(): void {
    if (this.#holdsLoop) return
    this.#holdsLoop = true
    retainLoop()
  }

  #releaseLoop(): void {
    if (!this.#holdsLoop) return
    this.#holdsLoop = false
    releaseLoop()
  }

  #leave(): void {
    dropped.unregister(this)
    offChild(this.number)
    if (this.#endsWithHost) childHasEnded()
    this.#endsWithHost = false
    this.#stopWatchingLifetime()
    this.#releaseLoop()
  }
}
