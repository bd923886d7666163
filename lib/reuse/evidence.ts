/**
 * What is known of an attempt when it has ended, as JSON; docs/attempt-evidence.schema.json says the same. The names of
 * its fields are the record's own and stand apart from those of this package's calls.
 */
import type { ErrorJson } from '../base/errors.js'
import type { WorkerLog, WorkerLogSnapshot } from '../worker/log-snapshot.js'
import type { LogScope } from '../worker/log-snapshot.js'
import type { CachePolicy } from './execution-policy.js'
import type { JsonObject, JsonValue } from './json.js'
import type { LeftBehind } from './owned-worker.js'
import type { WorkerPart } from './worker-key.js'

export const EVIDENCE_VERSION = 1

/** Why a worker that was there was not used: what a slot left in it, or what else spoke against it. */
export type ReplacementReason = LeftBehind | 'key_changed' | 'secrets_changed' | 'earlier_failure'

export interface Replacement {
  /** The worker that was ended. */
  readonly instance: string
  readonly reasons: readonly ReplacementReason[]
  /** The parts of the key that changed; empty for other reasons. */
  readonly changed: readonly WorkerPart[]
}

/** One warm-up: a precondition of this process, never an observation. */
export interface WarmUpEvidence {
  readonly slot: JsonValue
  readonly index: number
  readonly implementation_seed: number
  readonly validation: 'valid' | 'invalid' | 'not_validated'
  readonly measurements?: JsonObject
  readonly result?: JsonValue
  readonly metrics?: JsonValue
  readonly failure?: ErrorJson
}

export interface WorkerReuseContext {
  readonly cache_policy: CachePolicy
  /** The process, by a name of its own: attempts that share one tell the same. Absent when none was started. */
  readonly worker?: {
    readonly instance: string
    readonly fresh: boolean
    /** Which of its slots the measured one was, warm-ups counted, from 1; 0 when it was not begun. */
    readonly slot_ordinal: number
  }
  /** Only when this attempt started the process. */
  readonly startup?: { readonly spawn_ns: number; readonly hello_ns: number }
  readonly replaced?: Replacement
  readonly warmups_on_this_attempt: readonly WarmUpEvidence[]
}

export interface LogEvidence {
  readonly scope: LogScope
  readonly complete: boolean
  readonly stdout: StreamEvidence
  readonly stderr: StreamEvidence
}

export interface StreamEvidence {
  readonly bytes_base64: string
  readonly total_bytes: number
  readonly truncated: boolean
}

interface Common {
  readonly evidence: typeof EVIDENCE_VERSION
  readonly wire_protocol: number
  readonly execution_semantics: number
  readonly attempt: string
  readonly lane: number | null
  readonly specification: string
  readonly slot: JsonValue
  readonly implementation_seed: number
  /** SHA-256 of the worker key. */
  readonly worker_key: string
  readonly context: { readonly worker_reuse: WorkerReuseContext }
  /** Absent when no worker was started. */
  readonly logs?: LogEvidence
}

/** An observation is in a completed attempt and nowhere else. */
export type AttemptEvidence =
  | (Common & { readonly outcome: 'completed'; readonly observation: JsonValue })
  | (Common & { readonly outcome: 'failed'; readonly failure: ErrorJson })

export function logEvidence({ scope, complete, stdout, stderr }: WorkerLogSnapshot): LogEvidence {
  return { scope, complete, stdout: streamEvidence(stdout), stderr: streamEvidence(stderr) }
}

function streamEvidence({ bytes, totalBytes, truncated }: WorkerLog): StreamEvidence {
  return { bytes_base64: Buffer.from(bytes).toString('base64'), total_bytes: totalBytes, truncated }
}
