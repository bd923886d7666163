/** What one slot has of a session: the requests of its work, for as long as it lasts. */
import { bounded, checkSignal } from '../base/deadline.js'
import { ReuseError } from '../base/errors.js'
import { joinSignals } from '../base/joined-signal.js'
import type { RequestFields, ResultFields } from '../protocol/messages.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import type { WorkerFacts, WorkerSession } from '../worker/worker-session.js'

type CallBounds = { signal?: AbortSignal }

export interface SlotTerms {
  readonly implementationSeed: number
  readonly timeoutMs?: number
  /** Ends the slot early. */
  readonly signal: AbortSignal
}

/** The session as a slot may use it. No reset and no end: they are the owner's. */
export class SlotSession {
  readonly implementationSeed: number
  /** Aborts when the slot ends, well or not. */
  readonly signal: AbortSignal
  readonly #session: WorkerSession
  readonly #pending = new Set<Promise<unknown>>()
  #prepared = false
  #closed = false

  /** @internal */
  constructor(session: WorkerSession, implementationSeed: number, signal: AbortSignal) {
    this.#session = session
    this.implementationSeed = implementationSeed
    this.signal = signal
  }

  get pid(): number {
    return this.#session.pid
  }

  get facts(): WorkerFacts {
    return this.#session.facts
  }

  logSnapshot(): WorkerLogSnapshot {
    return this.#session.logSnapshot()
  }

  /** Establishes clean algorithmic state, with the specification's seed. */
  async prepare(
    fields: Omit<RequestFields['prepare'], 'implementation_seed'>,
    bounds?: CallBounds,
  ): Promise<ResultFields['prepare']> {
    const all = { ...fields, implementation_seed: this.implementationSeed }
    this.#checkOpen('prepare')
    // From here on what an earlier one prepared is gone: a worker that refuses may have thrown it away half-way.
    this.#prepared = false
    const answer = await this.#call('prepare', (within) => this.#session.prepare(all, within), bounds)
    this.#prepared = true
    return answer
  }

  /**
   * Runs once.
   *
   * @throws {ReuseError} ERR_PREPARE_REQUIRED: this slot has prepared nothing, or its last prepare failed; what an earlier
   *   slot prepared is not its own
   */
  async execute(fields: RequestFields['execute'], bounds?: CallBounds): Promise<ResultFields['execute']> {
    this.#checkOpen('execute')
    if (!this.#prepared) throw new ReuseError('ERR_PREPARE_REQUIRED', { phase: 'execute' })
    return await this.#call('execute', (within) => this.#session.execute(fields, within), bounds)
  }

  async materialize(fields: RequestFields['materialize'], bounds?: CallBounds): Promise<ResultFields['materialize']> {
    return await this.#call('materialize', (within) => this.#session.materialize(fields, within), bounds)
  }

  async evaluate(fields: RequestFields['evaluate'], bounds?: CallBounds): Promise<ResultFields['evaluate']> {
    return await this.#call('evaluate', (within) => this.#session.evaluate(fields, within), bounds)
  }

  /** @internal Begins no request any more, and waits for those on their way: no answer may come into the next slot. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#pending)
  }

  // Its session may serve another slot by now.
  #checkOpen(phase: string): void {
    if (this.#closed || this.signal.aborted) throw new ReuseError('ERR_SLOT_ENDED', { phase })
  }

  async #call<T>(phase: string, call: (bounds: CallBounds) => Promise<T>, { signal }: CallBounds = {}): Promise<T> {
    this.#checkOpen(phase)
    checkSignal(signal)
    const joined = joinSignals([this.signal, signal])
    const pending = call({ signal: joined.signal })
    this.#pending.add(pending)
    try {
      return await pending
    } finally {
      joined.leave()
      this.#pending.delete(pending)
    }
  }
}

/**
 * Runs one slot within its time. The deadline is off before anything else happens to the worker.
 *
 * @throws what the body throws
 * @throws {ReuseError} ERR_SLOT_DEADLINE; {AbortError} ERR_ABORTED; the body is waited for no longer
 */
export async function runSlot<T>(
  session: WorkerSession,
  { implementationSeed, timeoutMs, signal }: SlotTerms,
  body: (slot: SlotSession) => Promise<T>,
): Promise<T> {
  const ending = new AbortController()
  const slot = new SlotSession(session, implementationSeed, ending.signal)
  const work = async () => {
    const value = await body(slot)
    await slot.close()
    return value
  }
  const late = () => new ReuseError('ERR_SLOT_DEADLINE', { limitMs: timeoutMs ?? Infinity })
  try {
    return await bounded(work, { signal, timeoutMs }, late)
  } catch (error) {
    ending.abort(error)
    throw error
  } finally {
    void slot.close()
    ending.abort()
  }
}
