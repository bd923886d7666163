/**
 * What must be equal for a worker to serve another slot: six parts, compared by what they say. Private paths and numbers
 * of descriptors are no part: they differ from launch to launch.
 */
import { createHash } from 'node:crypto'
import { plainObject } from '../process/plain-object.js'
import { invalid } from '../process/strings.js'
import type { Role } from '../protocol/messages.js'
import { ROLES } from '../protocol/messages.js'
import type { LaunchRecord } from '../worker/launch-record.js'
import { launchIdentity, readLaunchRecord } from '../worker/launch-record.js'
import type { ExecutionPolicy } from './execution-policy.js'
import { policyIdentity, readPolicy } from './execution-policy.js'
import type { JsonValue } from './json.js'
import { jsonText, readJson } from './json.js'

export interface WorkerParts {
  readonly role: Role
  /** The worker's definition as its author wrote it. */
  readonly definition: JsonValue
  /** What the sources resolved to, such as digests of files. */
  readonly sourceBundle: JsonValue
  /** What the environment resolved to, such as locked packages; the variables are the launch record's. */
  readonly environment: JsonValue
  readonly launch: LaunchRecord
  readonly policy: ExecutionPolicy
}

export const WORKER_PARTS = ['role', 'definition', 'sourceBundle', 'environment', 'launch', 'policy'] as const
export type WorkerPart = (typeof WORKER_PARTS)[number]

/** The parts as they were read: frozen, and nobody else's. */
export type ReadParts = Omit<WorkerParts, 'policy'> & { readonly policy: Required<ExecutionPolicy> }

/** The key of one kind of worker. Frozen. */
export class WorkerKey {
  readonly parts: ReadParts
  /** Canonical JSON of each part. */
  readonly #texts: Readonly<Record<WorkerPart, string>>
  #digest: string | undefined

  /** @internal */
  constructor(parts: ReadParts, texts: Readonly<Record<WorkerPart, string>>) {
    this.parts = parts
    this.#texts = texts
    Object.freeze(this)
  }

  /** Whether a worker of the one key may serve a slot of the other. */
  equals(other: WorkerKey): boolean {
    return this.differences(other).length === 0
  }

  /** The parts in which two keys differ. */
  differences(other: WorkerKey): readonly WorkerPart[] {
    return WORKER_PARTS.filter((part) => this.#texts[part] !== other.#texts[part])
  }

  /** Canonical JSON of all six parts: the bytes by which two keys are the same. */
  toString(): string {
    const members = [...WORKER_PARTS].sort().map((part) => `${JSON.stringify(part)}:${this.#texts[part]}`)
    return `{${members.join(',')}}`
  }

  /** A name for evidence: SHA-256 of the canonical JSON. Owners compare the parts. */
  get digest(): string {
    return (this.#digest ??= `sha256:${createHash('sha256').update(this.toString()).digest('hex')}`)
  }
}

/**
 * Makes the key of six parts.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}, ERR_INVALID_LAUNCH_RECORD,
 *   ERR_INVALID_ENVIRONMENT_VARIABLE, ERR_INVALID_PHASE_TIMEOUTS
 * @throws {ReuseError} ERR_UNKNOWN_CACHE_POLICY; ERR_INCOMPATIBLE_TIMING_POLICY
 */
export function workerKey(value: WorkerParts): WorkerKey {
  const given = plainObject(value, 'worker') as Partial<Record<WorkerPart, unknown>>
  for (const name of Object.keys(given)) {
    if (!(WORKER_PARTS as readonly string[]).includes(name)) throw invalid(`worker.${name}`, 'is no part of a worker key')
  }
  for (const part of WORKER_PARTS) if (given[part] === undefined) throw invalid(`worker.${part}`, 'is required')
  const role = ROLES.find((known) => known === given.role)
  if (role === undefined) throw invalid('worker.role', `must be one of ${ROLES.join(', ')}`)
  const policy = readPolicy(given.policy, 'worker.policy')
  // Only an implementation has a reset: of any other worker nobody could say what a slot left in it.
  if (policy.workerReuse && role !== 'implementation') {
    throw invalid('worker.policy.workerReuse', `must be false: a worker in role ${role} cannot be reset`)
  }
  const parts: ReadParts = Object.freeze({
    role,
    definition: readJson(given.definition, 'worker.definition'),
    sourceBundle: readJson(given.sourceBundle, 'worker.sourceBundle'),
    environment: readJson(given.environment, 'worker.environment'),
    launch: readLaunchRecord(given.launch),
    policy,
  })
  return new WorkerKey(parts, {
    role: JSON.stringify(role),
    definition: jsonText(parts.definition, 'worker.definition'),
    sourceBundle: jsonText(parts.sourceBundle, 'worker.sourceBundle'),
    environment: jsonText(parts.environment, 'worker.environment'),
    launch: launchIdentity(parts.launch),
    policy: jsonText(policyIdentity(policy), 'worker.policy'),
  })
}
