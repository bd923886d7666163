/** Objects that keep what they hold under names, as a spec does. */
import { wrongType } from './strings.js'

/**
 * Gives the object with its names readable. A Map or an array has entries that no name leads to: taken for an empty
 * object, what the caller asked for would be left out in silence.
 *
 * @throws {SpecTypeError} anything else than a plain object; one of another realm is as good
 */
export function plainObject(
  value: unknown,
  field: string,
  expected = 'must be a plain object',
): Record<string, unknown> {
  if (!isPlainObject(value)) throw wrongType(field, expected)
  return value
}

/** Tells whether a value keeps all that it holds under names of its own. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
