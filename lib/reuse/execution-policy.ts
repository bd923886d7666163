/**
 * How attempts are executed: all that could make two of them different although they run the same program. The whole
 * of it is a part of the worker key.
 */
import { ReuseError } from '../base/errors.js'
import type { LocalControls } from '../executor/local-controls.js'
import { readLocalControls } from '../executor/local-controls.js'
import type { Requirements } from '../executor/preflight.js'
import { readRequirements } from '../executor/preflight.js'
import { plainObject } from '../process/plain-object.js'
import { invalid } from '../process/strings.js'
import type { PhaseTimeouts } from '../worker/phases.js'
import { readPhaseTimeouts } from '../worker/phases.js'
import type { JsonObject } from './json.js'
import { readJson } from './json.js'

/**
 * What may stay in a worker's private directory between two slots. There is one policy: nothing. Another one
 * would be a name here, and so in every worker key.
 */
export const CACHE_POLICIES = ['no_persistent_caches'] as const
export type CachePolicy = (typeof CACHE_POLICIES)[number]

/** What a measurement includes: all from the launch on, or the work of a worker that runs. */
export const TIMINGS = ['cold_end_to_end', 'steady_state'] as const
export type Timing = (typeof TIMINGS)[number]

export interface ExecutionPolicy {
  /** Whether a worker may serve more than one slot. False is freshness of the process, and no isolation. */
  readonly workerReuse: boolean
  readonly cachePolicy: CachePolicy
  readonly timing: Timing
  /** Unmeasured slots on each new process and for each new specification. */
  readonly warmUps: number
  /** Of every phase, in milliseconds; those of `reset` and `hello` bound what no measured time includes. */
  readonly timeouts: PhaseTimeouts
  /** For the executor. */
  readonly requirements?: Requirements
  /** For the executor. */
  readonly controls?: LocalControls
  /** Whatever else the caller's policy says. JSON; it is compared and otherwise left alone. */
  readonly settings?: JsonObject
}

const FIELDS = ['workerReuse', 'cachePolicy', 'timing', 'warmUps', 'timeouts', 'requirements', 'controls', 'settings']

/**
 * Checks a policy and gives it as a copy, frozen all through. What is absent says the same as what is empty.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}; ERR_INVALID_PHASE_TIMEOUTS {field}
 * @throws {CapabilityError} ERR_UNSUPPORTED_CONTROL
 * @throws {ReuseError} ERR_UNKNOWN_CACHE_POLICY; ERR_INCOMPATIBLE_TIMING_POLICY
 */
export function readPolicy(value: unknown, field = 'policy'): Required<ExecutionPolicy> {
  const given = plainObject(value, field)
  for (const key of Object.keys(given)) {
    if (!FIELDS.includes(key)) throw invalid(`${field}.${key}`, 'is no field of an execution policy')
  }
  const { workerReuse, cachePolicy, timing, warmUps, requirements = {}, controls = {}, settings = {} } = given
  if (typeof workerReuse !== 'boolean') throw invalid(`${field}.workerReuse`, 'must be true or false')
  if (!TIMINGS.includes(timing as Timing)) throw invalid(`${field}.timing`, `must be one of ${TIMINGS.join(', ')}`)
  if (!Number.isSafeInteger(warmUps) || (warmUps as number) < 0) {
    throw invalid(`${field}.warmUps`, 'must be an integer of 0 or more')
  }
  const policy: Required<ExecutionPolicy> = Object.freeze({
    workerReuse,
    cachePolicy: readCachePolicy(cachePolicy, `${field}.cachePolicy`),
    timing: timing as Timing,
    warmUps: warmUps as number,
    timeouts: readPhaseTimeouts(given['timeouts']),
    requirements: readRequirements(requirements, `${field}.requirements`),
    controls: readLocalControls(controls, `${field}.controls`),
    settings: readJson(plainObject(settings, `${field}.settings`), `${field}.settings`) as JsonObject,
  })
  checkTiming(policy, field)
  return policy
}

/** Gives what of a policy is compared: the same for two that ask the same. */
export function policyIdentity({ requirements, controls, ...policy }: Required<ExecutionPolicy>): JsonObject {
  const required = Object.entries(requirements).filter(([, need]) => need === 'required')
  return { ...policy, requirements: Object.fromEntries(required), controls: withoutInfinity(controls) } as JsonObject
}

function readCachePolicy(value: unknown, field: string): CachePolicy {
  if (typeof value !== 'string') throw invalid(field, `must be one of ${CACHE_POLICIES.join(', ')}`)
  const known = CACHE_POLICIES.find((name) => name === value)
  if (known !== undefined) return known
  throw new ReuseError('ERR_UNKNOWN_CACHE_POLICY', { field, policy: value, known: CACHE_POLICIES })
}

function checkTiming({ timing, workerReuse, warmUps }: ExecutionPolicy, field: string): void {
  const refuse = (name: string, reason: string) => {
    throw new ReuseError('ERR_INCOMPATIBLE_TIMING_POLICY', { field: `${field}.${name}`, timing, reason })
  }
  if (timing === 'cold_end_to_end' && workerReuse) refuse('workerReuse', 'must be false: a worker that runs is not cold')
  if (timing === 'cold_end_to_end' && warmUps > 0) refuse('warmUps', 'must be 0: a worker that is warm is not cold')
  if (warmUps > 0 && !workerReuse) refuse('warmUps', 'must be 0: the worker goes before anything could be measured on it')
}

// A limit may be Infinity, which JSON has no word for.
function withoutInfinity(value: unknown): unknown {
  if (value === Infinity) return 'Infinity'
  if (Array.isArray(value)) return value.map(withoutInfinity)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutInfinity(item)]))
}
