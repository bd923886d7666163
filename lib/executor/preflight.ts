/** Requirement against capability, every line said outright: absence never means no [M-74]. */
import { CapabilityError } from '../base/errors.js'
import { plainObject } from '../process/plain-object.js'
import { invalid } from '../process/strings.js'

export type Support = 'supported' | 'unsupported'

/**
 * What a local executor can do. Private directories isolate working files; they restrict no access to others [M-77].
 */
export interface Capabilities {
  readonly privateWorkingDirectories: Support
  readonly processGroups: Support
  readonly cgroupContainment: Support
  readonly completeProcessTreeContainment: Support
  readonly filesystemIsolation: Support
}

export type CapabilityName = keyof Capabilities

/** What a run needs; a capability that is not named is not required. */
export type Requirements = { readonly [Name in CapabilityName]?: 'required' | 'not-required' }

export interface PreflightLine {
  readonly capability: CapabilityName
  readonly status: Support
  readonly required: boolean
  readonly reason: string
}

export interface PreflightReport {
  readonly satisfied: boolean
  readonly capabilities: Capabilities
  readonly lines: readonly PreflightLine[]
}

export const CAPABILITY_NAMES = [
  'privateWorkingDirectories',
  'processGroups',
  'cgroupContainment',
  'completeProcessTreeContainment',
  'filesystemIsolation',
] as const satisfies readonly CapabilityName[]

/**
 * Gives requirements as a frozen copy.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}: one that no executor knows, or that says neither
 */
export function readRequirements(value: unknown, field = 'requirements'): Requirements {
  const given = plainObject(value, field)
  for (const [name, need] of Object.entries(given)) {
    const where = `${field}.${name}`
    if (!(CAPABILITY_NAMES as readonly string[]).includes(name)) throw invalid(where, 'is no capability')
    if (need !== 'required' && need !== 'not-required') throw invalid(where, "must be 'required' or 'not-required'")
  }
  return Object.freeze({ ...given })
}

/** Why each line is what it is. */
export type Reasons = Readonly<Record<CapabilityName, string>>

/**
 * Makes the report.
 *
 * @throws {SpecError} ERR_INVALID_SPEC: a requirement that no executor knows
 */
export function compare(requirements: Requirements, capabilities: Capabilities, reasons: Reasons): PreflightReport {
  const needs = readRequirements(requirements)
  const lines = CAPABILITY_NAMES.map((capability) =>
    Object.freeze({
      capability,
      status: capabilities[capability],
      required: needs[capability] === 'required',
      reason: reasons[capability],
    }),
  )
  const satisfied = lines.every(({ status, required }) => !required || status === 'supported')
  return Object.freeze({ satisfied, capabilities, lines: Object.freeze(lines) })
}

/**
 * Throws what a report that is not satisfied means.
 *
 * @throws {CapabilityError} ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE; ERR_PREFLIGHT_FAILED for any other requirement
 */
export function requireSatisfied(report: PreflightReport): void {
  const missing = report.lines.filter(({ status, required }) => required && status === 'unsupported')
  const [first] = missing
  if (first === undefined) return
  // Named apart: it is the one that users most often believe to have.
  const tree = missing.find(({ capability }) => capability === 'completeProcessTreeContainment')
  if (tree !== undefined) {
    const details = { requirement: tree.capability, reason: tree.reason }
    throw new CapabilityError('ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE', details)
  }
  throw new CapabilityError('ERR_PREFLIGHT_FAILED', { requirement: first.capability, reason: first.reason })
}
