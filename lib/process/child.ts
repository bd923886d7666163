/** The handle of a started child. */
import type { Readable, Writable } from 'node:stream'
import { constants } from 'node:os'
import type { Bounds } from '../base/deadline.js'
import { CapabilityError, LifecycleError } from '../base/errors.js'
import { GRACE_MS, KILL_DEADLINE_MS } from '../base/limits.js'
import type { ChildState } from './child-state.js'
import { ESRCH } from './child-state.js'
import { readInteger } from './controls.js'
import type { Exit, ExitStatus } from './exit.js'
import { leadsGroup, tellMembersBy } from './group.js'
import type { Log } from './log.js'
import { checkOptions } from './options.js'
import type { Receipt } from './receipt.js'
import { signalName, signalNumber } from './signals.js'
import { readMs } from './spawn-spec.js'
import { invalid } from './strings.js'

/** How a terminate goes on after its first signal. `signal` and `timeoutMs` bound the call, not the ladder. */
export interface TerminateOptions extends Bounds {
  /** SIGTERM unless named. */
  firstSignal?: NodeJS.Signals
  /** What the whole group has between the first signal and SIGKILL. */
  graceMs?: number
  /** What the leader has to end after SIGKILL. */
  killDeadlineMs?: number
}

/** The streams of "pipe" on 0, 1 and 2. */
export interface ChildStreams {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}

/**
 * A child that runs, or has run. Ends with its handle when it is owned by it: by `await using`, when nothing can reach the
 * handle, a pipe end or a pending call any more, and with the host.
 */
export class Child implements AsyncDisposable {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  readonly #state: ChildState
  readonly #pid: number
  #receipt: Receipt | (() => Receipt)

  static {
    tellMembersBy((child) => {
      if (!(#state in child)) return undefined
      const { number, spec, running } = child.#state
      return { number, pid: child.#pid, leadsGroup: leadsGroup(spec), running }
    })
  }

  /** @internal The receipt is worded at its first use: most starts never look at it, and it costs a third of one. */
  constructor(state: ChildState, pid: number, receipt: () => Receipt, streams: ChildStreams) {
    this.#state = state
    this.#pid = pid
    this.#receipt = receipt
    this.stdin = streams.stdin
    this.stdout = streams.stdout
    this.stderr = streams.stderr
    state.endWith(this)
  }

  get pid(): number {
    return this.#pid
  }

  /** What it was born with. The same frozen object every time. */
  get receipt(): Receipt {
    if (typeof this.#receipt === 'function') this.#receipt = this.#receipt()
    return this.#receipt
  }

  /**
   * Gives a captured stream; a number that is the same as a captured one gives that one.
   *
   * @throws {SpecError} ERR_INVALID_SPEC: nothing is captured there
   */
  log(fd: number): Log {
    const entry = this.#state.spec.fds.find(({ target }) => target === fd)
    const source = entry?.kind === 'sameAs' ? entry.source : fd
    const captured = this.#state.spec.fds.some(({ target, kind }) => target === source && kind === 'capture')
    if (!captured) throw invalid(`fds.${fd}`, 'is not captured')
    return { fd: source, snapshot: () => this.#state.log(source) }
  }

  /**
   * Waits for the exit, settles the group and waits for the captures to reach their end, together at most `drainMs`.
   * Repeatable, also at once: every call gives the same frozen record. Never closes or waits for a pipe of the caller's.
   *
   * @throws {LifecycleError} ERR_LOG_DRAIN_DEADLINE with the exit: a descendant outside the group still holds a captured
   *   stream; ERR_WAIT_TIMEOUT: `timeoutMs` passed, the child goes on
   * @throws {AbortError} ERR_ABORTED: this call's signal (the child goes on), or `lifetime.signal` (with the exit)
   * @throws {SpecTypeError} ERR_INVALID_SPEC: `bounds` is no object, or has an option that this call has not
   */
  wait(bounds: Bounds = {}): Promise<Exit> {
    try {
      checkOptions(bounds, ['signal', 'timeoutMs'])
      return this.#state.wait(this, bounds)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /** Gives the exit as soon as it is seen, or null while the child runs; the whole record once a wait would give it. */
  tryWait(): ExitStatus | Exit | null {
    return this.#state.status
  }

  /**
   * Sends a signal to the leader alone. False when it has exited: then nothing is sent.
   *
   * @throws {SpecError} ERR_INVALID_SIGNAL
   * @throws {LifecycleError} ERR_SIGNAL_FAILED: EPERM after a change of user
   */
  signal(name: NodeJS.Signals): boolean {
    return this.#send(name, false)
  }

  /**
   * Sends SIGINT to the group. False when nobody is left in it; before Linux 6.9, or with a guard, that shows only once the
   * group is settled.
   *
   * @throws {CapabilityError} ERR_UNSUPPORTED: the child has no group of its own, and the host's would be hit
   */
  interrupt(): boolean {
    if (!leadsGroup(this.#state.spec)) {
      const reason = 'the child has no group of its own'
      throw new CapabilityError('ERR_UNSUPPORTED', { capability: 'interrupt', reason })
    }
    return this.signalGroup('SIGINT')
  }

  /** @internal Sends a signal to the group, which must be the child's own. False when nobody is left in it. */
  signalGroup(name: NodeJS.Signals): boolean {
    return this.#send(name, true)
  }

  /** Sends SIGKILL to the group, or to the leader where the group is not its own. False when the child has exited. */
  kill(): boolean {
    return this.#sent(constants.signals.SIGKILL, this.#state.kill())
  }

  /**
   * Ends the child: first signal, grace for the whole group, SIGKILL, and the exit as `wait` gives it. Repeatable; while
   * the ladder runs a second call can only shorten the grace, and the first one's `killDeadlineMs` holds. A stopped child
   * is continued, so that it can act.
   *
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE: still there `killDeadlineMs` after SIGKILL; the handle stays good
   * @throws as wait
   */
  async terminate(options: TerminateOptions = {}): Promise<Exit> {
    checkOptions(options, ['signal', 'timeoutMs', 'firstSignal', 'graceMs', 'killDeadlineMs'])
    const { firstSignal = 'SIGTERM', graceMs, killDeadlineMs, ...bounds } = options
    return await this.#state.terminate(this, bounds, {
      firstSignal: signalNumber(firstSignal),
      graceMs: readMs(graceMs, 'graceMs', GRACE_MS),
      killDeadlineMs: readInteger(killDeadlineMs ?? KILL_DEADLINE_MS, 'killDeadlineMs', 0, 2 ** 31),
    })
  }

  /** Makes the running child keep the event loop alive, as it does from the start. */
  ref(): void {
    this.#state.ref()
  }

  /** Lets the event loop end while the child runs; an owned one ends with it. Pending calls still hold the loop. */
  unref(): void {
    this.#state.unref()
  }

  /**
   * Kills the group and reaps; a detached child is let go instead. Repeatable.
   *
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE: not gone within 1 s
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#state.dispose(this)
  }

  #send(name: NodeJS.Signals, toGroup: boolean): boolean {
    const signal = signalNumber(name)
    return this.#sent(signal, this.#state.signal(signal, toGroup))
  }

  #sent(signal: number, errno: number): boolean {
    if (errno === 0) return true
    if (errno === ESRCH) return false
    const details = { signal: signalName(signal), errno: -errno, syscall: 'kill' }
    throw new LifecycleError('ERR_SIGNAL_FAILED', details)
  }
}
