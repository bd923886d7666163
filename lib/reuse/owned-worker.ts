/** A worker that an owner holds: its process, its session, and what it was when it had greeted. */
import { randomUUID } from 'node:crypto'
import { hrtime } from 'node:process'
import type { PosixWorkerProcess } from '../worker/posix-worker-process.js'
import type { ReadTerms } from '../worker/session-terms.js'
import { WorkerSession } from '../worker/worker-session.js'
import type { WorkerTraces } from '../worker/worker-traces.js'
import type { ReadAttempt } from './attempt.js'
import type { WorkerKey } from './worker-key.js'
import type { OwnerExecutor } from './worker-start.js'
import { startWorker } from './worker-start.js'

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
  readonly secrets: ReadonlyMap<string, Uint8Array>
  readonly process: PosixWorkerProcess
  readonly #spawnNs: number
  #greeted: { readonly session: WorkerSession; readonly startup: Startup; readonly traces: WorkerTraces } | undefined
  /** Slots that it has begun, warm-ups too. */
  slots = 0
  /** The specification whose warm-ups it has done. */
  warmedFor: string | undefined

  private constructor({ key, secrets }: ReadAttempt<unknown>, started: PosixWorkerProcess, spawnNs: number) {
    this.key = key
    this.secrets = secrets
    this.process = started
    this.#spawnNs = spawnNs
  }

  /**
   * Starts the worker of an attempt. It is to be greeted before anything else, and ended in any case.
   *
   * @throws as startWorker: there is no process
   */
  static async start(executor: OwnerExecutor, attempt: ReadAttempt<unknown>, signal: AbortSignal): Promise<OwnedWorker> {
    const { key, secrets } = attempt
    const { requirements, controls } = key.parts.policy
    const begun = hrtime.bigint()
    const given = { requirements, controls, secrets: Object.fromEntries(secrets), signal }
    const worker = await startWorker(executor, key.parts.launch, given)
    return new OwnedWorker(attempt, worker, Number(hrtime.bigint() - begun))
  }

  /** Greets it, and remembers what it was then. Throws as WorkerSession.connect. */
  async greet(terms: ReadTerms, signal: AbortSignal): Promise<void> {
    const begun = hrtime.bigint()
    const session = await WorkerSession.connect(this.process, { ...terms, signal })
    const startup = Object.freeze({ spawnNs: this.#spawnNs, helloNs: Number(hrtime.bigint() - begun) })
    this.#greeted = { session, startup, traces: await this.process.traces() }
  }

  /** There once it has greeted. */
  get session(): WorkerSession {
    return (this.#greeted as { session: WorkerSession }).session
  }

  /** Absent before it has greeted. */
  get startup(): Startup | undefined {
    return this.#greeted?.startup
  }

  /** Whether a slot can be begun: it has greeted, and its session and its process are there. */
  get usable(): boolean {
    return this.#greeted?.session.usable ?? false
  }

  /** Whether its process has gone. */
  get ended(): boolean {
    return this.process.tryWait() !== null
  }

  /** Whether its secrets are these, byte by byte. */
  hasSecrets(secrets: ReadonlyMap<string, Uint8Array>): boolean {
    // Of one key, so by the same channels.
    return [...secrets].every(([name, value]) => Buffer.compare(value, this.secrets.get(name) as Uint8Array) === 0)
  }

  /** Compares the worker with what it was after its handshake; what the kernel does not show is not compared. */
  async leftBehind(): Promise<readonly LeftBehind[]> {
    const { traces: before } = this.#greeted as { traces: WorkerTraces }
    const now = await this.process.traces()
    if (!this.usable) return ['worker_ended']
    const left: LeftBehind[] = []
    if (anyNew(before.members, now.members)) left.push('processes_left')
    if (before.cwd !== null && now.cwd !== null && now.cwd !== before.cwd) left.push('cwd_changed')
    if (anyNew(before.fds, now.fds)) left.push('descriptors_left')
    // Last, so that what comes late has had the longest time to come.
    if (!this.#silent()) left.push('late_bytes')
    return left
  }

  /** Kills it and collects what is left. Repeatable. Throws as PosixWorkerProcess is disposed. */
  async end(): Promise<void> {
    await (this.#greeted?.session ?? this.process)[Symbol.asyncDispose]()
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
