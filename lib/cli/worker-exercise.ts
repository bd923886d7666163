/** One worker from hello to shutdown, with the smallest requests that its role knows. */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorCode } from '../base/error-table.js'
import { ExactSpawnError, type ErrorOf } from '../base/errors.js'
import type { RequestFields, Role } from '../protocol/messages.js'
import type { ExitStatus } from '../process/exit.js'
import type { Receipt } from '../process/receipt.js'
import type { LaunchRecord } from '../worker/launch-record.js'
import { launchIdentity } from '../worker/launch-record.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import type { PhaseTimeouts } from '../worker/phases.js'
import { launchTrustedLocalWorker } from '../worker/trusted-local.js'
import type { WorkerFacts } from '../worker/worker-session.js'
import { WorkerSession } from '../worker/worker-session.js'
import { ruleOf } from './worker-rules.js'

export interface Exercise {
  readonly record: LaunchRecord
  readonly role: Role
  readonly workerId: string
  readonly timeouts: PhaseTimeouts
  readonly secrets: Readonly<Record<string, Buffer>>
  /** An empty directory of the caller's: the worker's root, and the places that requests name. */
  readonly directory: string
  /** Fields of requests in place of those of the smallest ones. */
  readonly fields: Fields
  /** Ends it early: nothing is left of the worker. */
  readonly signal: AbortSignal
}

/** Fields by method, of the methods that have any. */
export type Fields = { readonly [M in (typeof METHODS)[number]]?: Partial<RequestFields[M]> }

export const METHODS = ['materialize', 'prepare', 'execute', 'evaluate'] as const

export interface PhaseResult {
  readonly phase: string
  /** What the worker said no with; null when it did what it was asked. */
  readonly failure: { readonly code: string; readonly message: string } | null
}

export interface Breach {
  readonly code: string
  readonly message: string
  /** The sentence of docs/protocol.md that was not kept, where one says it. */
  readonly rule: string | null
}

export interface Exercised {
  readonly phases: readonly PhaseResult[]
  readonly facts: WorkerFacts | null
  readonly broken: Breach | null
  readonly receipt: Receipt
  readonly exit: ExitStatus | null
  readonly logs: WorkerLogSnapshot
}

const LOG_BYTES = 65_536

/** Gives the identity of a worker that nothing but its record tells. */
export function workerIdOf(record: LaunchRecord): string {
  return `mw1-resolved-worker-${createHash('sha256').update(launchIdentity(record)).digest('hex')}`
}

/**
 * Launches the worker and takes it through its phases; a failure that it reports is an answer and no breach.
 *
 * @throws as launchTrustedLocalWorker: nothing ran
 * @throws {AbortError} ERR_ABORTED
 */
export async function exercise(plan: Exercise): Promise<Exercised> {
  const { record, role, workerId, timeouts, secrets, directory, signal } = plan
  const logs = { stdoutBytes: LOG_BYTES, stderrBytes: LOG_BYTES }
  await using worker = await launchTrustedLocalWorker(record, { privateRoot: directory, logs, secrets, signal })
  const phases: PhaseResult[] = []
  let facts: WorkerFacts | null = null
  let broken: Breach | null = null
  try {
    const session = await WorkerSession.connect(worker, { role, workerId, timeouts, signal })
    phases.push({ phase: 'hello', failure: null })
    facts = session.facts
    const requests = await requestsOf(session, plan)
    for (const [phase, request] of requests) phases.push(await answerTo(phase, request))
    const last = phases.at(-1)
    // A worker that cannot forget an attempt says so, and is replaced.
    if (last?.phase !== 'reset' || last.failure === null) {
      await session.shutdown({ signal })
      phases.push({ phase: 'shutdown', failure: null })
    }
  } catch (error) {
    if (!ExactSpawnError.is(error) || signal.aborted) throw error
    broken = { code: error.code, message: error.message, rule: ruleOf(error as ErrorOf<ErrorCode>) }
  }
  return { phases, facts, broken, receipt: worker.receipt, exit: worker.tryWait(), logs: worker.logSnapshot() }
}

type Request = () => Promise<unknown>

async function requestsOf(session: WorkerSession, plan: Exercise): Promise<[string, Request][]> {
  const { directory, fields, signal } = plan
  const [source_dir, dataset_dir, result_dir] = (await Promise.all(
    ['source', 'dataset', 'result'].map(async (name) => {
      const path = join(directory, name)
      await mkdir(path)
      return path
    }),
  )) as [string, string, string]
  const problem = { problem_contract_id: 'check', problem_parameters: {} }
  const bounds = { signal }
  const materialize = { source_dir, dataset_parameters: {}, dataset_seed: 1, output_dir: dataset_dir }
  const prepare = { dataset_dir, ...problem, implementation_parameters: {}, implementation_seed: 1 }
  const evaluate = { dataset_dir, result_dir, ...problem, metrics_path: join(directory, 'metrics.json') }
  const requests: Readonly<Record<Role, [string, Request][]>> = {
    dataset_materializer: [
      ['materialize', () => session.materialize({ ...materialize, ...fields.materialize }, bounds)],
    ],
    implementation: [
      ['prepare', () => session.prepare({ ...prepare, ...fields.prepare }, bounds)],
      ['execute', () => session.execute({ result_dir, ...fields.execute }, bounds)],
      ['reset', () => session.reset(bounds)],
    ],
    problem_evaluator: [['evaluate', () => session.evaluate({ ...evaluate, ...fields.evaluate }, bounds)]],
  }
  return requests[session.role]
}

async function answerTo(phase: string, request: Request): Promise<PhaseResult> {
  try {
    await request()
    return { phase, failure: null }
  } catch (error) {
    if (!ExactSpawnError.is(error, 'ERR_WORKER_FAILURE')) throw error
    const { workerCode, workerMessage } = error.details
    return { phase, failure: { code: workerCode, message: workerMessage } }
  }
}
