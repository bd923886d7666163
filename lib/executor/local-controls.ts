/** The resource controls of local workers: checked by value, and kept as nobody else's. */
import { CapabilityError, ExactSpawnError, SpecError } from '../base/errors.js'
import { isPlainObject, plainObject } from '../process/plain-object.js'
import { checkSpec } from '../process/spawn-spec.js'
import { invalid } from '../process/strings.js'
import type { WorkerControls } from '../worker/trusted-local.js'

export type LocalControls = Omit<WorkerControls, 'cgroup'>

const CONTROLS: readonly string[] = [
  'limits',
  'nice',
  'affinity',
  'uid',
  'gid',
  'groups',
  'noNewPrivs',
  'guard',
] satisfies (keyof LocalControls)[]

/**
 * Checks the names. The core has fields that are the transport's here, such as `lifetime`: none may slip through.
 *
 * @throws {CapabilityError} ERR_UNSUPPORTED_CONTROL
 */
export function checkControlNames(controls: unknown, field = 'controls'): LocalControls {
  const given = plainObject(controls, field)
  for (const control of Object.keys(given)) {
    if (CONTROLS.includes(control)) continue
    throw new CapabilityError('ERR_UNSUPPORTED_CONTROL', { control, reason: `there are ${CONTROLS.join(', ')}` })
  }
  return given as LocalControls
}

/**
 * Checks the values too, and gives them as a copy, frozen all through. What is undefined is absent.
 *
 * @throws {CapabilityError} ERR_UNSUPPORTED_CONTROL
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}: a value that no start could take
 */
export function readLocalControls(value: unknown, field: string): LocalControls {
  const controls = frozenCopy(checkControlNames(value, field), field) as LocalControls
  try {
    checkSpec({ ...controls, program: '/', env: {} })
  } catch (error) {
    if (!ExactSpawnError.is(error, 'ERR_INVALID_SPEC')) throw error
    const { details, cause } = error as typeof error & { cause?: unknown }
    const options = cause === undefined ? {} : { cause }
    throw new SpecError('ERR_INVALID_SPEC', { ...details, field: `${field}.${details.field}` }, options)
  }
  return controls
}

function frozenCopy(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(Array.from(value, (item, at) => frozenCopy(item, `${field}[${at}]`)))
  if (!isPlainObject(value)) throw invalid(field, 'must be plain data')
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.freeze(Object.fromEntries(entries.map(([key, item]) => [key, frozenCopy(item, `${field}.${key}`)])))
}
