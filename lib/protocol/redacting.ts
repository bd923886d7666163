/** What diagnostics quote of a worker's words has no registered secret in it [M-65]. */
import { ProtocolError, type ErrorOf } from '../base/errors.js'
import { redactValue, type Redactor } from '../io/redactor.js'
import type { Failure } from './messages.js'

type AnyProtocolError = ErrorOf<ProtocolError['code']>

/** Runs a step. A ProtocolError that it throws is thrown with its details redacted, `cause` as it was. */
export function redacting<T>(redact: Redactor | undefined, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (redact === undefined || !(error instanceof ProtocolError)) throw error
    const { code, details, cause } = error as AnyProtocolError
    throw new ProtocolError(code, redactValue(redact, details) as typeof details, { cause })
  }
}

/** Redacts what a failure says, the keys of its details too: a worker chose them. */
export function redactFailure(redact: Redactor | undefined, failure: Failure): Failure {
  if (redact === undefined) return failure
  const { code, ...said } = failure.error
  return { ...failure, error: { code, ...(redactKeysToo(redact, said) as typeof said) } }
}

function redactKeysToo(redact: Redactor, value: unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item) => redactKeysToo(redact, item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), redactKeysToo(redact, item)]))
}
