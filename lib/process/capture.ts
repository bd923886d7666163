/** Asks for a log: a stream of the child that native code drains to its end, keeping what the limits allow. */
import { SpecTypeError } from '../base/errors.js'

/** Limits in bytes after filtering, each its own; a byte is omitted only when neither holds it. */
export interface CaptureLimits {
  /** Keeps the first bytes. */
  headBytes?: number
  /** Keeps the last bytes after the head. */
  tailBytes?: number
}

/** One captured stream in a descriptor map. Holds no descriptor: it may be used in any number of specs. */
export class Capture {
  readonly headBytes: number
  readonly tailBytes: number

  /** @internal */
  constructor(headBytes: number, tailBytes: number) {
    this.headBytes = headBytes
    this.tailBytes = tailBytes
    Object.freeze(this)
  }
}

/**
 * Makes a captured stream for 1, 2 or any other number. No limit has a default, and 0 keeps nothing but the counts.
 *
 * @throws {SpecTypeError} ERR_INVALID_LOG_LIMITS: neither limit given, or one that is no integer of 0 or more [M-16]
 */
export function capture(limits: CaptureLimits): Capture {
  const { headBytes, tailBytes } = (limits ?? {}) as CaptureLimits
  if (headBytes === undefined && tailBytes === undefined) {
    throw new SpecTypeError('ERR_INVALID_LOG_LIMITS', { field: 'headBytes', reason: 'one of headBytes, tailBytes is required' })
  }
  return new Capture(limit('headBytes', headBytes), limit('tailBytes', tailBytes))
}

function limit(field: string, value: unknown): number {
  if (value === undefined) return 0
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new SpecTypeError('ERR_INVALID_LOG_LIMITS', { field, reason: 'must be an integer of 0 or more bytes' })
}
