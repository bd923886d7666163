/** What diagnostics quote of a worker's words has no registered secret in it [M-65]. */
import { redactingErrors } from '../io/redacting-errors.js'
import { redactValue, type Redactor } from '../io/redactor.js'
import type { Failure } from './messages.js'

/** Runs a step. An error of ours that it throws is thrown redacted, where there is something to redact. */
export function redacting<T>(redact: Redactor | undefined, step: () => T): T {
  return redact === undefined ? step() : redactingErrors(redact, step)
}

/** Redacts what a failure says, keys and numbers of its details too: a worker chose them. */
export function redactFailure(redact: Redactor | undefined, failure: Failure): Failure {
  if (redact === undefined) return failure
  const { code, message, details } = failure.error
  const said = details === undefined ? {} : { details: redactValue(redact, details, true) as typeof details }
  return { ...failure, error: { code, message: redact(message), ...said } }
}
