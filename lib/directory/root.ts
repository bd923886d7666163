/** The arguments that every operation on a private root takes, checked before anything happens. */
import { isAbsolute } from 'node:path'
import { deadlineAfter } from '../base/deadline.js'
import { SpecError, SpecTypeError } from '../base/errors.js'
import { DIRECTORY_REMOVE_MS } from '../base/limits.js'

/** How long a removal may take. */
export interface RemovalBounds {
  /** What is left then stays, and is told. Absent: 10 s. */
  timeoutMs?: number | undefined
}

/**
 * Gives the root as an absolute path: a later chdir must not lead a removal elsewhere.
 *
 * @throws {SpecError | TypeError} ERR_INVALID_SPEC
 */
export function readRoot(root: unknown, field = 'root'): string {
  const path = readName(root, field)
  // Not path.resolve: it takes `link/..` for nothing, and the kernel does not.
  return isAbsolute(path) ? path : `${process.cwd()}/${path}`
}

/**
 * Checks a string that goes into a path.
 *
 * @throws {SpecError | TypeError} ERR_INVALID_SPEC
 */
export function readName(value: unknown, field: string): string {
  if (typeof value !== 'string') throw new SpecTypeError('ERR_INVALID_SPEC', { field, reason: 'must be a string' })
  const reason =
    value === ''
      ? 'is empty'
      : value.includes('\0')
        ? 'contains a NUL byte'
        : value.isWellFormed()
          ? undefined
          : 'a lone surrogate cannot be written as bytes'
  if (reason !== undefined) throw new SpecError('ERR_INVALID_SPEC', { field, reason })
  return value
}

/**
 * Gives the whole milliseconds that native code takes; -1 for no limit.
 *
 * @throws {TypeError | RangeError} no bound
 */
export function readRemovalMs({ timeoutMs = DIRECTORY_REMOVE_MS }: RemovalBounds = {}): number {
  deadlineAfter(timeoutMs)
  return timeoutMs === Infinity ? -1 : Math.ceil(timeoutMs)
}
