/** What an error says has no registered secret in it, wherever in the caller's or a worker's words one stood [B106, M-65]. */
import type { ErrorClass, ErrorCode, ErrorOf } from '../base/errors.js'
import { ExactSpawnError } from '../base/errors.js'
import { redactValue, type Redactor } from './redactor.js'

/** Runs a step. An error of ours that it throws is thrown with its details redacted: the class and `cause` stay. */
export function redactingErrors<T>(redact: Redactor, step: () => T): T {
  try {
    return step()
  } catch (error) {
    if (!ExactSpawnError.is(error) || !(error instanceof Error)) throw error
    const { code, details, constructor } = error as ErrorOf<ErrorCode>
    const Class = constructor as ErrorClass<ErrorCode>
    // An absent cause must stay absent: the property alone would be printed.
    const options = 'cause' in error ? { cause: error.cause } : {}
    throw new Class(code, redactValue(redact, details) as typeof details, options)
  }
}
