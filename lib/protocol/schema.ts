/** Strict shapes of JSON values: a field too many is as wrong as one too few. */
import { ProtocolError } from '../base/errors.js'

/** Throws ERR_MESSAGE_INVALID if a value is not what it checks for. */
export type Check = (value: unknown, field: string) => void

export type Checks = Readonly<Record<string, Check>>

/** An object with all of `required`, any of `optional` and nothing else. */
export function shape(required: Checks, optional: Checks = {}): Check {
  return (value, field) => {
    object(value, field)
    for (const [key, check] of Object.entries(required)) {
      if (!Object.hasOwn(value as object, key)) invalid(under(field, key), 'missing')
      check((value as Record<string, unknown>)[key], under(field, key))
    }
    for (const [key, item] of Object.entries(value as object)) {
      if (Object.hasOwn(required, key)) continue
      if (!Object.hasOwn(optional, key)) invalid(under(field, key), 'no such field')
      optional[key]!(item, under(field, key))
    }
  }
}

export const object: Check = (value, field) => {
  const fits = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!fits) invalid(field, 'must be an object')
}

/** A string of one character or more. */
export const text: Check = (value, field) => {
  if (typeof value !== 'string' || value === '') invalid(field, 'must be a string that is not empty')
}

/** An integer from 0 that every JSON reader keeps exactly. */
export const count: Check = (value, field) => {
  const fits = Number.isSafeInteger(value) && (value as number) >= 0
  if (!fits) invalid(field, 'must be an integer from 0 to 2^53 - 1')
}

export function matching(pattern: RegExp, what: string): Check {
  return (value, field) => {
    if (typeof value !== 'string' || !pattern.test(value)) invalid(field, `must be ${what}`)
  }
}

export function oneOf(values: readonly unknown[]): Check {
  return (value, field) => {
    if (!values.includes(value)) invalid(field, `must be one of ${values.join(', ')}`)
  }
}

export function nullOr(check: Check): Check {
  return (value, field) => {
    if (value !== null) check(value, field)
  }
}

/** An array without repetition. */
export function setOf(item: Check): Check {
  return (value, field) => {
    if (!Array.isArray(value)) return invalid(field, 'must be an array')
    value.forEach((element, index) => item(element, `${field}[${index}]`))
    if (new Set(value).size < value.length) invalid(field, 'must not repeat a value')
  }
}

export function nonEmpty(check: Check): Check {
  return (value, field) => {
    check(value, field)
    if ((value as unknown[]).length === 0) invalid(field, 'must not be empty')
  }
}

function under(field: string, key: string): string {
  return field === '' ? key : `${field}.${key}`
}

function invalid(field: string, reason: string): never {
  throw new ProtocolError('ERR_MESSAGE_INVALID', { field, reason })
}
