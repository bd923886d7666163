/** The whole environment of a child: exactly what is given, or the calling thread's at the moment of the call. */
import { types } from 'node:util'
import { SINGLE_STRING_MAX_BYTES } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import { plainObject } from './plain-object.js'
import type { SpecString } from './strings.js'
import { bytesOf, invalid, wellFormed, withinSingleLimit } from './strings.js'

/** NAME to value; or "inherit" for process.env of the calling thread. There is no default [M-58, X-11]. */
export type EnvironmentSpec = Readonly<Record<string, string | Uint8Array>> | 'inherit'

export interface Environment {
  /** NAME=value, each with its NUL, in the order given. */
  readonly block: Uint8Array
  readonly names: readonly string[]
}

const NO_BYTES = new Uint8Array(0)
const NUL = new Uint8Array(1)

/**
 * Checks and encodes an environment. Errors name the variable and never its value [B028].
 *
 * @throws {SpecError} ERR_INVALID_SPEC: absent; a name that is empty or has `=` or NUL; a value that is no string
 */
export function readEnvironment(env: unknown, redact: Redactor): Environment {
  if (env === undefined) throw invalid('env', "is required: an object with the whole environment, or 'inherit'")
  // process.env itself has another prototype chain.
  const inherits = env === 'inherit' || env === process.env
  const source = inherits ? process.env : plainObject(env, 'env', "must be a plain object or 'inherit'")
  const names = Object.keys(source)
  const variables = names.map((name) => readVariable(name, source[name], redact))
  return { names, block: blockOf(names, variables) }
}

function readVariable(name: string, value: unknown, redact: Redactor): SpecString {
  if (name === '') throw invalid('env', 'has a variable with an empty name')
  // What follows a "=" was meant as the value: no error shows it. A secret with a "=" in it would be cut there, and what
  // is left of it no longer be found: it goes first.
  if (name.includes('=')) throw invalid(`env.${redact(name).split('=', 1)[0]}`, 'a name cannot contain "="')
  const field = `env.${name}`
  if (typeof value === 'string') return wellFormed(`${name}=${value}`, field)
  if (types.isUint8Array(value)) return Buffer.concat([bytesOf(`${name}=`, field), bytesOf(value, field)])
  throw invalid(field, `must be a string or a Uint8Array, not ${value === null ? 'null' : typeof value}`)
}

// Text is encoded in one piece: one by one, a host's sixty variables cost as much as everything else in a start's call.
function blockOf(names: readonly string[], variables: readonly SpecString[]): Uint8Array {
  if (variables.length === 0) return NO_BYTES
  const block = variables.every((variable) => typeof variable === 'string')
    ? Buffer.from(`${variables.join('\0')}\0`)
    : Buffer.concat(variables.flatMap((variable) => [Buffer.from(variable), NUL]))
  if (block.length <= SINGLE_STRING_MAX_BYTES) return block
  variables.forEach((variable, index) => withinSingleLimit(Buffer.from(variable), `env.${names[index]}`))
  return block
}
