/** One worker from hello to shutdown, with the smallest requests that its role knows. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { ErrorCode } from '../base/error-table.js'
import { DirectoryError, ExactSpawnError, toError, type ErrorOf } from '../base/errors.js'
import type { RequestFields, Role } from '../protocol/messages.js'
import type { ExitStatus } from '../process/exit.js'
import type { Receipt } from '../process/receipt.js'
import type { LaunchRecord } from '../worker/launch-record.js'
import { launchIdentity } from '../worker/launch-record.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import type { PhaseTimeouts } from '../worker/phases.js'
import type { PosixWorkerProcess } from '../worker/posix-worker-process.js'
import { launchTrustedLocalWorker } from '../worker/trusted-local.js'
import type { WorkerFacts } from '../worker/worker-session.js'
import { WorkerSession } from '../worker/worker-session.js'
import { UsageError } from './arguments.js'
import { ruleOf, RULES_OF_CLAIMS } from './worker-rules.js'

/** Of the requests that name a problem, the smallest. */
export const SMALLEST_PROBLEM = { problem_contract_id: 'check', problem_parameters: {} }

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
  /** Of the error; what no error tells has a word of its own, such as MANIFEST_OUTSIDE. */
  readonly code: string
  readonly message: string
  /** The sentence of docs/protocol.md that was not kept, where one says it. */
  readonly rule: string | null
}

export interface Exercised {
  readonly phases: readonly PhaseResult[]
  readonly facts: WorkerFacts | null
  readonly broken: Breach | null
  /** What the worker left that could not be ended or removed; null when nothing is left. */
  readonly left: Error | null
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
 * @throws {UsageError} a request that is given is longer than a frame
 * @throws {AbortError} ERR_ABORTED
 */
export async function exercise(plan: Exercise): Promise<Exercised> {
  const { record, secrets, directory, signal } = plan
  const logs = { stdoutBytes: LOG_BYTES, stderrBytes: LOG_BYTES }
  const worker = await launchTrustedLocalWorker(record, { privateRoot: directory, logs, secrets, signal })
  // The verdict is not lost with what could not be ended or removed.
  const end = () => worker[Symbol.asyncDispose]().then(() => null, toError)
  let exchanged: Exchanged
  try {
    exchanged = await exchangeWith(worker, plan)
  } catch (error) {
    await end()
    throw error
  }
  const left = await end()
  return { ...exchanged, left, receipt: worker.receipt, exit: worker.tryWait(), logs: worker.logSnapshot() }
}

type Exchanged = Pick<Exercised, 'phases' | 'facts' | 'broken'>

async function exchangeWith(worker: PosixWorkerProcess, plan: Exercise): Promise<Exchanged> {
  const { role, workerId, timeouts, signal } = plan
  const phases: PhaseResult[] = []
  let facts: WorkerFacts | null = null
  // A claim that is not so; what breaks the exchange itself comes before it.
  let broken: Breach | null = null
  try {
    const session = await WorkerSession.connect(worker, { role, workerId, timeouts, signal })
    phases.push({ phase: 'hello', failure: null })
    facts = session.facts
    for (const [phase, request] of await requestsOf(session, plan)) {
      const { claim, ...result } = await answerTo(phase, request)
      broken ??= claim
      phases.push(result)
    }
    const last = phases.at(-1)
    // A worker that cannot forget an attempt says so, and is replaced.
    if (last?.phase !== 'reset' || last.failure === null) {
      await session.shutdown({ signal })
      phases.push({ phase: 'shutdown', failure: null })
    }
    return { phases, facts, broken }
  } catch (error) {
    if (!ExactSpawnError.is(error) || signal.aborted) throw error
    if (error instanceof DirectoryError) {
      // The goodbye went well; what stayed is told by the end of the worker.
      phases.push({ phase: 'shutdown', failure: null })
      return { phases, facts, broken }
    }
    if (ExactSpawnError.is(error, 'ERR_MESSAGE_TOO_LONG')) throw new UsageError(`--requests: ${error.message}`)
    const { code, message } = error as ErrorOf<ErrorCode>
    return { phases, facts, broken: { code, message, rule: ruleOf(error as ErrorOf<ErrorCode>) } }
  }
}

/** A request, and what must be true of its answer beside its shape. */
type Request = () => Promise<Breach | null>

async function requestsOf(session: WorkerSession, plan: Exercise): Promise<[string, Request][]> {
  const { directory, fields, signal } = plan
  const [source_dir, dataset_dir, result_dir] = (await Promise.all(
    ['source', 'dataset', 'result'].map(async (name) => {
      const path = join(directory, name)
      await mkdir(path)
      return path
    }),
  )) as [string, string, string]
  const problem = SMALLEST_PROBLEM
  const bounds = { signal }
  const materialize = {
    ...{ source_dir, dataset_parameters: {}, dataset_seed: 1, output_dir: dataset_dir },
    ...fields.materialize,
  }
  const prepare = {
    ...{ dataset_dir, ...problem, implementation_parameters: {}, implementation_seed: 1 },
    ...fields.prepare,
  }
  const execute = { result_dir, ...fields.execute }
  const metrics_path = join(directory, 'metrics.json')
  const evaluate = { ...{ dataset_dir, result_dir, ...problem, metrics_path }, ...fields.evaluate }
  const fine = () => null
  const requests: Readonly<Record<Role, [string, Request][]>> = {
    dataset_materializer: [
      [
        'materialize',
        () => session.materialize(materialize, bounds).then(({ dataset }) => manifestIn(materialize.output_dir, dataset)),
      ],
    ],
    implementation: [
      ['prepare', () => session.prepare(prepare, bounds).then(fine)],
      ['execute', () => session.execute(execute, bounds).then(({ result }) => manifestIn(execute.result_dir, result))],
      ['reset', () => session.reset(bounds).then(fine)],
    ],
    problem_evaluator: [
      ['evaluate', () => session.evaluate(evaluate, bounds).then(() => metricsAt(evaluate.metrics_path))],
    ],
  }
  return requests[session.role]
}

function manifestIn(directory: string, { manifest }: { manifest: string }): Breach | null {
  const path = resolve(directory, manifest)
  if (isAbsolute(manifest) || relative(directory, path).split(sep)[0] === '..') {
    return claimBreach('MANIFEST_OUTSIDE', `the manifest ${manifest} is not beneath ${directory}`)
  }
  return existsSync(path) ? null : claimBreach('MANIFEST_MISSING', `there is no manifest ${path}`)
}

function metricsAt(path: string): Breach | null {
  return existsSync(path) ? null : claimBreach('METRICS_MISSING', `there are no metrics at ${path}`)
}

function claimBreach(code: keyof typeof RULES_OF_CLAIMS, message: string): Breach {
  return { code, message, rule: RULES_OF_CLAIMS[code] }
}

async function answerTo(phase: string, request: Request): Promise<PhaseResult & { claim: Breach | null }> {
  try {
    return { phase, failure: null, claim: await request() }
  } catch (error) {
    if (!ExactSpawnError.is(error, 'ERR_WORKER_FAILURE')) throw error
    const { workerCode, workerMessage } = error.details
    return { phase, failure: { code: workerCode, message: workerMessage }, claim: null }
  }
}
