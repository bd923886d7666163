/** Values that go into identities and evidence: JSON, copied and frozen, so that nobody changes them afterwards. */
import { ExactSpawnError } from '../base/errors.js'
import { invalid } from '../process/strings.js'
import { canonicalJson } from '../protocol/canonical-json.js'

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/**
 * Gives a copy of a JSON value, frozen all through.
 *
 * @param maxLevels how deep it may be nested; as a message unless told
 * @throws {SpecError} ERR_INVALID_SPEC {field}: something that JSON cannot say, or not say unmistakably
 */
export function readJson(value: unknown, field: string, maxLevels?: number): JsonValue {
  return freeze(JSON.parse(jsonText(value, field, maxLevels)) as JsonValue)
}

/** Gives the canonical text of a JSON value. Throws as readJson. */
export function jsonText(value: unknown, field: string, maxLevels?: number): string {
  try {
    return canonicalJson(value, maxLevels)
  } catch (error) {
    if (!ExactSpawnError.is(error, 'ERR_MESSAGE_INVALID')) throw error
    const { field: inner, reason } = error.details
    const joint = inner === '' || inner.startsWith('[') ? '' : '.'
    throw invalid(`${field}${joint}${inner}`, reason)
  }
}

function freeze(value: JsonValue): JsonValue {
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) freeze(item as JsonValue)
  return Object.freeze(value)
}
