/** A failure as evidence has it: JSON all through, within bounds, and without a secret, whatever was thrown. */
import type { ErrorJson } from '../base/error-json.js'
import { CUT, errorJson, readSafely } from '../base/error-json.js'
import { EVIDENCE_JSON_MAX_LEVELS, FAILURE_TEXT_MAX_CHARS } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import { redactValue } from '../io/redactor.js'

/** Gives a failure as evidence has it. Never throws. */
export function failureEvidence(error: Error, redact: Redactor = String): ErrorJson {
  return plain(errorJson(error), redact, 0) as ErrorJson
}

function plain(value: unknown, redact: Redactor, level: number): unknown {
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? redactValue(redact, value, true) : String(value)
    case 'object':
      break
    default:
      return text(String(value), redact)
  }
  if (value === null) return null
  if (level === EVIDENCE_JSON_MAX_LEVELS) return CUT
  if (Array.isArray(value)) return value.map((item) => plain(item, redact, level + 1) ?? null)
  const entries = keysOf(value).map((key) => {
    const item = readSafely(value, key)
    return [text(key, redact), plain(key === 'exit' ? exitFacts(item) : item, redact, level + 1)] as const
  })
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined))
}

// Redacted first: a cut through a secret would leave its beginning. What somebody cut in half is told all the same.
function text(value: string, redact: Redactor): string {
  const clean = redact(value)
  return (clean.length <= FAILURE_TEXT_MAX_CHARS ? clean : `${clean.slice(0, FAILURE_TEXT_MAX_CHARS - 1)}…`).toWellFormed()
}

function keysOf(value: object): string[] {
  try {
    return Object.keys(value)
  } catch {
    return []
  }
}

// Beside its facts an exit has the logs, which evidence has already, and bounded.
function exitFacts(exit: unknown): unknown {
  if (typeof exit !== 'object' || exit === null) return exit
  return Object.fromEntries(['code', 'signal', 'endedBy', 'escalated', 'groupLeft'].map((key) => [key, readSafely(exit, key)]))
}
