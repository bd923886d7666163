/** What native code says of directories, as errors. */
import type { NativeDirectoryFailure, NativeDirectoryResult } from '../addon/addon-types.js'
import { ROOT_PROBLEMS, syscallName } from '../addon/addon-types.js'
import { DirectoryError, errnoName } from '../base/errors.js'

/** One entry that stayed, and why. */
export interface DirectoryFailure {
  readonly path: string
  /** The name of an errno, such as 'EBUSY'. */
  readonly errno: string
}

/** The error of an unusable root, or undefined when the root is none of the trouble. */
export function rootError(root: string, { rootProblem = 0, error }: NativeDirectoryResult): DirectoryError | undefined {
  const reason = ROOT_PROBLEMS[rootProblem]
  if (!reason) return undefined
  return new DirectoryError('ERR_PRIVATE_ROOT_UNAVAILABLE', { path: root, reason, ...systemFacts(error) })
}

/** errno and syscall as Node has them, or nothing when no system call failed. */
export function systemFacts(error: NativeDirectoryResult['error']): { errno?: number; syscall?: string } {
  const syscall = syscallName(error?.[1] ?? 0)
  return error === undefined || syscall === undefined ? {} : { errno: -error[2], syscall }
}

/** The entries that stayed, beneath the root. */
export function failuresIn(root: string, failures: readonly NativeDirectoryFailure[]): DirectoryFailure[] {
  return failures.map(({ path, errno }) => ({ path: `${root}/${path}`, errno: errnoName(-errno) }))
}
