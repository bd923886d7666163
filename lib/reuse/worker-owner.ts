/** Holds at most one worker, and decides for each attempt whether it is kept or replaced. */
import { checkBounds } from '../base/deadline.js'
import { ExactSpawnError, ReuseError, suppress, toError } from '../base/errors.js'
import { checkOptions } from '../process/options.js'
import { invalid } from '../process/strings.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import { finalLogSnapshot } from '../worker/log-snapshot.js'
import type { Attempt, ReadAttempt } from './attempt.js'
import { readAttempt } from './attempt.js'
import { AttemptRecord } from './attempt-record.js'
import type { AttemptEvidence, Replacement } from './evidence.js'
import { readJson } from './json.js'
import type { OwnerExecutor } from './owned-worker.js'
import { OwnedWorker } from './owned-worker.js'
import type { OnOwnerEvent, OwnerEvent, OwnerEventFacts, OwnerEventType } from './owner-events.js'
import { cleanSlot } from './slot-cleanup.js'
import { runSlot } from './slot-session.js'
import { warmUp } from './warm-up.js'
import type { WorkerKey } from './worker-key.js'

/** Makes evidence durable: once it has resolved, a crash of the host no longer loses it. */
export type Publish = (evidence: AttemptEvidence) => Promise<void> | void

export interface WorkerOwnerOptions {
  readonly executor: OwnerExecutor
  /** Absent: evidence goes with the outcome alone. */
  readonly publish?: Publish
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

export class WorkerOwner implements AsyncDisposable {
  readonly #options: WorkerOwnerOptions
  readonly #ending = new AbortController()
  #running: Promise<unknown> | undefined
  #held: OwnedWorker | undefined
  /** The held worker is to be ended, and could not be yet. */
  #spoiled = false
  /** The worker that an earlier failure cost. */
  #lost: Replacement | undefined

  /**
   * Does no I/O.
   *
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC
   */
  constructor(options: WorkerOwnerOptions) {
    checkOptions(options, ['executor', 'publish', 'onEvent', 'lane'])
    const { executor, publish, onEvent, lane } = options
    if (typeof (executor as Partial<OwnerExecutor> | undefined)?.spawn !== 'function') {
      throw invalid('executor', 'must be an executor')
    }
    for (const [name, call] of Object.entries({ publish, onEvent })) {
      if (call !== undefined && typeof call !== 'function') throw invalid(name, 'must be a function')
    }
    if (lane !== undefined && !(Number.isSafeInteger(lane) && lane >= 0)) {
      throw invalid('lane', 'must be an integer of 0 or more')
    }
    this.#options = Object.freeze({ ...options })
  }

  /** The worker that is held for the next slot, or null: then the next one starts its own. */
  get retained(): RetainedWorker | null {
    if (this.#held === undefined || this.#spoiled) return null
    const { process, instance, key, slots } = this.#held
    return Object.freeze({ pid: process.pid, instance, key, slots })
  }

  /**
   * Runs one attempt: keeps or replaces the worker, warms it up where that is due, and measures, once. Whatever fails, no
   * worker is retained after it, and nothing is tried again.
   *
   * The evidence is published before the terminal event is told and before the promise settles.
   *
   * @throws as Attempt is read: nothing has happened then
   * @throws {ReuseError} ERR_OWNER_BUSY, ERR_OWNER_ENDED: nothing has happened; ERR_RESET_FAILED, ERR_WARM_UP_FAILED: nothing
   *   was measured; ERR_SLOT_DEADLINE; ERR_PUBLICATION_FAILED: no terminal event was told
   * @throws {DirectoryError} ERR_CLEANUP_FAILED: nothing was measured
   * @throws {CapabilityError} ERR_CONTROL_ENFORCEMENT_LOST: what was measured is not accepted [M-88]
   * @throws {AbortError} ERR_ABORTED
   * @throws as the executor's spawn, as WorkerSession.connect, and whatever `measure` throws
   */
  async run<T>(attempt: Attempt<T>, bounds: { signal?: AbortSignal } = {}): Promise<AttemptOutcome<T>> {
    checkOptions(bounds, ['signal'])
    const read = readAttempt(attempt)
    checkBounds(bounds)
    const lane = this.#options.lane === undefined ? {} : { lane: this.#options.lane }
    if (this.#ending.signal.aborted) throw new ReuseError('ERR_OWNER_ENDED', lane)
    if (this.#running !== undefined) throw new ReuseError('ERR_OWNER_BUSY', { attempt: read.id, ...lane })
    this.#checkSeed(read)
    const signals = bounds.signal === undefined ? [] : [bounds.signal]
    const running = this.#run(read, AbortSignal.any([this.#ending.signal, ...signals]))
    this.#running = running
    try {
      return await running
    } finally {
      this.#running = undefined
    }
  }

  /**
   * Ends a running attempt, and kills the retained worker. Repeatable; from the first call on nothing is run any more.
   *
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE: the worker is still there
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new ReuseError('ERR_OWNER_ENDED', {}))
    await this.#running?.catch(() => {})
    await this.#drop()
  }

  // One seed for all of a specification, or its warm-ups would be of another one.
  #checkSeed({ specification, implementationSeed }: ReadAttempt<unknown>): void {
    const warmed = this.#held?.warmedFor
    if (warmed?.specification !== specification || warmed.implementationSeed === implementationSeed) return
    throw invalid('implementationSeed', `is ${warmed.implementationSeed} for this specification`)
  }

  async #run<T>(attempt: ReadAttempt<T>, signal: AbortSignal): Promise<AttemptOutcome<T>> {
    const record = new AttemptRecord(attempt, this.#options.lane)
    const tell = this.#teller(attempt)
    tell('begun', { measured: true })
    let outcome: AttemptOutcome<T>
    try {
      outcome = await this.#measure(attempt, { record, tell, signal })
    } catch (thrown) {
      throw await this.#fail(toError(thrown), record, tell)
    }
    try {
      await this.#publish(outcome.evidence)
    } catch (error) {
      // No terminal event, and no second try: what is not on the disk has not happened.
      await this.#lose(error as Error)
      throw error
    }
    tell('completed', {})
    return outcome
  }

  /** Ends the worker of a failed attempt, publishes what is known, and gives the error that is to be told. */
  async #fail(error: Error, record: AttemptRecord, tell: Tell): Promise<Error> {
    await this.#lose(error)
    try {
      await this.#publish(record.failed(error))
      tell('failed', { error })
    } catch (later) {
      suppress(error, [toError(later)])
    }
    return error
  }

  async #measure<T>(attempt: ReadAttempt<T>, run: Run): Promise<AttemptOutcome<T>> {
    const { record, tell, signal } = run
    const worker = await this.#ready(attempt, run)
    if (worker.warmedFor?.specification !== attempt.specification) {
      const watch = {
        begun: ({ index }: { index: number }) => tell('warming-up', { index }),
        cleaning: (step: OwnerEventFacts['cleaning']['step']) => tell('cleaning', { step }),
      }
      await warmUp(worker, attempt, { record, watch, signal })
    }
    tell('measuring', {})
    record.beginSlot()
    const value = await runSlot(worker.session, { ...attempt, signal }, attempt.measure)
    const observation = readJson(value ?? null, 'measure()')
    const logs = await this.#afterSlot(worker)
    return Object.freeze({ value, evidence: record.completed(observation, logs), logs })
  }

  /** Gives a worker that is clean: the one that is held, or a new one in its place. */
  async #ready(attempt: ReadAttempt<unknown>, { record, tell, signal }: Run): Promise<OwnedWorker> {
    const held = this.#held
    let replacement = this.#lost
    if (held !== undefined && !this.#spoiled) {
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
    // First the end of the old one: two are never alive here.
    await this.#drop()
    this.#lost = undefined
    record.uses(undefined, false)
    tell('launching', {})
    const worker = await OwnedWorker.launch(this.#options.executor, attempt, signal)
    this.#held = worker
    record.uses(worker, true)
    tell('launched', { pid: worker.process.pid, instance: worker.instance })
    return worker
  }

  /** Lets the worker go where the policy wants that, and gives its logs. */
  async #afterSlot(worker: OwnedWorker): Promise<WorkerLogSnapshot> {
    if (worker.key.parts.policy.workerReuse) return worker.process.logSnapshot()
    const output = await worker.session.shutdown()
    this.#held = undefined
    return finalLogSnapshot(output)
  }

  async #publish(evidence: AttemptEvidence): Promise<void> {
    try {
      await this.#options.publish?.(evidence)
    } catch (cause) {
      if (ExactSpawnError.is(cause, 'ERR_PUBLICATION_FAILED')) throw cause
      throw new ReuseError('ERR_PUBLICATION_FAILED', { attempt: evidence.attempt }, { cause })
    }
  }

  /** After a failure: nobody knows what the worker is in. */
  async #lose(error: Error): Promise<void> {
    const held = this.#held
    if (held === undefined) return
    this.#lost = { instance: held.instance, reasons: ['earlier_failure'], changed: [] }
    await this.#drop().catch((later: unknown) => suppress(error, [toError(later)]))
  }

  /** Ends the held worker. One that cannot be ended stays held, so that none is started beside it. */
  async #drop(): Promise<void> {
    if (this.#held === undefined) return
    this.#spoiled = true
    await this.#held.end()
    this.#held = undefined
    this.#spoiled = false
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
}

/** Why a worker cannot serve an attempt, before it is even asked to reset. */
function replaced(held: OwnedWorker, { key, secrets }: ReadAttempt<unknown>): Replacement | undefined {
  const changed = held.key.differences(key)
  const { instance } = held
  if (changed.length > 0) return { instance, reasons: ['key_changed'], changed }
  if (!held.hasSecrets(secrets)) return { instance, reasons: ['secrets_changed'], changed }
  return held.session.usable ? undefined : { instance, reasons: ['worker_ended'], changed }
}
