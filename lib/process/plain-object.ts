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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(field, expected)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw wrongType(field, expected)
  return value as Record<string, unknown>
}
