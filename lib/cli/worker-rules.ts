/** The sentence of docs/protocol.md that a worker did not keep. */
import type { ErrorCode } from '../base/error-table.js'
import { ExactSpawnError, type ErrorOf } from '../base/errors.js'

const ONE_EACH = 'The host asks, the worker answers: one request, one response, in turn.'
const REPEAT_ID = 'treat it as opaque, and repeat it in the response.'
const UTF8 = 'The text is UTF-8 without a byte order mark'
const GOODBYE = 'Answer, close both pipes and exit with code 0.'

export const RULES = {
  ERR_FRAME_LINE_TOO_LONG: 'A frame has at most 1 048 576 bytes with its LF.',
  ERR_FRAME_EARLY_EOF: 'The end of the stream between two frames is an ordinary end. Inside a frame it is an error.',
  ERR_FRAME_BYTE_ORDER_MARK: UTF8,
  ERR_FRAME_INVALID_UTF8: UTF8,
  ERR_FRAME_DUPLICATE_KEY: 'no object has a key twice, at any depth',
  ERR_FRAME_MALFORMED_JSON: 'A frame is one JSON value and one LF.',
  ERR_REQUEST_ID_INVALID: REPEAT_ID,
  ERR_REQUEST_ID_MISMATCH: REPEAT_ID,
  ERR_RESPONSE_EXTRA: 'Nothing is sent unasked.',
  ERR_HANDSHAKE_FAILED: 'The host then checks, in this order, and ends the session at the first that fails',
  ERR_MESSAGE_INVALID: 'Messages have the fields below, all of them, and no other field.',
  ERR_PROTOCOL_CLOSED: ONE_EACH,
  ERR_PROTOCOL_WRITE_FAILED: ONE_EACH,
  ERR_PHASE_TIMEOUT: 'Flush after each LF: the host waits.',
  ERR_UNSUCCESSFUL_EXIT: GOODBYE,
  ERR_CONTROL_ENFORCEMENT_LOST: 'What a worker started may hold none of its streams once it has exited.',
} as const satisfies { readonly [C in ErrorCode]?: string }

/** The same code means another rule in the first phase and in the last. */
export const RULES_OF_PHASES = {
  hello: 'choose version 1, or answer `unsupported_operation` when it was not offered.',
  shutdown: 'The time the host allows covers the exit too.',
  refused: GOODBYE,
} as const

/** What a worker's answer claims, where files show that it is not so. */
export const RULES_OF_CLAIMS = {
  MANIFEST_OUTSIDE: 'Paths that a worker gives are claims: the host looks for them beneath the directory it assigned',
  MANIFEST_MISSING: 'Paths that a worker gives are claims: the host looks for them beneath the directory it assigned',
  METRICS_MISSING: 'Judge a result, and finish the metrics at the path given before answering.',
} as const

/** Gives the rule behind an error of the exchange, or null where the page has none for it. */
export function ruleOf(error: ErrorOf<ErrorCode>): string | null {
  if (ExactSpawnError.is(error, 'ERR_PHASE_TIMEOUT') && error.details.phase === 'shutdown') {
    return RULES_OF_PHASES.shutdown
  }
  if (ExactSpawnError.is(error, 'ERR_WORKER_FAILURE')) {
    return error.details.phase === 'hello' ? RULES_OF_PHASES.hello : RULES_OF_PHASES.refused
  }
  return Object.hasOwn(RULES, error.code) ? RULES[error.code as keyof typeof RULES] : null
}
