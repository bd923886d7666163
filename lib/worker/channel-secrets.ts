/** The values of a record's secret channels: one set of rules for whoever takes them. */
import { SpecError } from '../base/errors.js'
import { plainObject } from '../process/plain-object.js'
import { readSecret } from '../process/secrets.js'
import { invalid } from '../process/strings.js'
import type { SecretChannel } from './launch-record.js'

/**
 * Gives the bytes for each declared channel, copies: what the caller does with a value after the call is none of it.
 *
 * @throws {SpecError} ERR_UNDECLARED_SECRET_CHANNEL {channel}
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC, which names the channel and never the value: it is missing, too
 *   short, too long, or has a byte that its channel cannot carry
 */
export function readChannelSecrets(channels: readonly SecretChannel[], secrets: unknown): Map<string, Uint8Array> {
  const given = plainObject(secrets === undefined ? {} : secrets, 'secrets')
  const declared = new Set(channels.map(({ name }) => name))
  for (const channel of Object.keys(given)) {
    if (!declared.has(channel)) throw new SpecError('ERR_UNDECLARED_SECRET_CHANNEL', { channel })
  }
  return new Map(
    channels.map(({ name, by }) => {
      const field = `secrets.${name}`
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      if (value === undefined) throw invalid(field, 'is declared by the record and missing')
      const bytes = readSecret(value, field)
      if (by === 'variable' && bytes.includes(0)) throw invalid(field, 'contains a NUL byte, and goes by a variable')
      return [name, bytes]
    }),
  )
}
