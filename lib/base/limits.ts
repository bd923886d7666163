/** Every default bound, once, with its unit in its name. docs/limits.md is generated from this file. */

/** Bytes in a kibibyte, for limits that read well: `64 * KiB`. */
export const KiB = 1024

/** Bytes in a mebibyte. */
export const MiB = 1024 * KiB

// Ends

/** What the log drains share to reach EOF after the exit: a descendant may hold a pipe for ever. */
export const DRAIN_MS = 1_000

/** What `terminate` gives the group between its first signal and SIGKILL: time to flush and close. */
export const GRACE_MS = 2_000

/** What the leader has to end after SIGKILL: only uninterruptible sleep or a lost right takes longer. */
export const KILL_DEADLINE_MS = 1_000

/** What a dispose takes at most: an `await using` must not hang on a child that cannot be killed. */
export const DISPOSE_MS = 1_000

/** How long host exit waits for killed leaders: it blocks the last turn of the host, so it is short. */
export const HOST_EXIT_WAIT_MS = 200

/** What an executor has to take its start back after an abort, until it is waited for no longer. */
export const EXECUTOR_ABORT_MS = 2_000

// Private directories

/** What one removal or sweep takes unless told otherwise: a tree that grows as fast as it is removed never ends. */
export const DIRECTORY_REMOVE_MS = 10_000

/** What host exit spends on all its private directories together: it blocks, and the next sweep takes what is left. */
export const DIRECTORY_EXIT_MS = 1_000

// Starts

/** Soft RLIMIT_NOFILE of a child: select(2) fails beyond it, and Node raises its own to the hard limit. */
export const CHILD_NOFILE_SOFT = 1_024

/** Longest single argument or environment string, its NUL included: MAX_ARG_STRLEN, execve(2). */
export const SINGLE_STRING_MAX_BYTES = 131_072

/** Starts that begin in one turn of the event loop, a millisecond's worth: those beyond them wait for the next turns. */
export const TURN_STARTS_MAX = 32

/** Spawner threads of one host process: each start in a slow exec occupies one, and they never end. */
export const SPAWNER_THREADS_MAX = 16

// Pipes and logs

/** Most bytes one `read` gives: what a pipe holds by default, pipe(7). */
export const PIPE_CHUNK_BYTES = 64 * KiB

/** Most bytes that reads of one pipe give before the event loop turns: a millisecond's worth or less. */
export const PIPE_TURN_BYTES = MiB

/** Size of a log pipe while the user's pipe budget lasts: a quarter of the wake-ups of the default size. */
export const DRAIN_PIPE_BYTES = 256 * KiB

// Secrets

/** Shortest secret: a shorter one would be found in innocent text and be betrayed by its markers. */
export const SECRET_MIN_BYTES = 4

/** Longest secret: bounds what a filter holds back while a match is open. */
export const SECRET_MAX_BYTES = 4 * KiB

/** Secrets of one child: bounds the filter's table. */
export const SECRETS_MAX = 64

// Protocol

/** Longest frame of wire protocol v1, its LF included: large data goes through files, whose paths fit. */
export const FRAME_MAX_BYTES = 1 * MiB

/** Deepest nesting of arrays and objects in a message: what reads one may recurse. */
export const JSON_MAX_LEVELS = 128

// Errors

/** Longest error message, in UTF-16 units: a message is a log line, not a dump. */
export const MESSAGE_MAX_CHARS = 1_024

/** Longest subject quoted in a message, in UTF-16 units: a path must not push out the reason after it. */
export const MESSAGE_SUBJECT_MAX_CHARS = 256

/** Deepest chain of causes that is told of an error: a loop that wraps what it caught makes one without end. */
export const ERROR_MAX_LEVELS = 16

/** Errors that are told of one, causes and suppressed ones together: each level may have many. */
export const ERRORS_MAX = 100

// Lanes

/** Each lane holds a process: more of them than this no machine was meant to have. */
export const LANES_MAX = 1024

// Evidence

/** What a publisher has to make the evidence of one attempt durable unless told otherwise: a disk that hangs must not hang a run. */
export const PUBLISH_MS = 30_000

/** Deepest nesting of a value that goes into evidence: what stands around it must fit within a reader's levels too. */
export const EVIDENCE_JSON_MAX_LEVELS = 100

/** Longest text that evidence keeps of a failure, in UTF-16 units: a message is whatever somebody threw. */
export const FAILURE_TEXT_MAX_CHARS = 65_536
