/** The phases of a session and how long each may take. None has a default. */
import { SpecError } from '../base/errors.js'

export const PHASES = ['hello', 'materialize', 'prepare', 'execute', 'evaluate', 'reset', 'shutdown'] as const
export type Phase = (typeof PHASES)[number]

/** Milliseconds, for every phase, also those that a role never begins: a plan is complete or refused [MP-13]. */
export type PhaseTimeouts = Readonly<Record<Phase, number>>

/** @throws {SpecError} ERR_INVALID_PHASE_TIMEOUTS {field} */
export function readPhaseTimeouts(timeouts: unknown): PhaseTimeouts {
  const given = (typeof timeouts === 'object' && timeouts !== null ? timeouts : {}) as Record<string, unknown>
  for (const key of Object.keys(given)) {
    if (!(PHASES as readonly string[]).includes(key)) throw invalid(key, 'is no phase')
  }
  for (const phase of PHASES) {
    const limit = given[phase]
    if (limit === undefined) throw invalid(phase, 'is required')
    if (typeof limit === 'number' && Number.isFinite(limit) && limit > 0) continue
    throw invalid(phase, 'must be a finite number of milliseconds above 0')
  }
  return Object.freeze({ ...given }) as PhaseTimeouts
}

function invalid(field: string, reason: string): SpecError {
  return new SpecError('ERR_INVALID_PHASE_TIMEOUTS', { field, reason })
}
