/**
 * What happens to a worker between two slots, in this order: the deadline of the last slot is off already (slot-session),
 * the worker resets, its directory is emptied and its places are made anew, and then it has to prove to be clean.
 */
import { AbortError, ExactSpawnError, ReuseError } from '../base/errors.js'
import type { LeftBehind, OwnedWorker } from './owned-worker.js'

export type CleanupStep = 'reset' | 'directory' | 'check'

/**
 * Cleans a worker for its next slot, and tells what the last one left in it all the same.
 *
 * @throws {ReuseError} ERR_RESET_FAILED, the cause is the session's error: the worker is gone
 * @throws {DirectoryError} ERR_CLEANUP_FAILED
 * @throws {AbortError} ERR_ABORTED
 */
export async function cleanSlot(
  worker: OwnedWorker,
  signal: AbortSignal,
  tell: (step: CleanupStep) => void,
): Promise<readonly LeftBehind[]> {
  tell('reset')
  try {
    await worker.session.reset({ signal })
  } catch (error) {
    if (ExactSpawnError.is(error, 'ERR_ABORTED')) throw error
    throw new ReuseError('ERR_RESET_FAILED', { pid: worker.process.pid }, { cause: error })
  }
  tell('directory')
  await worker.process.renewDirectory()
  tell('check')
  const left = await worker.leftBehind()
  if (signal.aborted) throw new AbortError('ERR_ABORTED', {}, { cause: signal.reason })
  return left
}
