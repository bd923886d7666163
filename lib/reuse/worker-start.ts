/** The one call of an executor: it is somebody else's code, and is trusted neither to answer nor to give a worker. */
import { onAbort } from '../base/abort-listeners.js'
import { bounded, checkBounds } from '../base/deadline.js'
import { EXECUTOR_ABORT_MS } from '../base/limits.js'
import type { LocalSpawnOptions } from '../executor/local-process-executor.js'
import type { WorkerExecutor } from '../executor/worker-executor.js'
import { wrongType } from '../process/strings.js'
import type { LaunchRecordInput } from '../worker/launch-record.js'
import type { PosixWorkerProcess } from '../worker/posix-worker-process.js'

/** What starts workers for an owner. It heeds its signal: an abort takes the start back. */
export type OwnerExecutor = Pick<WorkerExecutor<PosixWorkerProcess, LocalSpawnOptions>, 'spawn'>

// What this package calls of a worker before it looks any closer.
const CALLS = ['transferEndpoints', 'traces', 'renewDirectory', 'logSnapshot', 'tryWait', Symbol.asyncDispose] as const

/**
 * Starts a worker. After an abort the executor has a moment to take its start back; a worker that comes even later is
 * ended as soon as it is there.
 *
 * @throws as the executor's spawn
 * @throws {SpecTypeError} ERR_INVALID_SPEC: what it gave is no worker of this package
 * @throws {AbortError} ERR_ABORTED: it did not answer
 */
export async function startWorker(
  executor: OwnerExecutor,
  record: LaunchRecordInput,
  options: LocalSpawnOptions & { readonly signal: AbortSignal },
): Promise<PosixWorkerProcess> {
  const { signal } = options
  checkBounds({ signal })
  const unanswered = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const leave = onAbort(signal, () => {
    timer = setTimeout(() => unanswered.abort(signal.reason), EXECUTOR_ABORT_MS)
  })
  let starting: Promise<PosixWorkerProcess> | undefined
  const start = () => (starting = Promise.resolve(executor.spawn(record, options)))
  try {
    const given = await bounded(start, { signal: unanswered.signal }, () => new Error('no time is set'))
    if (isWorker(given)) return given
    throw wrongType('executor.spawn()', 'must give a worker process of this package')
  } catch (error) {
    if (unanswered.signal.aborted) starting?.then(async (late) => await late[Symbol.asyncDispose]()).catch(() => {})
    throw error
  } finally {
    leave()
    clearTimeout(timer)
  }
}

function isWorker(given: unknown): given is PosixWorkerProcess {
  if (typeof given !== 'object' || given === null) return false
  return CALLS.every((name) => typeof (given as Record<PropertyKey, unknown>)[name] === 'function')
}
