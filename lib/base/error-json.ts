/**
 * Any error as JSON: what a foreign one says of itself is read without trust. A getter may throw, a code be anything, a
 * chain of causes be as long as a loop made it; whoever tells of a failure must not fail by that.
 */
import { inspect, types } from 'node:util'
import { ERROR_MAX_LEVELS, ERRORS_MAX } from './limits.js'

// In the global registry: two copies of this package must know each other's errors.
export const brand = Symbol.for('exactspawn.error')

/** What `JSON.stringify` sees of an error of ours. */
export interface ErrorJson {
  name: string
  code: string
  message: string
  details: object
  cause?: unknown
  suppressed?: unknown[]
}

/** Stands for what is nested too deeply, and for what is beyond the errors that are told. */
export const CUT = '[Cut]'

/** Gives any error as JSON has it, causes and suppressed ones too, as deep as ERROR_MAX_LEVELS. */
export function errorJson(error: Error): ErrorJson {
  return json(error, [], { left: ERRORS_MAX }) as ErrorJson
}

/** Tells whether a value is an error. A DOMException, the usual reason of an abort, is no native one. */
export function isError(value: unknown): value is Error {
  try {
    // One of another realm is no instance.
    return types.isNativeError(value) || value instanceof Error
  } catch {
    // A proxy that refuses to be asked.
    return false
  }
}

/** Gives a property of a foreign object, or undefined when reading it throws. */
export function readSafely(value: object, key: PropertyKey): unknown {
  try {
    return (value as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

/** Tells whether a foreign object has a property. */
export function hasSafely(value: object, key: PropertyKey): boolean {
  try {
    return key in value
  } catch {
    return false
  }
}

function json(value: unknown, within: readonly Error[], told: { left: number }): unknown {
  if (!isError(value)) return outline(value)
  if (within.includes(value)) return '[Circular]'
  if (within.length === ERROR_MAX_LEVELS || told.left === 0) return CUT
  told.left--
  const inner = [...within, value]
  const suppressed = listOf(readSafely(value, 'suppressed'))
  return {
    name: textOf(readSafely(value, 'name')) ?? 'Error',
    code: codeOf(readSafely(value, 'code')),
    message: messageOf(readSafely(value, 'message')),
    ...(hasSafely(value, brand) ? { details: detailsOf(value) } : systemFacts(value)),
    ...(hasSafely(value, 'cause') ? { cause: json(readSafely(value, 'cause'), inner, told) } : {}),
    ...(suppressed.length > 0 ? { suppressed: suppressed.map((later) => json(later, inner, told)) } : {}),
  }
}

function detailsOf(error: Error): unknown {
  const details = readSafely(error, 'details')
  return typeof details === 'object' && details !== null ? details : undefined
}

// As Node has them; whatever else stands there is none.
function systemFacts(error: Error): { errno: unknown; syscall: unknown; path: unknown } {
  const errno = readSafely(error, 'errno')
  return {
    errno: Number.isSafeInteger(errno) ? errno : undefined,
    syscall: textOf(readSafely(error, 'syscall')),
    path: textOf(readSafely(error, 'path')),
  }
}

// The errors of child_process have a number, or null where a signal ended the child.
function codeOf(code: unknown): string | number | undefined {
  return typeof code === 'string' || Number.isSafeInteger(code) ? (code as string | number) : undefined
}

function messageOf(message: unknown): string {
  return typeof message === 'string' ? message : message === undefined ? '' : String(outline(message))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function listOf(value: unknown): unknown[] {
  try {
    // One more than is told, for the mark.
    return Array.isArray(value) ? Array.from(value.slice(0, ERRORS_MAX + 1) as unknown[]) : []
  } catch {
    return []
  }
}

// Whatever someone threw or aborted with: said in one word, without running any of its code.
function outline(value: unknown): unknown {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value
  try {
    return inspect(value, { depth: -1, customInspect: false })
  } catch {
    return '[Unreadable]'
  }
}
