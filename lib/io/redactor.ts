/**
 * Takes registered secrets out of whole strings: messages, paths, argument lists, diagnostics.
 *
 * Log bytes have their own filter, in native code. This one serves what TypeScript puts into errors and
 * reports, at the place that puts it there.
 */
import { inspect, types } from 'node:util'
import { SECRET_MIN_BYTES } from '../base/limits.js'

/** Stands where a secret stood. The same text as in logs. */
export const REDACTED = '[redacted]'

const NONE: readonly Buffer[] = []

/** Gives the text without any registered secret. */
export type Redactor = (text: string | Uint8Array) => string

/**
 * Makes the redactor of one child's secrets.
 *
 * Matches bytes: a text is searched as UTF-8. Each secret is found in all of its forms. Occurrences that overlap go
 * together, so that no end of one is left over. A text without a secret comes back unchanged; in one with a secret, half
 * a character becomes U+FFFD.
 *
 * @throws {RangeError} a secret shorter than SECRET_MIN_BYTES; an empty one would match everywhere
 */
export function createRedactor(secrets: readonly Uint8Array[]): Redactor {
  if (secrets.length === 0) return asText
  const forms = new Set(secretForms(secrets).map((form) => form.toString('latin1')))
  return (text) => {
    const bytes = Buffer.from(text as string)
    const clean = replaceAll(bytes.toString('latin1'), forms)
    if (clean !== undefined) return Buffer.from(clean, 'latin1').toString()
    return typeof text === 'string' ? text : bytes.toString()
  }
}

const asText: Redactor = (text) => (typeof text === 'string' ? text : Buffer.from(text).toString())

/**
 * Redacts every string in a JSON-like value; bytes become text first, as in an argument list.
 *
 * Keys and numbers are kept: names of variables and fields are no secrets, nor is an errno. In what is `foreign`,
 * a child's own words, they are redacted too; a number that shows a secret becomes a string.
 */
export function redactValue(redact: Redactor, value: unknown, foreign = false): unknown {
  if (typeof value === 'string' || types.isUint8Array(value)) return redact(value)
  if (foreign && typeof value === 'number') return redactNumber(redact, value)
  if (typeof value !== 'object' || value === null) return value
  const inner = (item: unknown): unknown => redactValue(redact, item, foreign)
  if (Array.isArray(value)) return value.map(inner)
  const entries = Object.entries(value).map(([key, item]) => [foreign ? redact(key) : key, inner(item)])
  return Object.fromEntries(entries) as unknown
}

function redactNumber(redact: Redactor, value: number): unknown {
  const text = String(value)
  const clean = redact(text)
  return clean === text ? value : clean
}

/**
 * Gives each secret as it is and as quoting leaves it in JSON, in JSON of ASCII alone, and in an error message: a key of
 * several lines is logged as JSON far more often than as it is. Each form once.
 */
export function secretForms(secrets: readonly Uint8Array[]): readonly Buffer[] {
  if (secrets.length === 0) return NONE
  const forms = secrets.flatMap(formsOf)
  const seen = new Set<string>()
  return forms.filter((form) => {
    const bytes = form.toString('latin1')
    // What decoding has shortened below the least of a secret would be found by chance.
    return form.length >= SECRET_MIN_BYTES && !seen.has(bytes) && seen.add(bytes)
  })
}

function formsOf(secret: Uint8Array): Buffer[] {
  if (secret.length < SECRET_MIN_BYTES) {
    throw new RangeError(`secrets must have ${SECRET_MIN_BYTES} bytes or more, not ${secret.length}`)
  }
  const bytes = Buffer.from(secret)
  const text = bytes.toString()
  const json = JSON.stringify(text)
  const quoted = [json, asciiJson(json), inspect(text, { breakLength: Infinity })]
  // The text differs from the bytes when they are no UTF-8: this is how a decoded output shows them.
  const texts = [text, ...quoted.map((form) => form.slice(1, -1))]
  return [bytes, ...texts.map((form) => Buffer.from(form))]
}

// As Python's json and others write it, unless told otherwise.
function asciiJson(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function replaceAll(text: string, forms: Iterable<string>): string | undefined {
  const found = [...forms].flatMap((form) => occurrences(text, form)).sort((a, b) => a.start - b.start)
  if (found.length === 0) return undefined
  let clean = ''
  let end = 0
  for (const span of found) {
    if (span.start >= end) clean += text.slice(end, span.start) + REDACTED
    end = Math.max(end, span.end)
  }
  return clean + text.slice(end)
}

function occurrences(text: string, form: string): { start: number; end: number }[] {
  const spans = []
  for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1)) {
    spans.push({ start, end: start + form.length })
  }
  return spans
}
