/** The whole environment of a child: exactly what is given, or the calling thread's at the moment of the call. */
import { types } from 'node:util'
import type { Redactor } from '../io/redactor.js'
import { plainObject } from './plain-object.js'
import { bytesOf, invalid, withinSingleLimit } from './strings.js'

/** NAME to value; or "inherit" for process.env of the calling thread. There is no default [M-58, X-11]. */
export type EnvironmentSpec = Readonly<Record<string, string | Uint8Array>> | 'inherit'

export interface Environment {
  /** NAME=value, in the order given. */
  readonly strings: readonly Uint8Array[]
  readonly names: readonly string[]
}

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
  const strings = names.map((name) => readVariable(name, source[name], redact))
  return { names, strings }
}

function readVariable(name: string, value: unknown, redact: Redactor): Uint8Array {
  // What follows a "=" was meant as the value: no error shows it. A secret with a "=" in it would be cut there, and what
  // is left of it no longer be found: it goes first.
  const field = `env.${name.includes('=') ? redact(name).split('=', 1)[0] : name}`
  if (name === '') throw invalid('env', 'has a variable with an empty name')
  if (name.includes('=')) throw invalid(field, 'a name cannot contain "="')
  if (typeof value !== 'string' && !types.isUint8Array(value)) {
    throw invalid(field, `must be a string or a Uint8Array, not ${value === null ? 'null' : typeof value}`)
  }
  const bytes = Buffer.concat([bytesOf(`${name}=`, field), bytesOf(value, field)])
  return withinSingleLimit(bytes, field)
}
