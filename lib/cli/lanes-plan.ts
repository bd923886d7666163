/** The plan of a run with lanes: a worker, and specifications with their warm-ups and measured slots. */
import { LANES_MAX } from '../base/limits.js'
import type { RequestFields, ResultFields } from '../protocol/messages.js'
import { checkRequestFields } from '../protocol/messages.js'
import type { Attempt, WarmUps } from '../reuse/attempt.js'
import { readAttempt } from '../reuse/attempt.js'
import type { JsonObject, JsonValue } from '../reuse/json.js'
import type { SlotSession } from '../reuse/slot-session.js'
import type { WorkerKey, WorkerParts } from '../reuse/worker-key.js'
import { workerKey } from '../reuse/worker-key.js'
import { UsageError } from './arguments.js'
import { readJsonFile } from './json-file.js'
import { SMALLEST_PROBLEM, workerIdOf } from './worker-exercise.js'

type Fields = { readonly prepare?: JsonObject; readonly execute?: JsonObject }

export interface Batch {
  readonly specification: string
  readonly attempts: readonly Attempt<JsonValue>[]
}

export interface LanesPlan {
  readonly lanes: number
  /** One for each specification, in order. */
  readonly batches: readonly Batch[]
}

const PLAN_FIELDS = ['lanes', 'worker', 'workerId', 'timeoutMs', 'specifications']
const SPECIFICATION_FIELDS = ['name', 'implementationSeed', 'prepare', 'execute', 'warmUps', 'slots']

/**
 * Reads a plan.
 *
 * @throws {UsageError} what it says cannot be meant, with the field
 * @throws as workerKey
 */
export function readPlan(path: string): LanesPlan {
  const plan = fieldsOf(readJsonFile(path), path, PLAN_FIELDS)
  const { lanes, workerId, timeoutMs, specifications } = plan
  if (!Number.isSafeInteger(lanes) || (lanes as number) < 1 || (lanes as number) > LANES_MAX) {
    throw refused(path, 'lanes', `an integer from 1 to ${LANES_MAX}`)
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw refused(path, 'timeoutMs', 'a number of milliseconds, 0 or more')
  }
  if (!Array.isArray(specifications)) throw refused(path, 'specifications', 'an array')
  const key = workerKey(plan['worker'] as unknown as WorkerParts)
  const common = {
    worker: key,
    workerId: workerId === undefined ? workerIdOf(key.parts.launch) : (workerId as string),
    ...(timeoutMs === undefined ? {} : { timeoutMs: timeoutMs as number }),
  }
  const batches = specifications.map((given: JsonValue, at) => readBatch(given, `${path}: specifications[${at}]`, common))
  checkNames(path, batches)
  return { lanes: lanes as number, batches }
}

type Common = { readonly worker: WorkerKey; readonly workerId: string; readonly timeoutMs?: number }

function readBatch(given: JsonValue, where: string, common: Common): Batch {
  const { name, implementationSeed = 0, warmUps = [], slots, ...fields } = fieldsOf(given, where, SPECIFICATION_FIELDS)
  if (typeof name !== 'string' || name === '') throw refused(where, 'name', 'a string that is not empty')
  if (!Array.isArray(warmUps)) throw refused(where, 'warmUps', 'an array')
  if (!Array.isArray(slots)) throw refused(where, 'slots', 'an array')
  const base = readSlot(fields, where)
  const plan: WarmUps = {
    slots: warmUps.map((slot: JsonValue, at) => over(base, readSlot(slot, `${where}.warmUps[${at}]`)) as JsonObject),
    run: async (session, { slot }) => {
      const { implementation_time_ns, ...result } = await work(session, slot as Fields)
      return { measurements: { implementation_time_ns }, result: result as unknown as JsonObject }
    },
    // Whoever has an evaluator writes a program: here an answer is what there is to judge.
    validate: async ({ result }) => ({ valid: true, metrics: (result as JsonObject)['statistics'] as JsonValue }),
  }
  const attempts = slots.map((given: JsonValue, at): Attempt<JsonValue> => {
    const slot = over(base, readSlot(given, `${where}.slots[${at}]`))
    return {
      ...common,
      id: `${name}/${at}`,
      specification: name,
      implementationSeed: implementationSeed as number,
      slot: slot as JsonObject,
      ...(warmUps.length === 0 ? {} : { warmUps: plan }),
      measure: async (session) => (await work(session, slot)) as unknown as JsonValue,
    }
  })
  // Here and not when its batch comes: the batches before it would have run by then.
  attempts.forEach((attempt, at) => checkAttempt(attempt, attempts.length === 1 ? where : `${where}.slots[${at}]`))
  return { specification: name, attempts }
}

function checkAttempt(attempt: Attempt<JsonValue>, where: string): void {
  try {
    readAttempt(attempt)
  } catch (error) {
    throw new UsageError(`${where}: ${(error as Error).message}`)
  }
}

// A specification keeps its seed and its warm-ups: a second one of the same name would be refused slot by slot.
function checkNames(path: string, batches: readonly Batch[]): void {
  const seen = new Set<string>()
  batches.forEach(({ specification }, at) => {
    if (seen.has(specification)) throw refused(`${path}: specifications[${at}]`, 'name', 'one that no other has')
    seen.add(specification)
  })
}

async function work(session: SlotSession, { prepare, execute }: Fields): Promise<ResultFields['execute']> {
  await session.prepare(prepare as unknown as RequestFields['prepare'])
  return await session.execute(execute as unknown as RequestFields['execute'])
}

// The smallest requests that are any, as in `worker check`.
const SMALLEST: Required<Fields> = {
  prepare: { dataset_dir: '/', ...SMALLEST_PROBLEM, implementation_parameters: {} },
  execute: { result_dir: '/' },
}

function over(base: Fields, slot: Fields): Required<Fields> {
  return {
    prepare: { ...SMALLEST.prepare, ...base.prepare, ...slot.prepare },
    execute: { ...SMALLEST.execute, ...base.execute, ...slot.execute },
  }
}

function readSlot(given: JsonValue, where: string): Fields {
  const fields = fieldsOf(given, where, ['prepare', 'execute']) as Fields
  for (const [method, said] of Object.entries(fields)) {
    if (method === 'prepare' && Object.hasOwn(said, 'implementation_seed')) {
      throw refused(where, 'prepare.implementation_seed', 'absent: a specification has one seed, implementationSeed')
    }
    try {
      checkRequestFields(method as 'prepare' | 'execute', said)
    } catch (error) {
      throw new UsageError(`${where}: ${method}: ${(error as Error).message}`)
    }
  }
  return fields
}

function fieldsOf(given: unknown, where: string, known: readonly string[]): Record<string, JsonValue> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new UsageError(`${where}: must be an object`)
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) throw new UsageError(`${where}: ${name} is no field; there are ${known.join(', ')}`)
  }
  return given as Record<string, JsonValue>
}

function refused(where: string, field: string, right: string): UsageError {
  return new UsageError(`${where}: ${field} must be ${right}`)
}
