/** Secrets that a caller registers: taken out of logs, errors and reports. */
import { types } from 'node:util'
import { SECRET_MAX_BYTES, SECRET_MIN_BYTES, SECRETS_MAX } from '../base/limits.js'
import { invalid, wrongType } from './strings.js'

/**
 * Gives the bytes of each, copies.
 *
 * @throws {SpecTypeError | SpecError} ERR_INVALID_SPEC, which names the place and never the value
 */
export function readSecrets(secrets: unknown): Uint8Array[] {
  if (secrets === undefined) return []
  if (!Array.isArray(secrets)) throw wrongType('secrets', 'must be an array')
  if (secrets.length > SECRETS_MAX) throw invalid('secrets', `holds more than ${SECRETS_MAX}`)
  return Array.from(secrets, (secret: unknown, index) => readSecret(secret, `secrets[${index}]`))
}

/** Gives the bytes of one, a copy. Throws as readSecrets. */
export function readSecret(secret: unknown, field: string): Uint8Array {
  if (typeof secret !== 'string' && !types.isUint8Array(secret)) throw wrongType(field, 'must be a string or a Uint8Array')
  // It would be written as another character, and the secret that is meant would pass unseen.
  if (typeof secret === 'string' && !secret.isWellFormed()) throw invalid(field, 'a lone surrogate has no bytes')
  const bytes = Buffer.from(secret as string)
  if (bytes.length >= SECRET_MIN_BYTES && bytes.length <= SECRET_MAX_BYTES) return bytes
  throw invalid(field, `must have ${SECRET_MIN_BYTES} to ${SECRET_MAX_BYTES} bytes`)
}
