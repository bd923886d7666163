/** Words what native code reports in numbers. */
import type { NativeError } from '../addon/addon-types.js'
import { stageName, syscallName } from '../addon/addon-types.js'

export interface SystemFailure {
  stage: ReturnType<typeof stageName>
  /** Negative, as in Node; undefined when no system call failed. */
  errno: number | undefined
  syscall: string | undefined
  index: number | undefined
}

export function systemFailure([stage, syscall, errno, index]: NativeError): SystemFailure {
  return {
    stage: stageName(stage),
    errno: errno === 0 ? undefined : -errno,
    syscall: syscallName(syscall),
    index: index < 0 ? undefined : index,
  }
}
