/** Holds at most one worker, and decides for each attempt whether it is kept or replaced. */
import { checkBounds, deadlineAfter } from '../base/deadline.js'
import { readSafely } from '../base/error-json.js'
import { ReuseError, suppress, toError } from '../base/errors.js'
import { joinSignals } from '../base/joined-signal.js'
import { EVIDENCE_JSON_MAX_LEVELS, PUBLISH_MS } from '../base/limits.js'
import { checkOptions } from '../process/options.js'
import { invalid } from '../process/strings.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import { finalLogSnapshot } from '../worker/log-snapshot.js'
import type { Attempt, ReadAttempt } from './attempt.js'
import { readAttempt } from './attempt.js'
import { AttemptRecord } from './attempt-record.js'
import type { AttemptEvidence, Replacement } from './evidence.js'
import { HeldWorker } from './held-worker.js'
import { readJson } from './json.js'
import { OwnedWorker } from './owned-worker.js'
import type { OnOwnerEvent, OwnerEvent, OwnerEventFacts, OwnerEventType } from './owner-events.js'
import type { Publish } from './publication.js'
import { publishWithin } from './publication.js'
import { cleanSlot } from './slot-cleanup.js'
import { runSlot } from './slot-session.js'
import { Specifications } from './specifications.js'
import { warmUp } from './warm-up.js'
import type { WorkerKey } from './worker-key.js'
import type { OwnerExecutor } from './worker-start.js'

export interface WorkerOwnerOptions {
  readonly executor: OwnerExecutor
  /** Absent: evidence goes with the outcome alone. */
  readonly publish?: Publish
  /** What the publisher may take for each evidence; 30 s unless told. */
  readonly publishTimeoutMs?: number
  readonly onEvent?: OnOwnerEvent
  /** The position in a batch that this owner serves. */
  readonly lane?: number
}

/** What an attempt gave. */
export interface AttemptOutcome<T> {
  readonly value: T
  readonly evidence: AttemptEvidence
  /** Complete for a worker that was not to be used again; else its life up to here. */
  readonly logs: WorkerLogSnapshot
}

/** The worker that an owner holds. */
export interface RetainedWorker {
  readonly pid: number
  readonly instance: string
  readonly key: WorkerKey
  /** Slots that it has begun, warm-ups too. */
  readonly slots: number
}

type Tell = <Type extends OwnerEventType>(type: Type, facts: OwnerEventFacts[Type]) => void

/** One attempt while it runs. */
interface Running {
  /** Settles with the attempt, and never rejects. */
  readonly settled: Promise<unknown>
  /** Resolves when nothing is left of it but to wait for its publisher: its worker has been ended. */
  readonly handedOver: Promise<void>
}

export class WorkerOwner implements AsyncDisposable {
  readonly #options: WorkerOwnerOptions
  readonly #ending = new AbortController()
  readonly #held = new HeldWorker()
  readonly #specifications: Specifications
  #running: Running | undefined

  /**
   * Does no I/O.
   *
   * @param specifications what is known of them, where several owners share it
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC
   * @throws {TypeError | RangeError} a time that is none
   */
  constructor(options: WorkerOwnerOptions, specifications = new Specifications()) {
    checkOptions(options, ['executor', 'publish', 'publishTimeoutMs', 'onEvent', 'lane'])
    const { executor, publish, publishTimeoutMs, onEvent, lane } = options
    if (typeof (executor as Partial<OwnerExecutor> | undefined)?.spawn !== 'function') {
      throw invalid('executor', 'must be an executor')
    }
    for (const [name, call] of Object.entries({ publish, onEvent })) {
      if (call !== undefined && typeof call !== 'function') throw invalid(name, 'must be a function')
    }
    deadlineAfter(publishTimeoutMs, 'publishTimeoutMs')
    if (lane !== undefined && !(Number.isSafeInteger(lane) && lane >= 0)) {
      throw invalid('lane', 'must be an integer of 0 or more')
    }
    this.#options = Object.freeze({ ...options })
    this.#specifications = specifications
  }

  /** The worker that is held for the next slot, or null: then the next one starts its own. */
  get retained(): RetainedWorker | null {
    const { worker } = this.#held
    if (worker === undefined || !worker.usable) return null
    const { process, instance, key, slots } = worker
    return Object.freeze({ pid: process.pid, instance, key, slots })
  }

  /**
   * Runs one attempt: keeps or replaces the worker, warms it up where that is due, and measures, once. Whatever fails, no
   * worker is retained after it, and nothing is tried again.
   *
   * The evidence is published before the terminal event is told and before the promise settles. From that event on the
   * owner is free for the next attempt.
   *
   * @throws as Attempt is read: nothing has happened then
   * @throws {ReuseError} ERR_OWNER_BUSY, ERR_OWNER_ENDED: nothing has happened; ERR_RESET_FAILED, ERR_WARM_UP_FAILED: nothing
   *   was measured; ERR_SLOT_DEADLINE; ERR_PUBLICATION_FAILED: no terminal event was told
   * @throws {DirectoryError} ERR_CLEANUP_FAILED, ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: nothing was measured
   * @throws {CapabilityError} ERR_CONTROL_ENFORCEMENT_LOST: what was measured is not accepted [M-88]
   * @throws {AbortError} ERR_ABORTED
   * @throws as the executor's spawn, as WorkerSession.connect, and whatever `measure` throws
   */
  async run<T>(attempt: Attempt<T>, bounds: { signal?: AbortSignal } = {}): Promise<AttemptOutcome<T>> {
    checkOptions(bounds, ['signal'])
    return await this.serve(readAttempt(attempt), bounds)
  }

  /** @internal Runs an attempt that was read. Throws as run. */
  async serve<T>(read: ReadAttempt<T>, bounds: { signal?: AbortSignal }): Promise<AttemptOutcome<T>> {
    checkBounds(bounds)
    const lane = this.#options.lane === undefined ? {} : { lane: this.#options.lane }
    if (this.#ending.signal.aborted) throw new ReuseError('ERR_OWNER_ENDED', lane)
    if (this.#running !== undefined) throw new ReuseError('ERR_OWNER_BUSY', { attempt: read.id, ...lane })
    this.#specifications.check([read])
    this.#specifications.keep(read)
    const { signal, leave } = joinSignals([this.#ending.signal, bounds.signal])
    let handOver = () => {}
    const handedOver = new Promise<void>((resolve) => (handOver = resolve))
    const record = new AttemptRecord(read, this.#options.lane)
    const attempting = this.#run(read, { record, tell: this.#teller(read), signal, handOver })
    const running = { settled: attempting.catch(() => {}), handedOver }
    this.#running = running
    try {
      return await attempting
    } finally {
      leave()
      if (this.#running === running) this.#running = undefined
    }
  }

  /**
   * Ends a running attempt, and kills the retained worker. A publisher is not waited for: an attempt whose evidence is
   * being published is rejected with ERR_PUBLICATION_FAILED. Repeatable; from the first call on nothing is run any more.
   *
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE: the worker is still there; the next call tries again
   * @throws {DirectoryError} ERR_PRIVATE_DIRECTORY_REMOVE_FAILED, ERR_PRIVATE_ROOT_UNAVAILABLE: the worker has gone, and
   *   its directory stays; the next call has nothing to do
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new ReuseError('ERR_OWNER_ENDED', {}))
    if (this.#running !== undefined) await Promise.race([this.#running.settled, this.#running.handedOver])
    await this.#held.end()
  }

  async #run<T>(attempt: ReadAttempt<T>, run: Run): Promise<AttemptOutcome<T>> {
    const { tell } = run
    tell('begun', { measured: true })
    let outcome: AttemptOutcome<T>
    try {
      outcome = await this.#measure(attempt, run)
    } catch (thrown) {
      throw await this.#fail(toError(thrown), run)
    }
    try {
      await this.#publish(outcome.evidence)
    } catch (error) {
      // No terminal event, and no second try: what is not on the disk has not happened.
      throw await this.#lose(toError(error))
    }
    this.#running = undefined
    tell('completed', {})
    return outcome
  }

  /** Ends the worker of a failed attempt, publishes what is known, and gives the error that is to be told. */
  async #fail(failure: Error, { record, tell, handOver }: Run): Promise<Error> {
    const error = await this.#lose(failure)
    let publishing: Promise<void>
    try {
      // The publisher is called in this turn, also when the owner has ended: only waiting for it is cut short.
      publishing = this.#publish(record.failed(error))
    } catch (later) {
      return alsoFailed(error, later)
    } finally {
      handOver()
    }
    try {
      await publishing
    } catch (later) {
      return alsoFailed(error, later)
    }
    this.#running = undefined
    tell('failed', { error })
    return error
  }

  async #measure<T>(attempt: ReadAttempt<T>, run: Run): Promise<AttemptOutcome<T>> {
    const { record, tell, signal } = run
    const worker = await this.#ready(attempt, run)
    if (worker.warmedFor !== attempt.specification) {
      const watch = {
        begun: ({ index }: { index: number }) => tell('warming-up', { index }),
        cleaning: (step: OwnerEventFacts['cleaning']['step']) => tell('cleaning', { step }),
      }
      await warmUp(worker, attempt, { record, watch, signal })
    }
    tell('measuring', {})
    record.beginSlot()
    const value = await runSlot(worker.session, { ...attempt, signal }, attempt.measure)
    const observation = readJson(value ?? null, 'measure()', EVIDENCE_JSON_MAX_LEVELS)
    const logs = await this.#afterSlot(worker, signal)
    return Object.freeze({ value, evidence: record.completed(observation, logs), logs })
  }

  /** Gives a worker that is clean: the one that is held, or a new one in its place. */
  async #ready(attempt: ReadAttempt<unknown>, { record, tell, signal }: Run): Promise<OwnedWorker> {
    const held = this.#held.worker
    let replacement = this.#held.takeLost()
    if (held !== undefined) {
      replacement = replaced(held, attempt)
      if (replacement === undefined) {
        record.uses(held, false)
        const reasons = await cleanSlot(held, signal, (step) => tell('cleaning', { step }))
        if (reasons.length === 0) {
          tell('kept', { pid: held.process.pid, instance: held.instance })
          return held
        }
        replacement = { instance: held.instance, reasons, changed: [] }
      }
    }
    if (replacement !== undefined) {
      record.replaced(replacement)
      tell('replaced', replacement)
    }
    record.uses(undefined, false)
    // First the end of the old one: two are never alive here.
    await this.#held.end()
    tell('launching', {})
    const worker = await OwnedWorker.start(this.#options.executor, attempt, signal)
    this.#held.hold(worker)
    // From here on there is a process, and what it says belongs to this attempt, also if it never greets.
    record.uses(worker, true)
    await worker.greet(attempt.terms, signal)
    tell('launched', { pid: worker.process.pid, instance: worker.instance })
    return worker
  }

  /** Lets the worker go where the policy wants that, and gives its logs. */
  async #afterSlot(worker: OwnedWorker, signal: AbortSignal): Promise<WorkerLogSnapshot> {
    if (worker.key.parts.policy.workerReuse) return worker.process.logSnapshot()
    const output = await worker.session.shutdown({ signal })
    this.#held.letGo()
    return finalLogSnapshot(output)
  }

  #publish(evidence: AttemptEvidence): Promise<void> {
    const { publish, publishTimeoutMs: timeoutMs = PUBLISH_MS } = this.#options
    return publishWithin(evidence, { publish, timeoutMs, ending: this.#ending.signal })
  }

  /** After a failure, when nobody knows what the worker is in: ends it, and gives the error that is to be told. */
  async #lose(error: Error): Promise<Error> {
    try {
      await this.#held.end(['earlier_failure'])
      return error
    } catch (later) {
      return alsoFailed(error, later)
    }
  }

  #teller({ id, specification }: ReadAttempt<unknown>): Tell {
    const { onEvent, lane } = this.#options
    const common = { attempt: id, specification, ...(lane === undefined ? {} : { lane }) }
    return (type, facts) => {
      try {
        onEvent?.(Object.freeze({ type, ...common, ...facts }) as OwnerEvent)
      } catch (error) {
        // As an EventTarget does: who looks on decides nothing here.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

interface Run {
  readonly record: AttemptRecord
  readonly tell: Tell
  readonly signal: AbortSignal
  /** Says that the worker has been ended, and the evidence given to the publisher. */
  readonly handOver: () => void
}

// What is told is the first error, the same object; but a frozen one takes no other along, and stands as a cause then.
function alsoFailed(first: Error, thrown: unknown): Error {
  const later = [toError(thrown)]
  if (suppress(first, later)) return first
  const told = new Error(String(readSafely(first, 'message')), { cause: first })
  suppress(told, later)
  return told
}

/** Why a worker cannot serve an attempt, before it is even asked to reset. */
function replaced(held: OwnedWorker, { key, secrets }: ReadAttempt<unknown>): Replacement | undefined {
  const changed = held.key.differences(key)
  const { instance } = held
  if (changed.length > 0) return { instance, reasons: ['key_changed'], changed }
  if (!held.hasSecrets(secrets)) return { instance, reasons: ['secrets_changed'], changed }
  return held.usable ? undefined : { instance, reasons: ['worker_ended'], changed }
}
