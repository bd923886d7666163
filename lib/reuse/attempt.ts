/** What an owner is asked to run: a measured slot, with the worker it needs and the warm-ups before it. */
import { deadlineAfter } from '../base/deadline.js'
import { EVIDENCE_JSON_MAX_LEVELS } from '../base/limits.js'
import { checkOptions } from '../process/options.js'
import { plainObject } from '../process/plain-object.js'
import { invalid } from '../process/strings.js'
import { readChannelSecrets } from '../worker/channel-secrets.js'
import type { ReadTerms } from '../worker/session-terms.js'
import { readSessionTerms } from '../worker/session-terms.js'
import type { LaunchOptions } from '../worker/trusted-local.js'
import { checkLaunch } from '../worker/trusted-local.js'
import type { JsonObject, JsonValue } from './json.js'
import { readJson } from './json.js'
import type { SlotSession } from './slot-session.js'
import type { WorkerParts } from './worker-key.js'
import { WorkerKey, workerKey } from './worker-key.js'

/** One warm-up as it was planned. */
export interface PlannedWarmUp {
  /** From 0, on each new process and for each new specification. */
  readonly index: number
  /** The resolved slot that the plan has at this index. */
  readonly slot: JsonValue
  readonly implementationSeed: number
}

/** What a warm-up gave. */
export interface WarmUpExecution {
  readonly measurements: JsonObject
  /** The result that is judged. */
  readonly result: JsonValue
}

/** What an independent evaluation says of it. */
export interface WarmUpVerdict {
  readonly valid: boolean
  readonly metrics?: JsonValue
  /** Why it is not valid. */
  readonly reason?: string
}

/** The planned warm-ups of a specification. */
export interface WarmUps {
  /** Resolved slots, in order; as many as the policy says. */
  readonly slots: readonly JsonValue[]
  /** Executes one; the planned index chooses seeds and records. */
  readonly run: (session: SlotSession, planned: PlannedWarmUp) => Promise<WarmUpExecution>
  /** Validates and evaluates what it gave. Its verdict holds. */
  readonly validate: (execution: WarmUpExecution, planned: PlannedWarmUp) => Promise<WarmUpVerdict>
}

/** One measured slot. */
export interface Attempt<T> {
  /** Names the attempt in events and evidence. */
  readonly id: string
  readonly worker: WorkerParts | WorkerKey
  /** The identity that the worker must repeat. */
  readonly workerId: string
  /** The logical specification: each new one repeats its warm-ups, also on a worker that stays. */
  readonly specification: string
  /** The same for all warm-ups and measurements of the specification; each `prepare` gets it. */
  readonly implementationSeed: number
  /** The resolved slot that is measured. */
  readonly slot: JsonValue
  readonly warmUps?: WarmUps
  /** What each slot may take, in milliseconds; absent: no limit but those of the phases. */
  readonly timeoutMs?: number
  /** Values for the channels that the launch record declares; another value needs another worker. */
  readonly secrets?: NonNullable<LaunchOptions['secrets']>
  /** Measures. Called once, never again. What it gives is the observation: JSON. */
  readonly measure: (session: SlotSession) => Promise<T>
}

/** An attempt as it was read. */
export interface ReadAttempt<T> extends Omit<Attempt<T>, 'worker' | 'workerId' | 'secrets' | 'warmUps'> {
  readonly key: WorkerKey
  readonly terms: ReadTerms
  readonly warmUps: WarmUps | undefined
  readonly secrets: ReadonlyMap<string, Uint8Array>
}

const FIELDS = [
  'id',
  'worker',
  'workerId',
  'specification',
  'implementationSeed',
  'slot',
  'warmUps',
  'timeoutMs',
  'secrets',
  'measure',
]

/**
 * Checks an attempt before it has any effect.
 *
 * @throws as workerKey; {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}; ERR_UNDECLARED_SECRET_CHANNEL {channel}
 * @throws {TypeError | RangeError} a time that is none
 */
export function readAttempt<T>(attempt: Attempt<T>): ReadAttempt<T> {
  const given = plainObject(attempt, 'attempt')
  for (const name of Object.keys(given)) if (!FIELDS.includes(name)) throw invalid(name, 'is no field of an attempt')
  const { worker, workerId, implementationSeed, timeoutMs, measure } = attempt
  const key = worker instanceof WorkerKey ? worker : workerKey(worker)
  const { role, policy } = key.parts
  if (!Number.isSafeInteger(implementationSeed) || implementationSeed < 0) {
    throw invalid('implementationSeed', 'must be an integer from 0 to 2^53 - 1')
  }
  if (typeof measure !== 'function') throw invalid('measure', 'must be a function')
  deadlineAfter(timeoutMs)
  const { launch } = key.parts
  const secrets = readChannelSecrets(launch.secretChannels, attempt.secrets)
  // What a start would refuse is refused here: by then the worker that was retained would have been ended.
  checkLaunch(launch, Object.fromEntries(secrets), policy.controls)
  return Object.freeze({
    id: readName(attempt.id, 'id'),
    key,
    terms: readSessionTerms({ role, workerId, timeouts: policy.timeouts }),
    specification: readName(attempt.specification, 'specification'),
    implementationSeed,
    slot: readJson(attempt.slot, 'slot', EVIDENCE_JSON_MAX_LEVELS),
    warmUps: readWarmUps(attempt.warmUps, policy.warmUps),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    secrets,
    measure,
  })
}

function readName(value: unknown, field: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(field, 'must be a string that is not empty')
  return readJson(value, field) as string
}

function readWarmUps(value: WarmUps | undefined, count: number): WarmUps | undefined {
  if (value === undefined) {
    if (count > 0) throw invalid('warmUps', `is required: the policy has ${count}`)
    return undefined
  }
  checkOptions(value, ['slots', 'run', 'validate'])
  const { slots, run, validate } = value
  for (const [name, call] of Object.entries({ run, validate })) {
    if (typeof call !== 'function') throw invalid(`warmUps.${name}`, 'must be a function')
  }
  if (!Array.isArray(slots)) throw invalid('warmUps.slots', 'must be an array')
  if (slots.length !== count) throw invalid('warmUps.slots', `has ${slots.length}, and the policy has ${count}`)
  const read = (slot: unknown, at: number) => readJson(slot, `warmUps.slots[${at}]`, EVIDENCE_JSON_MAX_LEVELS)
  return Object.freeze({ slots: Object.freeze(Array.from(slots, read)), run, validate })
}
