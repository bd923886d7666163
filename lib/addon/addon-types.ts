/**
 * The native surface, typed. Numbers where native code has enums; the lists below give them their names, in the
 * same order as the headers named beside each.
 */
import type { Stage } from '../base/errors.js'
import { STAGES } from '../base/errors.js'

/** [stage, syscall, errno, index], as native code reports a failure; errno is positive there. */
export type NativeError = readonly [stage: number, syscall: number, errno: number, index: number]

/** native/core/sys_error.h, enum Syscall. */
const SYSCALLS = [
  '',
  'pipe2',
  'fcntl',
  'open',
  'memfd_create',
  'write',
  'clone',
  'clone3',
  'mmap',
  'pthread_create',
  'epoll_create1',
  'epoll_ctl',
  'eventfd2',
  'rt_sigaction',
  'setsid',
  'setpgid',
  'setpriority',
  'sched_setaffinity',
  'umask',
  'prlimit64',
  'dup3',
  'close_range',
  'setgroups',
  'setresgid',
  'setresuid',
  'chdir',
  'prctl',
  'getppid',
  'rt_sigprocmask',
  'execve',
  'kill',
  'pidfd_send_signal',
  'waitid',
  'read',
  'mkdirat',
  'openat',
  'fstatat',
  'fchmod',
  'unlinkat',
  'getdents64',
  'getrandom',
  'renameat',
] as const

/** Names the native stage; 0 is none. */
export function stageName(stage: number): Stage | undefined {
  return STAGES[stage - 1]
}

/** Names the native system call; undefined when none failed. */
export function syscallName(syscall: number): string | undefined {
  return SYSCALLS[syscall] || undefined
}

/** native/core/spawn.h, enum Mechanism. */
export const MECHANISMS = ['clone3', 'clone', 'fork', 'posix_spawn'] as const
export type Mechanism = (typeof MECHANISMS)[number]

/** native/core/lifecycle.h, enum EndedBy. */
export const ENDED_BY = ['self', 'terminate', 'kill', 'timeout', 'abort', 'drop', 'unknown'] as const
export type EndedBy = (typeof ENDED_BY)[number]

/** native/core/event.h, enum EventType. */
export const EVENT = {
  started: 1,
  startFailed: 2,
  exited: 3,
  settled: 4,
  endDeadline: 5,
  pipeReady: 6,
  taskDone: 7,
} as const

/** Doubles one event takes: type, id, fields. native/core/event.h, kEventFields + 2. */
export const EVENT_STRIDE = 21

/** The most events that one call into JS tells. native/binding/environment.cpp, kBatch. */
export const EVENT_BATCH = 16

/** native/core/reactor.h, enum Interest. */
export const INTEREST = { readable: 1, writable: 2, hangup: 4 } as const

/** native/binding/child_binding.cpp, enum PackedKind. */
export const SOURCE = { none: 0, held: 1, heldFile: 2, bytes: 3, capture: 4, sameAs: 5 } as const

/** native/core/group_mode.h. */
export const GROUP = { new: 0, session: 1, inherit: 2, join: 3 } as const

/** native/core/private_dir.h, enum RootProblem. */
export const ROOT_PROBLEMS = [
  '',
  'missing',
  'not a directory',
  'a symbolic link',
  'owned by another user',
  'writable by others and not sticky',
  'unreadable',
] as const

export interface NativePipe {
  host: number
  fd: number
  endpoint: number
  /** Whether the event loop itself waits for the host's end. */
  loopWatched: boolean
}

export interface NativeCapabilities {
  sharedMemoryClone: boolean
  clone3: boolean
  pidfd: boolean
  pidfdGroupSignal: boolean
  pidfdExitInfo: boolean
  closeRange: boolean
  memfdExec: boolean
}

export interface NativeDirectoryFailure {
  path: string
  syscall: number
  errno: number
}

export interface NativeDirectoryResult {
  rootProblem?: number
  error?: NativeError
}

export interface NativeCreateResult extends NativeDirectoryResult {
  name: string
  path: string
  directory: number
}

export interface NativeRemoveResult extends NativeDirectoryResult {
  complete: boolean
  deadlinePassed: boolean
  failed: number
  failures: NativeDirectoryFailure[]
}

export interface NativeSweepResult extends NativeDirectoryResult {
  removed: number
  kept: number
  ignored: number
  left: number
  failures: NativeDirectoryFailure[]
}

/** Takes mechanisms away, for tests of the fallbacks. Process-wide; an empty object gives all back. */
export interface TestHooks {
  noClone3?: boolean
  forceFork?: boolean
  noPidfd?: boolean
  noGroupPidfd?: boolean
  noExitInfo?: boolean
  noCloseRange?: boolean
  noMemfdExec?: boolean
  /** The reactor watches pipes, as where the event loop is not libuv's; of pipes that are made from then on. */
  noLoopWatch?: boolean
  delayBeforeExecMs?: number
}

export interface NativeAddon {
  /**
   * `batch` holds EVENT_BATCH events; native code writes there how they are told next, and keeps it. `onPipeReady` hears of
   * pipes from the event loop itself; null where that may not be asked.
   */
  attach(
    batch: Float64Array,
    onEvents: (count: number) => void,
    onPipeReady: ((pipe: number, interest: number) => void) | null,
  ): boolean
  setReferenced(referenced: boolean): void
  /** The loop has turned since the last batch of events. */
  turned(): void

  /** Takes what lib/process/packed-start.ts laid. */
  spawn(numbers: Float64Array, bytes: Uint8Array): number | NativeError
  cancelStart(child: number): void
  forget(child: number): void
  drop(child: number): void
  /** As drop, but the end is still told. */
  dispose(child: number): void
  setWaiting(child: number, waiting: boolean): void
  signal(child: number, signal: number, toGroup: boolean): number
  kill(child: number, cause: number): number
  end(child: number, cause: number, firstSignal: number, graceMs: number, killDeadlineMs: number): void
  peek(child: number): readonly [code: number, signal: number, coreDumped: number, known: number] | null
  /** Gives the bytes that are kept, and writes into `facts`: size of the head, total, omitted, complete. */
  log(child: number, target: number, facts: Float64Array): Uint8Array | null
  endChildren(waitMs: number): void

  createPipe(childReads: boolean): NativePipe | NativeError
  /** Bytes read, 0 at the end, or a negative errno. */
  pipeRead(pipe: number, into: Uint8Array): number
  pipeWrite(pipe: number, bytes: Uint8Array, offset: number): number
  pipeArm(pipe: number, interest: number): number
  pipeDisarm(pipe: number, interest: number): void
  pipeTake(pipe: number): number
  pipeClose(pipe: number): void
  /** The number of a copy that native code holds for a start, or a negative errno. */
  holdFd(fd: number): number
  /** Closes what is held and no start wants. */
  dropFd(held: number): void

  directoryCreate(root: Uint8Array, prefix: Uint8Array): number
  directoryRemove(directory: number, root: Uint8Array, name: Uint8Array, timeoutMs: number): number
  directoryRemoveNow(directory: number, root: Uint8Array, name: Uint8Array, timeoutMs: number): void
  directoryEmpty(directory: number, timeoutMs: number): number
  directorySweep(root: Uint8Array, timeoutMs: number): number
  taskResult(task: number): unknown

  capabilities(): number
  groupMembers(pgid: number): number
  setTestHooks(hooks: TestHooks): void
  /** Status flags of fcntl(2), or a negative errno. */
  fdStatus(fd: number): number
  limit(resource: number): readonly [soft: number, hard: number]
}
