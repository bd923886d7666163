/**
 * The closed table of codes: what each one carries, and how it is worded.
 *
 * A code identifies for ever; its message may change any day. `errno` is negative, as in Node. Details are
 * JSON-safe. docs/errors.md says when each code occurs and what to do.
 */
import { inspect } from 'node:util'
import { MESSAGE_MAX_CHARS, MESSAGE_SUBJECT_MAX_CHARS } from './limits.js'
import { errnoName, errnoText } from './system-error.js'

/** The steps of a start that can fail, in the order of native/core/sys_error.h. */
export const STAGES = [
  'pipe',
  'file',
  'clone',
  'sigaction',
  'setsid',
  'setpgid',
  'cgroup',
  'priority',
  'affinity',
  'umask',
  'rlimit',
  'dup-fd',
  'close-fds',
  'groups',
  'gid',
  'uid',
  'chdir',
  'pdeathsig',
  'no-new-privs',
  'sigmask',
  'exec',
  'killed-before-exec',
] as const

export type Stage = (typeof STAGES)[number]

/** The part of an exit record that errors word; the record itself is what they carry. */
export interface ExitFacts {
  readonly code: number | null
  readonly signal: string | null
}

interface SystemFacts {
  errno: number
  syscall: string
}

interface Stayed {
  path: string
  /** Each names what stayed and why, as in `{ path, errno: 'EBUSY' }`. */
  failures: readonly { path: string; errno: string }[]
}

interface PipeFacts {
  /** The host's descriptor, while it was open. */
  fd?: number
  /** Seen from the child. */
  direction: 'childReads' | 'childWrites'
}

type NoFacts = Record<never, never>

/** What a handshake is checked for, in this order. */
export type HandshakeCheck = 'id' | 'version' | 'identity' | 'capability' | 'role' | 'reserved'

interface HostFacts {
  platform: string
  arch: string
  libc: string
  /** Highest Node-API version the runtime offers. */
  napi: string
}

export interface AbortDetails {
  ERR_ABORTED: { exit?: ExitFacts; bytesWritten?: number }
}

export interface SpawnDetails {
  /** `errno` and `syscall` are absent only for stage killed-before-exec, which has `signal`. */
  ERR_SPAWN_FAILED: Partial<SystemFacts> & {
    stage: Stage
    path?: string
    /** Which item of a list failed: a descriptor, a limit, a candidate of the search path. */
    index?: number
    /** The field of the spec that asked for the failed step. */
    field?: string
    hint?: string
    signal?: string
  }
  ERR_COMMAND_CONSUMED: { field: string }
  ERR_PIPE_CREATE_FAILED: SystemFacts
  ERR_LOG_DRAIN_START_FAILED: Partial<SystemFacts> & { stream: number }
}

export interface SpecDetails {
  ERR_INVALID_SPEC: { field: string; reason: string; bytes?: number; limit?: number }
  ERR_INVALID_SIGNAL: { signal: string | number }
  ERR_INVALID_LAUNCH_RECORD: { field: string; reason: string }
  ERR_INVALID_ENVIRONMENT_VARIABLE: { variable: string; reason: string }
  ERR_INVALID_PHASE_TIMEOUTS: { field: string; reason: string }
  ERR_UNDECLARED_SECRET_CHANNEL: { channel: string }
}

export interface SpecTypeDetails {
  ERR_INVALID_LOG_LIMITS: { field: string; reason: string }
}

export interface DirectoryDetails {
  ERR_PRIVATE_ROOT_UNAVAILABLE: Partial<SystemFacts> & { path: string; reason: string }
  ERR_PRIVATE_DIRECTORY_CREATE_FAILED: SystemFacts & { path: string }
  ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: Partial<SystemFacts> & Stayed
  ERR_CLEANUP_FAILED: Partial<SystemFacts> & Stayed
}

export interface LifecycleDetails {
  ERR_WAIT_TIMEOUT: { timeoutMs: number; exit?: ExitFacts }
  ERR_SIGNAL_FAILED: SystemFacts & { signal: string }
  ERR_LOG_DRAIN_DEADLINE: { streams: readonly number[]; deadlineMs: number; exit: ExitFacts }
  /** `lastError` is the name of the last errno a signal met, such as 'EPERM'. */
  ERR_TERMINATION_DEADLINE: { killDeadlineMs: number; lastError?: string; exit?: ExitFacts }
  ERR_PROCESS_GONE: { pid: number }
}

export interface CapabilityDetails {
  ERR_UNSUPPORTED: { capability: string; reason: string }
  ERR_UNSUPPORTED_PLATFORM: HostFacts
  ERR_ADDON_LOAD_FAILED: HostFacts & { tried: readonly { file: string; message: string }[] }
  ERR_UNSUPPORTED_CONTROL: { control: string; reason: string }
  ERR_PREFLIGHT_FAILED: { requirement: string; reason: string }
  ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE: { requirement: string; reason: string }
  /** The cause says which control failed; the exit is its own record. */
  ERR_CONTROL_ENFORCEMENT_LOST: { role: string; exit?: ExitFacts }
}

export interface PipeDetails {
  ERR_PIPE_TIMEOUT: PipeFacts & { timeoutMs: number; bytesWritten?: number }
  ERR_PIPE_CLOSED: PipeFacts & { bytesWritten?: number }
  ERR_PIPE_BUSY: PipeFacts & { operation: 'read' | 'write' }
  ERR_PIPE_WRITE_FAILED: PipeFacts & SystemFacts & { bytesWritten: number }
  ERR_PIPE_READ_FAILED: PipeFacts & SystemFacts
}

export interface ProtocolDetails {
  ERR_FRAME_LINE_TOO_LONG: { limitBytes: number }
  ERR_FRAME_EARLY_EOF: { received: number }
  ERR_FRAME_BYTE_ORDER_MARK: NoFacts
  ERR_FRAME_INVALID_UTF8: { validUpTo: number }
  ERR_FRAME_DUPLICATE_KEY: { key: string }
  /** Both count from 1; `column` counts UTF-16 units. */
  ERR_FRAME_MALFORMED_JSON: { line: number; column: number; reason: string }
  ERR_FRAME_IO: SystemFacts
  ERR_REQUEST_ID_INVALID: NoFacts
  ERR_REQUEST_ID_MISMATCH: { expected: string; actual: string }
  ERR_RESPONSE_EXTRA: { id: string }
  ERR_REQUEST_PENDING: { id: string }
  ERR_HANDSHAKE_FAILED: { check: HandshakeCheck; expected: string; actual: string }
  ERR_MESSAGE_INVALID: { field: string; reason: string }
  ERR_MESSAGE_TOO_LONG: { limitBytes: number; bytes: number }
  ERR_PROTOCOL_WRITE_FAILED: { phase?: string; bytesWritten?: number }
  /** By the worker before an answer, or by this host's own wait. */
  ERR_PROTOCOL_CLOSED: { phase?: string; by: 'worker' | 'host' }
  ERR_PROTOCOL_IO_TRANSFERRED: { endpoint: 'reader' | 'writer' | 'both' }
}

export interface SessionDetails {
  /** A phase is named as the method that begins it. */
  ERR_INVALID_ROLE: { phase: string; role: string }
  ERR_CAPABILITY_NOT_SELECTED: { phase: string; capability: string }
  ERR_PHASE_TIMEOUT: { phase: string; limitMs: number }
  /** The worker's own words, filtered for secrets. */
  ERR_WORKER_FAILURE: { phase: string; workerCode: string; workerMessage: string; workerDetails?: unknown }
  /** The cause is what made it so. */
  ERR_SESSION_UNUSABLE: { phase: string }
  ERR_UNSUCCESSFUL_EXIT: { exit: ExitFacts }
}

export interface ReuseDetails {
  ERR_OWNER_BUSY: { attempt: string; lane?: number }
  ERR_OWNER_ENDED: { lane?: number }
  ERR_PREPARE_REQUIRED: { phase: string }
  ERR_SLOT_ENDED: { phase: string }
  ERR_SLOT_DEADLINE: { limitMs: number }
  ERR_RESET_FAILED: { pid: number }
  /** What the worker had after its reset that it had not after its handshake. */
  ERR_SLOT_NOT_CLEAN: { left: readonly string[] }
  ERR_WARM_UP_FAILED: { warmUpIndex: number }
  ERR_WARM_UP_INVALID: { warmUpIndex: number; reason: string }
  ERR_PUBLICATION_FAILED: { attempt: string }
  ERR_PUBLICATION_TIMEOUT: { limitMs: number }
  ERR_UNKNOWN_CACHE_POLICY: { field: string; policy: string; known: readonly string[] }
  ERR_INCOMPATIBLE_TIMING_POLICY: { field: string; timing: string; reason: string }
}

export interface Details
  extends AbortDetails,
    SpawnDetails,
    SpecDetails,
    SpecTypeDetails,
    DirectoryDetails,
    LifecycleDetails,
    CapabilityDetails,
    PipeDetails,
    ProtocolDetails,
    SessionDetails,
    ReuseDetails {}

export type ErrorCode = keyof Details

/** Words an error: `<operation> <subject>: <why>`, bounded. */
export function messageOf<C extends ErrorCode>(code: C, details: Details[C]): string {
  return cut(words[code](details), MESSAGE_MAX_CHARS)
}

export function knownCode(code: string): code is ErrorCode {
  return Object.hasOwn(words, code)
}

const words: { readonly [C in ErrorCode]: (details: Details[C]) => string } = {
  ERR_ABORTED: ({ bytesWritten }) => `run operation: aborted by its signal${written(bytesWritten)}`,

  ERR_SPAWN_FAILED: ({ stage, errno, path, field, hint, signal }) =>
    `spawn failed at ${stage}${path === undefined ? '' : ` ${quote(path)}`}: ` +
    (signal === undefined ? why(errno) : `by ${signal}`) +
    (field === undefined ? '' : `, asked for by ${field}`) +
    (hint === undefined ? '' : ` (${hint})`),
  ERR_COMMAND_CONSUMED: ({ field }) => `spawn with endpoint ${quote(field)}: it belongs to an earlier start`,
  ERR_PIPE_CREATE_FAILED: ({ errno }) => `create pipe: ${why(errno)}`,
  ERR_LOG_DRAIN_START_FAILED: ({ stream, errno }) => `start drain of fd ${stream}: ${why(errno)}`,

  ERR_INVALID_SPEC: ({ field, reason, bytes, limit }) =>
    `check spec field ${quote(field)}: ${reason}` +
    (bytes === undefined ? '' : `, ${bytes} bytes`) +
    (limit === undefined ? '' : `, limit ${limit}`),
  ERR_INVALID_SIGNAL: ({ signal }) => `check signal ${quote(String(signal))}: no such signal here`,
  ERR_INVALID_LOG_LIMITS: ({ field, reason }) => `check log limit ${quote(field)}: ${reason}`,

  ERR_PRIVATE_ROOT_UNAVAILABLE: ({ path, reason }) => `use private root ${quote(path)}: ${reason}`,
  ERR_PRIVATE_DIRECTORY_CREATE_FAILED: ({ path, errno }) =>
    `create private directory ${quote(path)}: ${why(errno)}`,
  ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: ({ path, failures }) =>
    `remove private directory ${quote(path)}: ${stayed(failures) ?? 'it stayed'}`,
  ERR_CLEANUP_FAILED: ({ path, errno, failures }) =>
    `clean private directory ${quote(path)}: ${stayed(failures) ?? why(errno)}`,

  ERR_WAIT_TIMEOUT: ({ timeoutMs }) => `wait for the child: still running after ${timeoutMs} ms`,
  ERR_SIGNAL_FAILED: ({ signal, errno }) => `send ${signal}: ${why(errno)}`,
  ERR_LOG_DRAIN_DEADLINE: ({ streams, deadlineMs }) =>
    `drain fd ${streams.join(' and ')}: still held open ${deadlineMs} ms after the child's exit`,
  ERR_TERMINATION_DEADLINE: ({ killDeadlineMs, lastError }) =>
    `terminate the child: no exit seen ${killDeadlineMs} ms after SIGKILL` +
    (lastError === undefined ? '' : `, last error ${lastError}`),
  ERR_PROCESS_GONE: ({ pid }) => `reach process ${pid}: it has been reaped`,

  ERR_UNSUPPORTED: ({ capability, reason }) => `use ${quote(capability)}: ${reason}`,
  ERR_UNSUPPORTED_PLATFORM: (host) =>
    `load addon on ${name(host)}: platform not supported; it takes Linux or macOS, x64 or arm64, Node-API 8`,
  ERR_ADDON_LOAD_FAILED: ({ tried, ...host }) =>
    `load addon on ${name(host)}: ` +
    (tried.map(({ file, message }) => `${quote(file)} ${oneLine(message)}`).join('; ') || 'no file to try') +
    '; install the package again on this platform',

  ERR_PIPE_TIMEOUT: ({ timeoutMs, bytesWritten, ...pipe }) =>
    `${io(pipe)}: not done after ${timeoutMs} ms${written(bytesWritten)}`,
  ERR_PIPE_CLOSED: ({ bytesWritten, ...pipe }) => `${io(pipe)}: closed by this host${written(bytesWritten)}`,
  ERR_PIPE_BUSY: ({ operation, ...pipe }) => `${io(pipe)}: another ${operation} is in flight`,
  ERR_PIPE_WRITE_FAILED: ({ errno, bytesWritten, ...pipe }) =>
    `${io(pipe)}: ${why(errno)}${written(bytesWritten)}`,
  ERR_PIPE_READ_FAILED: ({ errno, ...pipe }) => `${io(pipe)}: ${why(errno)}`,

  ERR_FRAME_LINE_TOO_LONG: ({ limitBytes }) => `read frame: no end within ${limitBytes} bytes`,
  ERR_FRAME_EARLY_EOF: ({ received }) => `read frame: the stream ended inside it (bytes received: ${received})`,
  ERR_FRAME_BYTE_ORDER_MARK: () => 'read frame: it begins with a byte order mark',
  ERR_FRAME_INVALID_UTF8: ({ validUpTo }) => `read frame: no UTF-8 after ${validUpTo} bytes`,
  ERR_FRAME_DUPLICATE_KEY: ({ key }) => `read frame: an object has the key ${quote(key)} twice`,
  ERR_FRAME_MALFORMED_JSON: ({ line, column, reason }) => `read frame at ${line}:${column}: ${reason}`,
  ERR_FRAME_IO: ({ errno }) => `read frame: ${why(errno)}`,
  ERR_REQUEST_ID_INVALID: () => 'match response: it has no id, or one that is no string',
  ERR_REQUEST_ID_MISMATCH: ({ expected, actual }) =>
    `match response ${quote(actual)}: the pending request is ${quote(expected)}`,
  ERR_RESPONSE_EXTRA: ({ id }) => `match response ${quote(id)}: no request is pending`,
  ERR_REQUEST_PENDING: ({ id }) => `begin request: ${quote(id)} has no response yet`,
  ERR_HANDSHAKE_FAILED: ({ check, expected, actual }) =>
    `shake hands: check of ${check} expected ${quote(expected)}, not ${quote(actual)}`,
  ERR_MESSAGE_INVALID: ({ field, reason }) => `check message field ${quote(field)}: ${reason}`,
  ERR_MESSAGE_TOO_LONG: ({ limitBytes, bytes }) => `encode message: ${bytes} bytes, limit ${limitBytes}`,

  ERR_INVALID_LAUNCH_RECORD: ({ field, reason }) => `check launch record field ${quote(field)}: ${reason}`,
  ERR_INVALID_ENVIRONMENT_VARIABLE: ({ variable, reason }) => `check environment variable ${quote(variable)}: ${reason}`,
  ERR_INVALID_PHASE_TIMEOUTS: ({ field, reason }) => `check phase timeout ${quote(field)}: ${reason}`,
  ERR_UNDECLARED_SECRET_CHANNEL: ({ channel }) => `give secret to channel ${quote(channel)}: the record declares none`,

  ERR_UNSUPPORTED_CONTROL: ({ control, reason }) => `use control ${quote(control)}: ${reason}`,
  ERR_PREFLIGHT_FAILED: ({ requirement, reason }) => `meet requirement ${quote(requirement)}: ${reason}`,
  ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE: ({ requirement, reason }) =>
    `meet requirement ${quote(requirement)}: ${reason}`,
  ERR_CONTROL_ENFORCEMENT_LOST: ({ role }) => `end worker in role ${quote(role)}: enforcement of a control was lost`,

  ERR_PROTOCOL_WRITE_FAILED: ({ phase, bytesWritten }) =>
    `${phase === undefined ? 'write to protocol pipe' : `send request of ${quote(phase)}`}: the pipe failed` +
    written(bytesWritten),
  ERR_PROTOCOL_CLOSED: ({ phase, by }) =>
    `${phase === undefined ? 'use protocol pipes' : `await response of ${quote(phase)}`}: closed by the ${by}`,
  ERR_PROTOCOL_IO_TRANSFERRED: ({ endpoint }) => `use protocol ${endpoint}: a session owns the endpoints`,

  ERR_CAPABILITY_NOT_SELECTED: ({ phase, capability }) =>
    `begin ${quote(phase)}: the plan did not select ${quote(capability)}`,
  ERR_PHASE_TIMEOUT: ({ phase, limitMs }) => `run phase ${quote(phase)}: not done after ${limitMs} ms`,
  ERR_WORKER_FAILURE: ({ phase, workerCode, workerMessage }) =>
    `run phase ${quote(phase)}: the worker answered ${workerCode}, ${quote(workerMessage)}`,
  ERR_SESSION_UNUSABLE: ({ phase }) => `begin phase ${quote(phase)}: the session ended by an earlier failure`,
  ERR_UNSUCCESSFUL_EXIT: ({ exit }) =>
    `end worker: it exited with ${exit.signal ?? exit.code ?? 'an unknown status'}`,
  ERR_INVALID_ROLE: ({ phase, role }) => `begin ${quote(phase)}: not for a worker in role ${quote(role)}`,

  ERR_OWNER_BUSY: ({ attempt, lane }) => `run attempt ${quote(attempt)}${onLane(lane)}: another one runs`,
  ERR_OWNER_ENDED: ({ lane }) => `run attempt${onLane(lane)}: the owner has ended`,
  ERR_PREPARE_REQUIRED: ({ phase }) => `begin ${quote(phase)}: this slot has prepared nothing`,
  ERR_SLOT_ENDED: ({ phase }) => `begin ${quote(phase)}: the slot has ended, and its session is another one's`,
  ERR_SLOT_DEADLINE: ({ limitMs }) => `run slot: not done after ${limitMs} ms`,
  ERR_RESET_FAILED: ({ pid }) => `reset worker ${pid}: it cannot be used again`,
  ERR_SLOT_NOT_CLEAN: ({ left }) => `clean worker after its slot: ${left.join(', ')}`,
  ERR_WARM_UP_FAILED: ({ warmUpIndex }) => `warm up at index ${warmUpIndex}: it failed, so nothing is measured`,
  ERR_WARM_UP_INVALID: ({ warmUpIndex, reason }) =>
    `validate warm-up at index ${warmUpIndex}: ${quote(reason)}`,
  ERR_PUBLICATION_FAILED: ({ attempt }) => `publish evidence of attempt ${quote(attempt)}: it is not durable`,
  ERR_PUBLICATION_TIMEOUT: ({ limitMs }) => `publish evidence: the publisher was not done after ${limitMs} ms`,
  ERR_UNKNOWN_CACHE_POLICY: ({ field, policy, known }) =>
    `check policy field ${quote(field)}: ${quote(policy)} is no cache policy; there is ${known.join(', ')}`,
  ERR_INCOMPATIBLE_TIMING_POLICY: ({ field, timing, reason }) =>
    `check policy field ${quote(field)} with timing ${quote(timing)}: ${reason}`,
}

// A subject comes from outside: inspect quotes it and escapes what could forge a second log line.
function quote(subject: string): string {
  return inspect(cut(subject, MESSAGE_SUBJECT_MAX_CHARS), { breakLength: Infinity })
}

function oneLine(text: string): string {
  return cut(text.replace(/\s+/g, ' ').trim(), MESSAGE_SUBJECT_MAX_CHARS)
}

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  // Half a surrogate pair is no character: UTF-8 would turn it into a replacement mark.
  return `${text.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

function why(errno: number | undefined): string {
  return errno === undefined ? 'no errno' : [errnoName(errno), errnoText(errno)].filter(Boolean).join(', ')
}

function onLane(lane: number | undefined): string {
  return lane === undefined ? '' : ` on lane ${lane}`
}

function stayed([first, ...more]: Stayed['failures']): string | undefined {
  if (first === undefined) return undefined
  return `${quote(first.path)} stayed by ${first.errno}` + (more.length === 0 ? '' : `, and ${more.length} more`)
}

function written(bytes: number | undefined): string {
  return bytes === undefined ? '' : ` (bytes written: ${bytes})`
}

function name({ platform, arch, libc, napi }: HostFacts): string {
  return `${platform}-${arch} (${libc}, Node-API ${napi})`
}

function io({ fd, direction }: PipeFacts): string {
  const operation = direction === 'childReads' ? 'write to pipe' : 'read from pipe'
  return fd === undefined ? operation : `${operation} at fd ${fd}`
}
