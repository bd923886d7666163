/** A worker that an owner holds: its process, its session, and what it was when it had greeted. */
import { randomUUID } from 'node:crypto'
import { suppress, toError } from '../base/errors.js'
import type { LocalSpawnOptions } from '../executor/local-process-executor.js'
import type { WorkerExecutor } from '../executor/worker-executor.js'
import type { PosixWorkerProcess } from '../worker/posix-worker-process.js'
import { WorkerSession } from '../worker/worker-session.js'
import type { WorkerTraces } from '../worker/worker-traces.js'
import type { ReadAttempt } from './attempt.js'
import type { WorkerKey } from './worker-key.js'

/** What starts workers for an owner. */
export type OwnerExecutor = Pick<WorkerExecutor<PosixWorkerProcess, LocalSpawnOptions>, 'spawn'>

/** What a launch took, in nanoseconds. */
export interface Startup {
  /** From the request to the process. */
  readonly spawnNs: number
  /** From the process to the end of the handshake. */
  readonly helloNs: number
}

/** What a slot left in a worker, or said after it; or the worker went with it. */
export type LeftBehind = 'processes_left' | 'cwd_changed' | 'descriptors_left' | 'late_bytes' | 'worker_ended'

export class OwnedWorker {
  /** Names the process in evidence; no number of the kernel's, which comes back. */
  readonly instance = randomUUID()
  readonly key: WorkerKey
  readonly secrets: ReadonlyMap<string, Buffer>
  readonly process: PosixWorkerProcess
  readonly session: WorkerSession
  readonly startup: Startup
  readonly #atHello: WorkerTraces
  /** Slots that it has begun, warm-ups too. */
  slots = 0
  /** The specification whose warm-ups it has done, and its seed. */
  warmedFor: { readonly specification: string; readonly implementationSeed: number } | undefined

  private constructor(
    { key, secrets }: ReadAttempt<unknown>,
    process: PosixWorkerProcess,
    session: WorkerSession,
    startup: Startup,
    atHello: WorkerTraces,
  ) {
    this.key = key
    this.secrets = secrets
    this.process = process
    this.session = session
    this.startup = startup
    this.#atHello = atHello
  }

  /**
   * Starts the worker of an attempt and greets it. A failure leaves no process.
   *
   * @throws as the executor's spawn and WorkerSession.connect
   */
  static async launch(
    executor: OwnerExecutor,
    attempt: ReadAttempt<unknown>,
    signal: AbortSignal,
  ): Promise<OwnedWorker> {
    const { key, terms, secrets } = attempt
    const { requirements, controls } = key.parts.policy
    const begun = process.hrtime.bigint()
    const given = { requirements, controls, secrets: Object.fromEntries(secrets), signal }
    const worker = await executor.spawn(key.parts.launch, given)
    try {
      const spawned = process.hrtime.bigint()
      const session = await WorkerSession.connect(worker, { ...terms, signal })
      const greeted = process.hrtime.bigint()
      const startup = Object.freeze({ spawnNs: Number(spawned - begun), helloNs: Number(greeted - spawned) })
      return new OwnedWorker(attempt, worker, session, startup, await worker.traces())
    } catch (thrown) {
      const error = toError(thrown)
      await worker[Symbol.asyncDispose]().catch((later: unknown) => suppress(error, [toError(later)]))
      throw error
    }
  }

  /** Whether its secrets are these, byte by byte. */
  hasSecrets(secrets: ReadonlyMap<string, Buffer>): boolean {
    if (secrets.size !== this.secrets.size) return false
    return [...secrets].every(([name, value]) => this.secrets.get(name)?.equals(value) ?? false)
  }

  /** Compares the worker with what it was after its handshake; what the kernel does not show is not compared. */
  async leftBehind(): Promise<readonly LeftBehind[]> {
    const before = this.#atHello
    const now = await this.process.traces()
    if (!this.session.usable) return ['worker_ended']
    const left: LeftBehind[] = []
    if (anyNew(before.members, now.members)) left.push('processes_left')
    if (before.cwd !== null && now.cwd !== before.cwd) left.push('cwd_changed')
    if (anyNew(before.fds, now.fds)) left.push('descriptors_left')
    // Last, so that what comes late has had the longest time to come.
    if (!this.#silent()) left.push('late_bytes')
    return left
  }

  /** Kills it and collects what is left. Repeatable. */
  async end(): Promise<void> {
    await this.session[Symbol.asyncDispose]()
  }

  #silent(): boolean {
    try {
      this.session.checkSilent()
      return true
    } catch {
      return false
    }
  }
}

function anyNew(before: readonly string[] | null, now: readonly string[] | null): boolean {
  return before !== null && now !== null && now.some((entry) => !before.includes(entry))
}
