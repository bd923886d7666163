/** What every code is worded as: the table of errors.test.ts. */
import {
  AbortError,
  CapabilityError,
  DirectoryError,
  LifecycleError,
  PipeError,
  ProtocolError,
  ReuseError,
  SessionError,
  SpawnError,
  SpecError,
  SpecTypeError,
  type ErrorCode,
  type ErrorOf,
} from '../../lib/base/errors.js'

export const exit = Object.freeze({ code: 7, signal: null })
const diskFull = { errno: -28, syscall: 'mkdirat' }
const host = { platform: 'linux', arch: 'x64', libc: 'musl', napi: '9' }
const noReader = { errno: -32, syscall: 'write' }
const noRoom = { errno: -24, syscall: 'pipe2' }

/** One error of every code, with its class and its whole message. */
export const errorSamples: { [C in ErrorCode]: [error: ErrorOf<C>, Class: { prototype: Error }, message: string] } = {
  ERR_ABORTED: [
    new AbortError('ERR_ABORTED', { bytesWritten: 3 }),
    AbortError,
    'run operation: aborted by its signal (bytes written: 3)',
  ],
  ERR_SPAWN_FAILED: [
    new SpawnError('ERR_SPAWN_FAILED', {
      stage: 'exec',
      errno: -2,
      syscall: 'execve',
      path: '/bin/no',
      field: 'program',
      index: 1,
      hint: 'no interpreter',
    }),
    SpawnError,
    "spawn failed at exec '/bin/no': ENOENT, no such file or directory, " +
      'asked for by program (no interpreter)',
  ],
  ERR_COMMAND_CONSUMED: [
    new SpawnError('ERR_COMMAND_CONSUMED', { field: 'fds[3]' }),
    SpawnError,
    "spawn with endpoint 'fds[3]': it belongs to an earlier start",
  ],
  ERR_PIPE_CREATE_FAILED: [
    new SpawnError('ERR_PIPE_CREATE_FAILED', noRoom),
    SpawnError,
    'create pipe: EMFILE, too many open files',
  ],
  ERR_LOG_DRAIN_START_FAILED: [
    new SpawnError('ERR_LOG_DRAIN_START_FAILED', { stream: 1, ...noRoom }),
    SpawnError,
    'start drain of fd 1: EMFILE, too many open files',
  ],
  ERR_INVALID_SPEC: [
    new SpecError('ERR_INVALID_SPEC', { field: 'args[3]', reason: 'too long', bytes: 9, limit: 8 }),
    SpecError,
    "check spec field 'args[3]': too long, 9 bytes, limit 8",
  ],
  ERR_INVALID_SIGNAL: [
    new SpecError('ERR_INVALID_SIGNAL', { signal: 'SIGNOPE' }),
    SpecError,
    "check signal 'SIGNOPE': no such signal here",
  ],
  ERR_INVALID_LOG_LIMITS: [
    new SpecTypeError('ERR_INVALID_LOG_LIMITS', { field: 'stdoutBytes', reason: 'must be 0 or more' }),
    SpecTypeError,
    "check log limit 'stdoutBytes': must be 0 or more",
  ],
  ERR_PRIVATE_ROOT_UNAVAILABLE: [
    new DirectoryError('ERR_PRIVATE_ROOT_UNAVAILABLE', { path: '/srv', reason: 'open to other users' }),
    DirectoryError,
    "use private root '/srv': open to other users",
  ],
  ERR_PRIVATE_DIRECTORY_CREATE_FAILED: [
    new DirectoryError('ERR_PRIVATE_DIRECTORY_CREATE_FAILED', { path: '/srv/a', ...diskFull }),
    DirectoryError,
    "create private directory '/srv/a': ENOSPC, no space left on device",
  ],
  ERR_PRIVATE_DIRECTORY_REMOVE_FAILED: [
    new DirectoryError('ERR_PRIVATE_DIRECTORY_REMOVE_FAILED', {
      path: '/srv/a',
      failures: [
        { path: 'b', errno: 'EBUSY' },
        { path: 'c', errno: 'EPERM' },
      ],
    }),
    DirectoryError,
    "remove private directory '/srv/a': 'b' stayed by EBUSY, and 1 more",
  ],
  ERR_CLEANUP_FAILED: [
    new DirectoryError('ERR_CLEANUP_FAILED', { path: '/srv/a', failures: [{ path: '/srv/a/b', errno: 'EBUSY' }] }),
    DirectoryError,
    "clean private directory '/srv/a': '/srv/a/b' stayed by EBUSY",
  ],
  ERR_WAIT_TIMEOUT: [
    new LifecycleError('ERR_WAIT_TIMEOUT', { timeoutMs: 5 }),
    LifecycleError,
    'wait for the child: still running after 5 ms',
  ],
  ERR_SIGNAL_FAILED: [
    new LifecycleError('ERR_SIGNAL_FAILED', { signal: 'SIGINT', errno: -1, syscall: 'pidfd_send_signal' }),
    LifecycleError,
    'send SIGINT: EPERM, operation not permitted',
  ],
  ERR_LOG_DRAIN_DEADLINE: [
    new LifecycleError('ERR_LOG_DRAIN_DEADLINE', { streams: [1, 2], deadlineMs: 1000, exit }),
    LifecycleError,
    "drain fd 1 and 2: still held open 1000 ms after the child's exit",
  ],
  ERR_TERMINATION_DEADLINE: [
    new LifecycleError('ERR_TERMINATION_DEADLINE', { killDeadlineMs: 1000, lastError: 'EPERM' }),
    LifecycleError,
    'terminate the child: no exit seen 1000 ms after SIGKILL, last error EPERM',
  ],
  ERR_PROCESS_GONE: [
    new LifecycleError('ERR_PROCESS_GONE', { pid: 77 }),
    LifecycleError,
    'reach process 77: it has been reaped',
  ],
  ERR_UNSUPPORTED: [
    new CapabilityError('ERR_UNSUPPORTED', { capability: 'cgroup', reason: 'no cgroup v2 here' }),
    CapabilityError,
    "use 'cgroup': no cgroup v2 here",
  ],
  ERR_UNSUPPORTED_PLATFORM: [
    new CapabilityError('ERR_UNSUPPORTED_PLATFORM', host),
    CapabilityError,
    'load addon on linux-x64 (musl, Node-API 9): platform not supported; ' +
      'it takes Linux or macOS, x64 or arm64, Node-API 8',
  ],
  ERR_ADDON_LOAD_FAILED: [
    new CapabilityError('ERR_ADDON_LOAD_FAILED', {
      ...host,
      tried: [
        { file: '/a.node', message: 'cannot\n open' },
        { file: '/b.node', message: 'wrong machine' },
      ],
    }),
    CapabilityError,
    "load addon on linux-x64 (musl, Node-API 9): '/a.node' cannot open; '/b.node' wrong machine; " +
      'install the package again on this platform',
  ],
  ERR_PIPE_TIMEOUT: [
    new PipeError('ERR_PIPE_TIMEOUT', { fd: 9, direction: 'childReads', timeoutMs: 20, bytesWritten: 1 }),
    PipeError,
    'write to pipe at fd 9: not done after 20 ms (bytes written: 1)',
  ],
  ERR_PIPE_CLOSED: [
    new PipeError('ERR_PIPE_CLOSED', { direction: 'childWrites' }),
    PipeError,
    'read from pipe: closed by this host',
  ],
  ERR_PIPE_BUSY: [
    new PipeError('ERR_PIPE_BUSY', { fd: 9, direction: 'childWrites', operation: 'read' }),
    PipeError,
    'read from pipe at fd 9: another read is in flight',
  ],
  ERR_PIPE_WRITE_FAILED: [
    new PipeError('ERR_PIPE_WRITE_FAILED', { direction: 'childReads', ...noReader, bytesWritten: 0 }),
    PipeError,
    'write to pipe: EPIPE, broken pipe (bytes written: 0)',
  ],
  ERR_PIPE_READ_FAILED: [
    new PipeError('ERR_PIPE_READ_FAILED', { direction: 'childWrites', errno: -5, syscall: 'read' }),
    PipeError,
    'read from pipe: EIO, i/o error',
  ],
  ERR_FRAME_LINE_TOO_LONG: [
    new ProtocolError('ERR_FRAME_LINE_TOO_LONG', { limitBytes: 9 }),
    ProtocolError,
    'read frame: no end within 9 bytes',
  ],
  ERR_FRAME_EARLY_EOF: [
    new ProtocolError('ERR_FRAME_EARLY_EOF', { received: 3 }),
    ProtocolError,
    'read frame: the stream ended inside it (bytes received: 3)',
  ],
  ERR_FRAME_BYTE_ORDER_MARK: [
    new ProtocolError('ERR_FRAME_BYTE_ORDER_MARK', {}),
    ProtocolError,
    'read frame: it begins with a byte order mark',
  ],
  ERR_FRAME_INVALID_UTF8: [
    new ProtocolError('ERR_FRAME_INVALID_UTF8', { validUpTo: 4 }),
    ProtocolError,
    'read frame: no UTF-8 after 4 bytes',
  ],
  ERR_FRAME_DUPLICATE_KEY: [
    new ProtocolError('ERR_FRAME_DUPLICATE_KEY', { key: 'a\n' }),
    ProtocolError,
    "read frame: an object has the key 'a\\n' twice",
  ],
  ERR_FRAME_MALFORMED_JSON: [
    new ProtocolError('ERR_FRAME_MALFORMED_JSON', { line: 1, column: 5, reason: 'no value' }),
    ProtocolError,
    'read frame at 1:5: no value',
  ],
  ERR_FRAME_IO: [
    new ProtocolError('ERR_FRAME_IO', { errno: -5, syscall: 'read' }),
    ProtocolError,
    'read frame: EIO, i/o error',
  ],
  ERR_REQUEST_ID_INVALID: [
    new ProtocolError('ERR_REQUEST_ID_INVALID', {}),
    ProtocolError,
    'match response: it has no id, or one that is no string',
  ],
  ERR_REQUEST_ID_MISMATCH: [
    new ProtocolError('ERR_REQUEST_ID_MISMATCH', { expected: '1', actual: '7' }),
    ProtocolError,
    "match response '7': the pending request is '1'",
  ],
  ERR_RESPONSE_EXTRA: [
    new ProtocolError('ERR_RESPONSE_EXTRA', { id: '1' }),
    ProtocolError,
    "match response '1': no request is pending",
  ],
  ERR_REQUEST_PENDING: [
    new ProtocolError('ERR_REQUEST_PENDING', { id: '1' }),
    ProtocolError,
    "begin request: '1' has no response yet",
  ],
  ERR_HANDSHAKE_FAILED: [
    new ProtocolError('ERR_HANDSHAKE_FAILED', { check: 'version', expected: '1', actual: '2' }),
    ProtocolError,
    "shake hands: check of version expected '1', not '2'",
  ],
  ERR_MESSAGE_INVALID: [
    new ProtocolError('ERR_MESSAGE_INVALID', { field: 'sdk', reason: 'missing' }),
    ProtocolError,
    "check message field 'sdk': missing",
  ],
  ERR_MESSAGE_TOO_LONG: [
    new ProtocolError('ERR_MESSAGE_TOO_LONG', { limitBytes: 8, bytes: 9 }),
    ProtocolError,
    'encode message: 9 bytes, limit 8',
  ],
  ERR_INVALID_LAUNCH_RECORD: [
    new SpecError('ERR_INVALID_LAUNCH_RECORD', { field: 'program', reason: 'must be a string' }),
    SpecError,
    "check launch record field 'program': must be a string",
  ],
  ERR_INVALID_ENVIRONMENT_VARIABLE: [
    new SpecError('ERR_INVALID_ENVIRONMENT_VARIABLE', { variable: 'TZ', reason: 'is fixed for every worker' }),
    SpecError,
    "check environment variable 'TZ': is fixed for every worker",
  ],
  ERR_INVALID_PHASE_TIMEOUTS: [
    new SpecError('ERR_INVALID_PHASE_TIMEOUTS', { field: 'reset', reason: 'is required' }),
    SpecError,
    "check phase timeout 'reset': is required",
  ],
  ERR_UNDECLARED_SECRET_CHANNEL: [
    new SpecError('ERR_UNDECLARED_SECRET_CHANNEL', { channel: 'token' }),
    SpecError,
    "give secret to channel 'token': the record declares none",
  ],
  ERR_UNSUPPORTED_CONTROL: [
    new CapabilityError('ERR_UNSUPPORTED_CONTROL', { control: 'limits', reason: "is the executor's" }),
    CapabilityError,
    "use control 'limits': is the executor's",
  ],
  ERR_PREFLIGHT_FAILED: [
    new CapabilityError('ERR_PREFLIGHT_FAILED', { requirement: 'cgroupContainment', reason: 'no cgroup was given' }),
    CapabilityError,
    "meet requirement 'cgroupContainment': no cgroup was given",
  ],
  ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE: [
    new CapabilityError('ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE', { requirement: 'tree', reason: 'setsid leaves it' }),
    CapabilityError,
    "meet requirement 'tree': setsid leaves it",
  ],
  ERR_CONTROL_ENFORCEMENT_LOST: [
    new CapabilityError('ERR_CONTROL_ENFORCEMENT_LOST', { role: 'implementation', exit }),
    CapabilityError,
    "end worker in role 'implementation': enforcement of a control was lost",
  ],
  ERR_PROTOCOL_WRITE_FAILED: [
    new ProtocolError('ERR_PROTOCOL_WRITE_FAILED', { phase: 'execute', bytesWritten: 3 }),
    ProtocolError,
    "send request of 'execute': the pipe failed (bytes written: 3)",
  ],
  ERR_PROTOCOL_CLOSED: [
    new ProtocolError('ERR_PROTOCOL_CLOSED', { phase: 'execute', by: 'worker' }),
    ProtocolError,
    "await response of 'execute': closed by the worker",
  ],
  ERR_PROTOCOL_IO_TRANSFERRED: [
    new ProtocolError('ERR_PROTOCOL_IO_TRANSFERRED', { endpoint: 'reader' }),
    ProtocolError,
    'use protocol reader: a session owns the endpoints',
  ],
  ERR_CAPABILITY_NOT_SELECTED: [
    new SessionError('ERR_CAPABILITY_NOT_SELECTED', { phase: 'execute', capability: 'one_shot' }),
    SessionError,
    "begin 'execute': the plan did not select 'one_shot'",
  ],
  ERR_PHASE_TIMEOUT: [
    new SessionError('ERR_PHASE_TIMEOUT', { phase: 'reset', limitMs: 20 }),
    SessionError,
    "run phase 'reset': not done after 20 ms",
  ],
  ERR_WORKER_FAILURE: [
    new SessionError('ERR_WORKER_FAILURE', { phase: 'reset', workerCode: 'internal_error', workerMessage: 'no' }),
    SessionError,
    "run phase 'reset': the worker answered internal_error, 'no'",
  ],
  ERR_SESSION_UNUSABLE: [
    new SessionError('ERR_SESSION_UNUSABLE', { phase: 'reset' }),
    SessionError,
    "begin phase 'reset': the session ended by an earlier failure",
  ],
  ERR_UNSUCCESSFUL_EXIT: [
    new SessionError('ERR_UNSUCCESSFUL_EXIT', { exit }),
    SessionError,
    'end worker: it exited with 7',
  ],
  ERR_INVALID_ROLE: [
    new SessionError('ERR_INVALID_ROLE', { phase: 'reset', role: 'evaluator' }),
    SessionError,
    "begin 'reset': not for a worker in role 'evaluator'",
  ],
  ERR_UNKNOWN_CACHE_POLICY: [
    new ReuseError('ERR_UNKNOWN_CACHE_POLICY', { field: 'policy.cachePolicy', policy: 'all', known: ['none'] }),
    ReuseError,
    "check policy field 'policy.cachePolicy': 'all' is no cache policy; there is none",
  ],
  ERR_INCOMPATIBLE_TIMING_POLICY: [
    new ReuseError('ERR_INCOMPATIBLE_TIMING_POLICY', { field: 'policy.warmUps', timing: 'cold', reason: 'must be 0' }),
    ReuseError,
    "check policy field 'policy.warmUps' with timing 'cold': must be 0",
  ],
  ERR_OWNER_BUSY: [
    new ReuseError('ERR_OWNER_BUSY', { attempt: 'b', lane: 2 }),
    ReuseError,
    "run attempt 'b' on lane 2: another one runs",
  ],
  ERR_OWNER_ENDED: [new ReuseError('ERR_OWNER_ENDED', {}), ReuseError, 'run attempt: the owner has ended'],
  ERR_PREPARE_REQUIRED: [
    new ReuseError('ERR_PREPARE_REQUIRED', { phase: 'execute' }),
    ReuseError,
    "begin 'execute': this slot has prepared nothing",
  ],
  ERR_SLOT_ENDED: [
    new ReuseError('ERR_SLOT_ENDED', { phase: 'execute' }),
    ReuseError,
    "begin 'execute': the slot has ended, and its session is another one's",
  ],
  ERR_SLOT_DEADLINE: [
    new ReuseError('ERR_SLOT_DEADLINE', { limitMs: 20 }),
    ReuseError,
    'run slot: not done after 20 ms',
  ],
  ERR_RESET_FAILED: [
    new ReuseError('ERR_RESET_FAILED', { pid: 77 }),
    ReuseError,
    'reset worker 77: it cannot be used again',
  ],
  ERR_SLOT_NOT_CLEAN: [
    new ReuseError('ERR_SLOT_NOT_CLEAN', { left: ['processes_left', 'late_bytes'] }),
    ReuseError,
    'clean worker after its slot: processes_left, late_bytes',
  ],
  ERR_WARM_UP_FAILED: [
    new ReuseError('ERR_WARM_UP_FAILED', { warmUpIndex: 1 }),
    ReuseError,
    'warm up at index 1: it failed, so nothing is measured',
  ],
  ERR_WARM_UP_INVALID: [
    new ReuseError('ERR_WARM_UP_INVALID', { warmUpIndex: 0, reason: 'not sorted' }),
    ReuseError,
    "validate warm-up at index 0: 'not sorted'",
  ],
  ERR_PUBLICATION_FAILED: [
    new ReuseError('ERR_PUBLICATION_FAILED', { attempt: 'a' }),
    ReuseError,
    "publish evidence of attempt 'a': it is not durable",
  ],
  ERR_PUBLICATION_TIMEOUT: [
    new ReuseError('ERR_PUBLICATION_TIMEOUT', { limitMs: 5 }),
    ReuseError,
    'publish evidence: the publisher was not done after 5 ms',
  ],
}
