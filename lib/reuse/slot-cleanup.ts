/**
 * What happens to a worker between two slots, in this order: the deadline of the last slot is off already (slot-session),
 * the worker resets, its directory is emptied and its places are made anew, and then it has to prove to be clean.
 */
import type { ErrorCode } from '../base/errors.js'
import { AbortError, ExactSpawnError, ReuseError } from '../base/errors.js'
import type { LeftBehind, OwnedWorker } from './owned-worker.js'

// What stands on the response pipe where the answer to the reset was to stand: said by the slot before, too late. It cannot
// be told from a reset that answers nonsense; in both cases another worker serves the slot that has done nothing.
const STRAY: readonly ErrorCode[] = [
  'ERR_RESPONSE_EXTRA',
  'ERR_REQUEST_ID_MISMATCH',
  'ERR_REQUEST_ID_INVALID',
  'ERR_FRAME_MALFORMED_JSON',
  'ERR_FRAME_INVALID_UTF8',
  'ERR_FRAME_DUPLICATE_KEY',
  'ERR_FRAME_BYTE_ORDER_MARK',
  'ERR_FRAME_LINE_TOO_LONG',
]

export type CleanupStep = 'reset' | 'directory' | 'check'

/**
 * Cleans a worker for its next slot, and tells what the last one left in it all the same.
 *
 * @throws {ReuseError} ERR_RESET_FAILED, the cause is the session's error: it refused, was late, or died; it is gone
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
    if (STRAY.some((code) => ExactSpawnError.is(error, code))) return ['late_bytes']
    throw new ReuseError('ERR_RESET_FAILED', { pid: worker.process.pid }, { cause: error })
  }
  tell('directory')
  await worker.process.renewDirectory()
  tell('check')
  const left = await worker.leftBehind()
  if (signal.aborted) throw new AbortError('ERR_ABORTED', {}, { cause: signal.reason })
  return left
}
