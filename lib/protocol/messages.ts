/** The messages of wire protocol v1, as docs/protocol.md tells them to who writes a worker. */
import { count, matching, nonEmpty, nullOr, object, oneOf, setOf, shape, text } from './schema.js'
import type { Checks } from './schema.js'

/** The version of frames and messages; apart from what executing them means. */
export const WIRE_PROTOCOL_VERSION = 1

export const ROLES = ['dataset_materializer', 'implementation', 'problem_evaluator'] as const
export type Role = (typeof ROLES)[number]

export const CAPABILITIES = ['one_shot', 'applicability', 'fresh_sequence', 'streaming_profile'] as const
export type Capability = (typeof CAPABILITIES)[number]

/** Why a worker could not do what a request asked. */
export const FAILURE_CODES = ['invalid_request', 'unsupported_operation', 'operation_failed', 'internal_error'] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

export type JsonObject = Record<string, unknown>

/** What a request says, by method. */
export interface RequestFields {
  hello: { protocols: number[]; role: Role; worker_id: string }
  materialize: { source_dir: string; dataset_parameters: JsonObject; dataset_seed: number; output_dir: string }
  prepare: {
    dataset_dir: string
    problem_contract_id: string
    problem_parameters: JsonObject
    implementation_parameters: JsonObject
    implementation_seed: number
  }
  execute: { result_dir: string }
  reset: Record<never, never>
  evaluate: {
    dataset_dir: string
    result_dir: string
    problem_contract_id: string
    problem_parameters: JsonObject
    /** Where the worker leaves its metrics. */
    metrics_path: string
  }
  shutdown: Record<never, never>
}

/** What a response says beside `ok: true`, by method. */
export interface ResultFields {
  hello: {
    protocol: number
    worker_id: string
    /** Null for a worker that speaks the protocol by itself. */
    sdk: { name: string; version: string } | null
    capabilities: Capability[]
  }
  /** `manifest` is the worker's claim: resolve it beneath the directory that it was given. */
  materialize: { dataset: { manifest: string } }
  prepare: Record<never, never>
  execute: {
    result: { manifest: string }
    statistics: JsonObject
    /** As the worker measured it; null when it did not. */
    implementation_time_ns: number | null
  }
  reset: Record<never, never>
  evaluate: Record<never, never>
  shutdown: Record<never, never>
}

export type Method = keyof RequestFields

export type Request<M extends Method = Method> = M extends Method ? { id: string; method: M } & RequestFields[M] : never
export type Success<M extends Method = Method> = M extends Method ? { id: string; ok: true } & ResultFields[M] : never

export interface Failure {
  id: string
  ok: false
  error: { code: FailureCode; message: string; details?: JsonObject }
}

/** Which methods a worker serves beside `hello` and `shutdown`, which all do. */
export const METHODS_OF: Readonly<Record<Role, readonly Method[]>> = {
  dataset_materializer: ['materialize'],
  implementation: ['prepare', 'execute', 'reset'],
  problem_evaluator: ['evaluate'],
}

const WORKER_ID = /^mw1-resolved-worker-[0-9a-f]{64}$/
const workerId = matching(WORKER_ID, "'mw1-resolved-worker-' and 64 digits of lower hex")
const manifest = shape({ manifest: text })

const requestFields: Readonly<Record<Method, Checks>> = {
  hello: { protocols: nonEmpty(setOf(count)), role: oneOf(ROLES), worker_id: workerId },
  materialize: { source_dir: text, dataset_parameters: object, dataset_seed: count, output_dir: text },
  prepare: {
    dataset_dir: text,
    problem_contract_id: text,
    problem_parameters: object,
    implementation_parameters: object,
    implementation_seed: count,
  },
  execute: { result_dir: text },
  reset: {},
  evaluate: {
    dataset_dir: text,
    result_dir: text,
    problem_contract_id: text,
    problem_parameters: object,
    metrics_path: text,
  },
  shutdown: {},
}

const resultFields: Readonly<Record<Method, Checks>> = {
  hello: {
    protocol: count,
    worker_id: workerId,
    sdk: nullOr(shape({ name: text, version: text })),
    capabilities: setOf(oneOf(CAPABILITIES)),
  },
  materialize: { dataset: manifest },
  prepare: {},
  execute: { result: manifest, statistics: object, implementation_time_ns: nullOr(count) },
  reset: {},
  evaluate: {},
  shutdown: {},
}

const METHODS = Object.keys(requestFields) as Method[]

const failure = shape({
  id: text,
  ok: oneOf([false]),
  error: shape({ code: oneOf(FAILURE_CODES), message: text }, { details: object }),
})

/** Tells whether a value is the identity of a resolved worker. */
export function isWorkerId(value: unknown): value is string {
  return typeof value === 'string' && WORKER_ID.test(value)
}

/**
 * Gives a value back as the request that it is.
 *
 * @throws {ProtocolError} ERR_MESSAGE_INVALID: a field is missing, unknown or wrong
 */
export function asRequest(value: unknown): Request {
  object(value, '')
  const { method } = value as { method?: unknown }
  // Without a known method nothing says which fields there are.
  oneOf(METHODS)(method, 'method')
  shape({ id: text, method: oneOf(METHODS), ...requestFields[method as Method] })(value, '')
  return value as Request
}

/**
 * Checks some of the fields of a request.
 *
 * @throws {ProtocolError} ERR_MESSAGE_INVALID: a field is unknown or wrong
 */
export function checkRequestFields(method: Method, fields: unknown): void {
  shape({}, requestFields[method])(fields, '')
}

/**
 * Gives a value back as the response to a method that it is.
 *
 * @throws {ProtocolError} ERR_MESSAGE_INVALID: a field is missing, unknown or wrong
 */
export function asResponse<M extends Method>(method: M, value: unknown): Success<M> | Failure {
  object(value, '')
  const { ok } = value as { ok?: unknown }
  const success = shape({ id: text, ok: oneOf([true]), ...resultFields[method] })
  if (ok === false) failure(value, '')
  else success(value, '')
  return value as Success<M> | Failure
}
