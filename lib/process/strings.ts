/** Strings on their way to the kernel: bytes, without NUL, within its limits. Checked before anything happens. */
import { types } from 'node:util'
import { SpecError, SpecTypeError, systemError } from '../base/errors.js'
import { SINGLE_STRING_MAX_BYTES } from '../base/limits.js'

/** A string of the spec: text becomes UTF-8, bytes go through as they are. */
export type SpecString = string | Uint8Array

const E2BIG = -7
const ENAMETOOLONG = -36
const PATH_MAX_BYTES = 4_096

/**
 * Gives the bytes of one string, a copy: the caller may reuse its own as soon as the call has returned.
 *
 * @throws {SpecTypeError} neither string nor bytes
 * @throws {SpecError} a NUL byte, or half a surrogate pair, which has no bytes [B085]
 */
export function bytesOf(value: unknown, field: string): Uint8Array {
  if (typeof value === 'string') return Buffer.from(wellFormed(value, field))
  if (!types.isUint8Array(value)) throw wrongType(field, 'must be a string or a Uint8Array')
  const bytes = Uint8Array.from(value)
  if (bytes.includes(0)) throw invalid(field, 'contains a NUL byte')
  return bytes
}

/**
 * Gives a text back that has bytes.
 *
 * @throws {SpecError} as bytesOf
 */
export function wellFormed(text: string, field: string): string {
  if (!text.isWellFormed()) throw invalid(field, 'a lone surrogate cannot be written as bytes')
  if (text.includes('\0')) throw invalid(field, 'contains a NUL byte')
  return text
}

/**
 * Gives the bytes of an argument or of NAME=value, which the kernel takes only up to a limit of its own.
 *
 * @throws {SpecError} with cause E2BIG: the length is in bytes and without the NUL, execve(2)
 */
export function argumentBytes(value: unknown, field: string): Uint8Array {
  return withinSingleLimit(bytesOf(value, field), field)
}

export function withinSingleLimit(bytes: Uint8Array, field: string): Uint8Array {
  const limit = SINGLE_STRING_MAX_BYTES - 1
  if (bytes.length <= limit) return bytes
  const details = { field, reason: 'longer than the kernel takes in one string', bytes: bytes.length, limit }
  throw new SpecError('ERR_INVALID_SPEC', details, { cause: systemError(E2BIG, 'execve') })
}

/** Gives the bytes of a path: not empty, and short enough to be one. */
export function pathBytes(value: unknown, field: string): Uint8Array {
  const bytes = bytesOf(value, field)
  if (bytes.length === 0) throw invalid(field, 'is empty')
  if (bytes.length < PATH_MAX_BYTES) return bytes
  const details = { field, reason: 'longer than a path can be', bytes: bytes.length, limit: PATH_MAX_BYTES - 1 }
  throw new SpecError('ERR_INVALID_SPEC', details, { cause: systemError(ENAMETOOLONG, 'execve') })
}

export function invalid(field: string, reason: string, cause?: Error): SpecError {
  return new SpecError('ERR_INVALID_SPEC', { field, reason }, cause === undefined ? {} : { cause })
}

export function wrongType(field: string, reason: string): SpecTypeError {
  return new SpecTypeError('ERR_INVALID_SPEC', { field, reason })
}
