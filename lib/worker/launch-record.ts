/**
 * What identifies a launch: program, arguments, allowlisted variables, declared secret channels. Already resolved by
 * whoever made it; plain JSON; no secret value, no private path, no descriptor number in it.
 * docs/launch-record.schema.json says the same.
 */
import { CapabilityError, SpecError } from '../base/errors.js'
import { isPlainObject } from '../process/plain-object.js'
import { canonicalJson } from '../protocol/canonical-json.js'
import { fixedVariableNames } from './worker-environment.js'

/** How a secret's value reaches the worker. Its name is all that the record says of it. */
export interface SecretChannel {
  readonly name: string
  /** "variable": the value itself. "descriptor": a number, under which the value can be read to its end. */
  readonly by: 'variable' | 'descriptor'
  /** The variable that holds the value or the number. */
  readonly variable: string
}

export interface LaunchRecord {
  /** Absolute. */
  readonly program: string
  readonly args: readonly string[]
  /** Allowlisted variables; nothing else of the host's environment crosses. */
  readonly environment: Readonly<Record<string, string>>
  readonly secretChannels: readonly SecretChannel[]
}

/** A record as it can be given: what is absent is empty. */
export type LaunchRecordInput = Pick<LaunchRecord, 'program'> & Partial<LaunchRecord>

/** Variables that carry the transport's state: never the record's. */
export const PROTOCOL_VARIABLES = { read: 'METEWAND_PROTOCOL_READ_FD', write: 'METEWAND_PROTOCOL_WRITE_FD' } as const

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const CHANNEL_NAME = /^[a-z][a-z0-9_-]*$/
const FIELDS = ['program', 'args', 'environment', 'secretChannels']
// What an executor's controls do; a launcher that dropped them would promise what nobody holds.
const CONTROLS = ['limits', 'nice', 'affinity', 'cgroup', 'uid', 'gid', 'groups', 'timeoutMs', 'memory', 'cpu']
const read = new WeakSet<object>()

/**
 * Checks a record and gives it frozen. A frozen one comes back as it is.
 *
 * @throws {SpecError} ERR_INVALID_LAUNCH_RECORD {field, reason}; ERR_INVALID_ENVIRONMENT_VARIABLE {variable, reason}
 * @throws {CapabilityError} ERR_UNSUPPORTED_CONTROL: resource controls belong to the executor [M-66]
 */
export function readLaunchRecord(value: unknown): LaunchRecord {
  if (typeof value === 'object' && value !== null && read.has(value)) return value as LaunchRecord
  const object = readObject(value, 'record')
  for (const key of Object.keys(object)) {
    if (CONTROLS.includes(key)) {
      const reason = "is the executor's: give it to spawn(record, { controls })"
      throw new CapabilityError('ERR_UNSUPPORTED_CONTROL', { control: key, reason })
    }
    if (!FIELDS.includes(key)) throw invalid(key, 'is no field of a launch record')
  }
  // A field may be absent; null is a value, and a wrong one.
  const { program, args = [], environment: variables = {}, secretChannels = [] } = object
  const environment = readEnvironment(variables)
  const record: LaunchRecord = Object.freeze({
    program: readProgram(program),
    args: readStrings(args, 'args'),
    environment,
    secretChannels: readChannels(secretChannels, environment),
  })
  read.add(record)
  return record
}

/** Gives the bytes by which two launches are the same: canonical JSON of the record alone [M-53]. */
export function launchIdentity(record: LaunchRecordInput): string {
  const { program, args, environment, secretChannels } = readLaunchRecord(record)
  return canonicalJson({ program, args, environment, secretChannels })
}

function invalid(field: string, reason: string): SpecError {
  return new SpecError('ERR_INVALID_LAUNCH_RECORD', { field, reason })
}

function refused(variable: string, reason: string): SpecError {
  return new SpecError('ERR_INVALID_ENVIRONMENT_VARIABLE', { variable, reason })
}

function readObject(value: unknown, field: string): Record<string, unknown> {
  if (isPlainObject(value)) return value
  throw invalid(field, 'must be a plain object')
}

function readString(value: unknown, field: string): string {
  if (typeof value !== 'string') throw invalid(field, 'must be a string')
  if (value.includes('\0')) throw invalid(field, 'contains a NUL byte')
  if (!value.isWellFormed()) throw invalid(field, 'a lone surrogate cannot be written as bytes')
  return value
}

function readStrings(value: unknown, field: string): readonly string[] {
  if (!Array.isArray(value)) throw invalid(field, 'must be an array')
  return Object.freeze(Array.from(value, (item: unknown, index) => readString(item, `${field}[${index}]`)))
}

function readProgram(value: unknown): string {
  const program = readString(value, 'program')
  if (!program.startsWith('/')) throw invalid('program', 'must be an absolute path: nothing is resolved here')
  return program
}

function readEnvironment(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(readObject(value, 'environment'))
  return Object.freeze(Object.fromEntries(entries.map(([name, text]) => [readVariable(name), readValue(name, text)])))
}

export function isVariableName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name)
}

/** Checks a name that a record may give a variable [M-52]. */
function readVariable(name: string): string {
  if (!isVariableName(name)) throw refused(name, 'a name has letters, digits and underscores, and no digit first')
  if (name === PROTOCOL_VARIABLES.read || name === PROTOCOL_VARIABLES.write) throw refused(name, 'belongs to the transport')
  if (fixedVariableNames.has(name)) throw refused(name, 'is fixed for every worker')
  return name
}

function readValue(name: string, value: unknown): string {
  if (typeof value !== 'string') throw refused(name, 'its value must be a string')
  if (value.includes('\0')) throw refused(name, 'its value contains a NUL byte')
  if (!value.isWellFormed()) throw refused(name, 'a lone surrogate in its value cannot be written as bytes')
  return value
}

function readChannels(value: unknown, environment: Readonly<Record<string, string>>): readonly SecretChannel[] {
  if (!Array.isArray(value)) throw invalid('secretChannels', 'must be an array')
  const channels = Array.from(value, (item: unknown, index) => readChannel(item, `secretChannels[${index}]`))
  channels.forEach(({ name, variable }, index) => {
    const field = `secretChannels[${index}]`
    if (Object.hasOwn(environment, variable)) throw invalid(`${field}.variable`, 'is in the environment already')
    const earlier = channels.slice(0, index)
    if (earlier.some((other) => other.name === name)) throw invalid(`${field}.name`, 'is declared twice')
    if (earlier.some((other) => other.variable === variable)) throw invalid(`${field}.variable`, 'is declared twice')
  })
  return Object.freeze(channels)
}

function readChannel(value: unknown, field: string): SecretChannel {
  const { name, by, variable, ...rest } = readObject(value, field)
  for (const key of Object.keys(rest)) throw invalid(`${field}.${key}`, 'is no field of a secret channel')
  if (by !== 'variable' && by !== 'descriptor') throw invalid(`${field}.by`, "must be 'variable' or 'descriptor'")
  const channel = readString(name, `${field}.name`)
  if (!CHANNEL_NAME.test(channel)) throw invalid(`${field}.name`, 'must be lower case letters, digits, - and _')
  return Object.freeze({ name: channel, by, variable: readVariable(readString(variable, `${field}.variable`)) })
}
