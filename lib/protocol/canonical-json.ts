/** One spelling for each value: RFC 8785, the JSON Canonicalization Scheme. */
import canonicalize from 'canonicalize'
import { ProtocolError } from '../base/errors.js'
import { JSON_MAX_LEVELS } from '../base/limits.js'

interface Fault {
  field: string
  reason: string
}

/**
 * Gives the canonical JSON of a value: no white space, keys in the order of their UTF-16 units.
 *
 * @throws {ProtocolError} ERR_MESSAGE_INVALID: JSON cannot say it, or a reader of it might not understand the same
 */
export function canonicalJson(value: unknown, maxLevels = JSON_MAX_LEVELS): string {
  const fault = faultIn(value, 0, maxLevels)
  if (fault !== undefined) throw new ProtocolError('ERR_MESSAGE_INVALID', { ...fault })
  return canonicalize(value)!
}

/** Finds what canonicalize would drop, change, convert or never finish; the field is put together on the way back. */
function faultIn(value: unknown, level: number, maxLevels: number): Fault | undefined {
  if (value === null || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : fault('a number that is not finite')
  if (typeof value === 'string') return value.isWellFormed() ? undefined : fault('half a surrogate pair')
  if (typeof value !== 'object') return fault(`${typeof value} is no JSON`)
  // A circle has no end either.
  if (level === maxLevels) return fault(`more than ${maxLevels} levels of nesting`)
  if (Array.isArray(value)) return faultInItems(value, level + 1, maxLevels)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return fault('an object of a class')
  return faultInMembers(value, level + 1, maxLevels)
}

function faultInItems(items: readonly unknown[], level: number, maxLevels: number): Fault | undefined {
  for (let index = 0; index < items.length; index++) {
    const inner = faultIn(items[index], level, maxLevels)
    if (inner !== undefined) return within(`[${index}]`, inner)
  }
  return undefined
}

function faultInMembers(object: object, level: number, maxLevels: number): Fault | undefined {
  for (const [key, item] of Object.entries(object)) {
    const inner = key.isWellFormed() ? faultIn(item, level, maxLevels) : fault('half a surrogate pair in the key')
    if (inner !== undefined) return within(key, inner)
  }
  return undefined
}

function fault(reason: string): Fault {
  return { field: '', reason }
}

function within(outer: string, { field, reason }: Fault): Fault {
  const joint = field === '' || field.startsWith('[') ? '' : '.'
  return { field: `${outer}${joint}${field}`, reason }
}
