/** The unmeasured slots on a worker before its first measured one. */
import { bounded } from '../base/deadline.js'
import { ExactSpawnError, ReuseError, toError } from '../base/errors.js'
import { EVIDENCE_JSON_MAX_LEVELS as LEVELS } from '../base/limits.js'
import { plainObject } from '../process/plain-object.js'
import { invalid } from '../process/strings.js'
import type { PlannedWarmUp, ReadAttempt, WarmUpExecution, WarmUps, WarmUpVerdict } from './attempt.js'
import type { AttemptRecord } from './attempt-record.js'
import type { JsonObject, JsonValue } from './json.js'
import { readJson } from './json.js'
import type { OwnedWorker } from './owned-worker.js'
import type { CleanupStep } from './slot-cleanup.js'
import { cleanSlot } from './slot-cleanup.js'
import { runSlot } from './slot-session.js'

export interface WarmUpWatch {
  readonly begun: (planned: PlannedWarmUp) => void
  readonly cleaning: (step: CleanupStep) => void
}

/**
 * Runs all planned warm-ups, from index 0: each is executed, judged, and cleaned up after.
 *
 * @throws {ReuseError} ERR_WARM_UP_FAILED {warmUpIndex} with what failed as its cause; nothing is to be measured then
 * @throws {AbortError} ERR_ABORTED
 */
export async function warmUp(
  worker: OwnedWorker,
  attempt: ReadAttempt<unknown>,
  { record, watch, signal }: { record: AttemptRecord; watch: WarmUpWatch; signal: AbortSignal },
): Promise<void> {
  const { warmUps, implementationSeed } = attempt
  for (const [index, slot] of (warmUps?.slots ?? []).entries()) {
    const planned: PlannedWarmUp = Object.freeze({ index, slot, implementationSeed })
    watch.begun(planned)
    const entry = record.beginWarmUp(planned)
    try {
      const execution = await execute(worker, attempt, planned, signal)
      entry.executed(execution)
      const validating = async () => await (warmUps as WarmUps).validate(execution, planned)
      const verdict = readVerdict(await bounded(validating, { signal }, () => new Error('no time is set')))
      entry.judged(verdict)
      if (!verdict.valid) {
        const { reason = 'no reason was given' } = verdict
        throw new ReuseError('ERR_WARM_UP_INVALID', { warmUpIndex: index, reason })
      }
      const left = await cleanSlot(worker, signal, watch.cleaning)
      // Not replaced: a new process would be warmed up the same way, and might never be clean.
      if (left.length > 0) throw new ReuseError('ERR_SLOT_NOT_CLEAN', { left })
    } catch (thrown) {
      const error = toError(thrown)
      entry.failed(error)
      if (signal.aborted && ExactSpawnError.is(error, 'ERR_ABORTED')) throw error
      throw new ReuseError('ERR_WARM_UP_FAILED', { warmUpIndex: index }, { cause: error })
    }
  }
  worker.warmedFor = attempt.specification
}

async function execute(
  worker: OwnedWorker,
  { warmUps, implementationSeed, timeoutMs }: ReadAttempt<unknown>,
  planned: PlannedWarmUp,
  signal: AbortSignal,
): Promise<WarmUpExecution> {
  worker.slots++
  const terms = { implementationSeed, signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  const given = await runSlot(worker.session, terms, (session) => (warmUps as WarmUps).run(session, planned))
  const { measurements, result } = plainObject(given, 'warmUps.run()') as Partial<WarmUpExecution>
  return Object.freeze({
    measurements: readJson(plainObject(measurements, 'warmUps.run().measurements'), 'warmUps.run().measurements', LEVELS) as JsonObject,
    result: readJson(result, 'warmUps.run().result', LEVELS),
  })
}

function readVerdict(given: WarmUpVerdict): { valid: boolean; metrics: JsonValue; reason?: string } {
  const { valid, metrics = null, reason } = plainObject(given, 'warmUps.validate()') as Partial<WarmUpVerdict>
  if (typeof valid !== 'boolean') throw invalid('warmUps.validate().valid', 'must be true or false')
  const why = reason === undefined ? {} : { reason: String(reason) }
  return { valid, metrics: readJson(metrics, 'warmUps.validate().metrics', LEVELS), ...why }
}
