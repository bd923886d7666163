/** One worker from hello to shutdown, with the smallest requests that its role knows. */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorCode } from '../base/error-table.js'
import { ExactSpawnError } from '../base/errors.js'
import type { Role } from '../protocol/messages.js'
import type { ExitStatus } from '../process/exit.js'
import type { Receipt } from '../process/receipt.js'
import type { LaunchRecord } from '../worker/launch-record.js'
import { launchIdentity } from '../worker/launch-record.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import type { PhaseTimeouts } from '../worker/phases.js'
import { launchTrustedLocalWorker } from '../worker/trusted-local.js'
import type { WorkerFacts } from '../worker/worker-session.js'
import { WorkerSession } from '../worker/worker-session.js'

export interface Exercise {
  readonly record: LaunchRecord
  readonly role: Role
  readonly workerId: string
  readonly timeouts: PhaseTimeouts
  readonly secrets: Readonly<Record<string, Buffer>>
  /** An empty directory of the caller's: the worker's root, and the places that requests name. */
  readonly directory: string
}

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

export const RULES: { readonly [C in ErrorCode]?: string } = {
  ERR_FRAME_LINE_TOO_LONG: 'A frame has at most 1 048 576 bytes with its LF.',
  ERR_FRAME_EARLY_EOF: 'The end of the stream between two frames is an ordinary end. Inside a frame it is an error.',
  ERR_FRAME_BYTE_ORDER_MARK: 'The text is UTF-8 without a byte order mark',
  ERR_FRAME_INVALID_UTF8: 'The text is UTF-8 without a byte order mark',
  ERR_FRAME_DUPLICATE_KEY: 'no object has a key twice, at any depth',
  ERR_FRAME_MALFORMED_JSON: 'A frame is one JSON value and one LF.',
  ERR_REQUEST_ID_INVALID: 'treat it as opaque, and repeat it in the response.',
  ERR_REQUEST_ID_MISMATCH: 'treat it as opaque, and repeat it in the response.',
  ERR_RESPONSE_EXTRA: 'Nothing is sent unasked.',
  ERR_HANDSHAKE_FAILED: 'The host then checks, in this order, and ends the session at the first that fails',
  ERR_MESSAGE_INVALID: 'Messages have the fields below, all of them, and no other field.',
  ERR_PROTOCOL_CLOSED: 'The host asks, the worker answers: one request, one response, in turn.',
  ERR_PROTOCOL_WRITE_FAILED: 'The host asks, the worker answers: one request, one response, in turn.',
  ERR_PHASE_TIMEOUT: 'Flush after each LF: the host waits.',
  ERR_WORKER_FAILURE: 'The session goes on after a failure, but not after one of `reset` or `hello`.',
  ERR_UNSUCCESSFUL_EXIT: 'Answer, close both pipes and exit with code 0.',
}

/** Gives the identity of a worker that nothing but its record tells. */
export function workerIdOf(record: LaunchRecord): string {
  return `mw1-resolved-worker-${createHash('sha256').update(launchIdentity(record)).digest('hex')}`
}

/**
 * Launches the worker and takes it through its phases; a failure that it reports is an answer and no breach.
 *
 * @throws as launchTrustedLocalWorker: nothing ran
 */
export async function exercise({ record, role, workerId, timeouts, secrets, directory }: Exercise): Promise<Exercised> {
  const logs = { stdoutBytes: LOG_BYTES, stderrBytes: LOG_BYTES }
  await using worker = await launchTrustedLocalWorker(record, { privateRoot: directory, logs, secrets })
  const phases: PhaseResult[] = []
  let facts: WorkerFacts | null = null
  let broken: Breach | null = null
  try {
    const session = await WorkerSession.connect(worker, { role, workerId, timeouts })
    phases.push({ phase: 'hello', failure: null })
    facts = session.facts
    const requests = await requestsOf(session, directory)
    for (const [phase, request] of requests) phases.push(await answerTo(phase, request))
    if (session.usable) {
      await session.shutdown()
      phases.push({ phase: 'shutdown', failure: null })
    }
  } catch (error) {
    if (!ExactSpawnError.is(error)) throw error
    broken = { code: error.code, message: error.message, rule: RULES[error.code] ?? null }
  }
  return { phases, facts, broken, receipt: worker.receipt, exit: worker.tryWait(), logs: worker.logSnapshot() }
}

type Request = () => Promise<unknown>

async function requestsOf(session: WorkerSession, directory: string): Promise<[string, Request][]> {
  const [source_dir, dataset_dir, result_dir] = (await Promise.all(
    ['source', 'dataset', 'result'].map(async (name) => {
      const path = join(directory, name)
      await mkdir(path)
      return path
    }),
  )) as [string, string, string]
  const problem = { problem_contract_id: 'check', problem_parameters: {} }
  const requests: Readonly<Record<Role, [string, Request][]>> = {
    dataset_materializer: [
      [
        'materialize',
        () => session.materialize({ source_dir, dataset_parameters: {}, dataset_seed: 1, output_dir: dataset_dir }),
      ],
    ],
    implementation: [
      [
        'prepare',
        () => session.prepare({ dataset_dir, ...problem, implementation_parameters: {}, implementation_seed: 1 }),
      ],
      ['execute', () => session.execute({ result_dir })],
      ['reset', () => session.reset()],
    ],
    problem_evaluator: [
      [
        'evaluate',
        () => session.evaluate({ dataset_dir, result_dir, ...problem, metrics_path: join(directory, 'metrics.json') }),
      ],
    ],
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
