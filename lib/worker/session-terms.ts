/** What a session needs to know, checked before it takes anything over: a mistake of the host's costs no worker. */
import { checkSignal } from '../base/deadline.js'
import { CAPABILITIES, isWorkerId, ROLES, type Capability, type Role } from '../protocol/messages.js'
import { checkOptions } from '../process/options.js'
import { invalid } from '../process/strings.js'
import type { PhaseTimeouts } from './phases.js'
import { readPhaseTimeouts } from './phases.js'

export interface SessionTerms {
  readonly role: Role
  /** The identity that the worker must repeat. */
  readonly workerId: string
  /** Every phase, in milliseconds; none has a default. */
  readonly timeouts: PhaseTimeouts
  /** What the plan selects; only an implementation can have any, and has "one_shot" unless told. */
  readonly capabilities?: readonly Capability[]
  /** Bounds the connecting alone. */
  readonly signal?: AbortSignal
}

export type ReadTerms = Required<Omit<SessionTerms, 'signal'>> & Pick<SessionTerms, 'signal'>

/**
 * Checks the terms and gives them frozen.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC {field}; ERR_INVALID_PHASE_TIMEOUTS {field}
 * @throws {TypeError} a signal that is none
 */
export function readSessionTerms(terms: SessionTerms): ReadTerms {
  checkOptions(terms, ['role', 'workerId', 'timeouts', 'capabilities', 'signal'])
  const { role, workerId, signal } = terms
  if (!ROLES.includes(role)) throw invalid('role', `must be one of ${ROLES.join(', ')}`)
  if (!isWorkerId(workerId)) throw invalid('workerId', "must be 'mw1-resolved-worker-' and 64 digits of lower hex")
  checkSignal(signal)
  return Object.freeze({
    role,
    workerId,
    timeouts: readPhaseTimeouts(terms.timeouts),
    capabilities: readCapabilities(role, terms.capabilities),
    ...(signal === undefined ? {} : { signal }),
  })
}

function readCapabilities(role: Role, capabilities: unknown): readonly Capability[] {
  if (capabilities === undefined) return role === 'implementation' ? ['one_shot'] : []
  if (!Array.isArray(capabilities)) throw invalid('capabilities', 'must be an array')
  const list = Array.from(capabilities, (given: unknown, index) => {
    const capability = CAPABILITIES.find((known) => known === given)
    if (capability !== undefined) return capability
    throw invalid(`capabilities[${index}]`, `must be one of ${CAPABILITIES.join(', ')}`)
  })
  if (new Set(list).size !== list.length) throw invalid('capabilities', 'names one twice')
  return Object.freeze(list)
}
