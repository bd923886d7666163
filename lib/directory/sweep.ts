/** Removes what hosts that are gone have left beneath a private root. */
import type { NativeSweepResult } from '../addon/addon-types.js'
import { runTask } from '../addon/events.js'
import { DirectoryError } from '../base/errors.js'
import type { DirectoryFailure } from './directory-errors.js'
import { failuresIn, rootError, systemFacts } from './directory-errors.js'
import type { RemovalBounds } from './root.js'
import { readRemovalMs, readRoot } from './root.js'

/** What one sweep found, in directories. */
export interface SweepReport {
  readonly removed: number
  /** Their owner lives. */
  readonly kept: number
  /** Not ours, or nothing reliable says whose: untouched. */
  readonly ignored: number
  /** Their owner is dead, and they could not be removed whole in the given time. */
  readonly left: number
  /** The first 16 entries that stayed. */
  readonly failures: readonly DirectoryFailure[]
}

/**
 * Removes the private directories beneath a root whose owners are dead. An owner is told by process number, start time
 * and boot, and by a lock that it holds for as long as it lives: never by age.
 *
 * @throws {SpecError | TypeError} ERR_INVALID_SPEC: field root
 * @throws {DirectoryError} ERR_PRIVATE_ROOT_UNAVAILABLE, ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: no owner can be told
 *   here; nothing was removed
 */
export async function sweepPrivateRoot(root: string, bounds: RemovalBounds = {}): Promise<SweepReport> {
  const path = readRoot(root)
  const timeoutMs = readRemovalMs(bounds)
  const result = await runTask<NativeSweepResult>((native) => native.directorySweep(Buffer.from(path), timeoutMs))
  const failure = rootError(path, result)
  if (failure !== undefined) throw failure
  if (result.error !== undefined) {
    const details = { path, failures: [], ...systemFacts(result.error) }
    throw new DirectoryError('ERR_PRIVATE_DIRECTORY_REMOVE_FAILED', details)
  }
  const { removed, kept, ignored, left } = result
  const failures = failuresIn(path, result.failures).map((entry) => Object.freeze(entry))
  return Object.freeze({ removed, kept, ignored, left, failures: Object.freeze(failures) })
}
