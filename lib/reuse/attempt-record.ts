/** Gathers the evidence of one attempt while it runs. */
import type { Redactor } from '../io/redactor.js'
import { redactValue } from '../io/redactor.js'
import { WIRE_PROTOCOL_VERSION } from '../protocol/messages.js'
import type { WorkerLogSnapshot } from '../worker/log-snapshot.js'
import { EXECUTION_SEMANTICS_VERSION } from '../worker/semantics.js'
import type { PlannedWarmUp, ReadAttempt, WarmUpExecution } from './attempt.js'
import type { AttemptEvidence, Replacement, WarmUpEvidence, WorkerReuseContext } from './evidence.js'
import { EVIDENCE_VERSION, logEvidence } from './evidence.js'
import { failureEvidence } from './failure-evidence.js'
import type { JsonValue } from './json.js'
import { readJson } from './json.js'
import type { OwnedWorker } from './owned-worker.js'

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

/** One warm-up of the record. */
export interface WarmUpEntry {
  executed(execution: WarmUpExecution): void
  judged(verdict: { valid: boolean; metrics: JsonValue }): void
  failed(error: Error): void
}

export class AttemptRecord {
  readonly #attempt: ReadAttempt<unknown>
  readonly #lane: number | undefined
  readonly #warmUps: Writable<WarmUpEvidence>[] = []
  #worker: OwnedWorker | undefined
  #fresh = false
  #replaced: Replacement | undefined
  #slotOrdinal = 0

  constructor(attempt: ReadAttempt<unknown>, lane: number | undefined) {
    this.#attempt = attempt
    this.#lane = lane
  }

  replaced(replacement: Replacement): void {
    this.#replaced = replacement
  }

  /** Says which worker the attempt has from here on; none while one is launched. */
  uses(worker: OwnedWorker | undefined, fresh: boolean): void {
    this.#worker = worker
    this.#fresh = fresh
  }

  beginWarmUp({ slot, index, implementationSeed }: PlannedWarmUp): WarmUpEntry {
    const entry: Writable<WarmUpEvidence> = {
      slot,
      index,
      implementation_seed: implementationSeed,
      validation: 'not_validated',
    }
    this.#warmUps.push(entry)
    return {
      executed: ({ measurements, result }) => void Object.assign(entry, { measurements, result }),
      judged: ({ valid, metrics }) => {
        entry.validation = valid ? 'valid' : 'invalid'
        entry.metrics = metrics
      },
      failed: (error) => void (entry.failure = failureEvidence(error, this.#worker?.process.redact)),
    }
  }

  beginSlot(): void {
    this.#slotOrdinal = ++(this.#worker as OwnedWorker).slots
  }

  completed(observation: JsonValue, logs: WorkerLogSnapshot): AttemptEvidence {
    return this.#evidence({ outcome: 'completed', observation: this.#clean(observation), logs: logEvidence(logs) })
  }

  failed(error: Error): AttemptEvidence {
    // What it said until its end: whether it has ended is no matter of a snapshot.
    const logs = this.#worker === undefined ? {} : { logs: logEvidence(this.#worker.process.logSnapshot()) }
    return this.#evidence({ outcome: 'failed', failure: failureEvidence(error, this.#worker?.process.redact), ...logs })
  }

  #evidence(end: object): AttemptEvidence {
    const { id, key, specification, slot, implementationSeed } = this.#attempt
    const evidence = {
      evidence: EVIDENCE_VERSION,
      wire_protocol: WIRE_PROTOCOL_VERSION,
      execution_semantics: EXECUTION_SEMANTICS_VERSION,
      attempt: id,
      lane: this.#lane ?? null,
      specification,
      slot,
      implementation_seed: implementationSeed,
      worker_key: key.digest,
      context: { worker_reuse: this.#context() },
      ...end,
    }
    return readJson(evidence, 'evidence') as unknown as AttemptEvidence
  }

  #context(): WorkerReuseContext {
    const worker = this.#worker
    const { startup } = worker ?? {}
    const used =
      worker === undefined
        ? {}
        : { worker: { instance: worker.instance, fresh: this.#fresh, slot_ordinal: this.#slotOrdinal } }
    return {
      cache_policy: this.#attempt.key.parts.policy.cachePolicy,
      ...used,
      // A start that never came to its greeting has no measurement that could be compared with one.
      ...(this.#fresh && startup ? { startup: { spawn_ns: startup.spawnNs, hello_ns: startup.helloNs } } : {}),
      ...(this.#replaced === undefined ? {} : { replaced: this.#replaced }),
      warmups_on_this_attempt: this.#warmUps.map((entry) => this.#cleanWarmUp(entry)),
    }
  }

  // What the worker said may hold its secrets; what was planned may not.
  #cleanWarmUp({ measurements, result, metrics, failure, ...planned }: WarmUpEvidence): WarmUpEvidence {
    const said = Object.entries({ measurements, result, metrics }).filter(([, value]) => value !== undefined)
    return { ...planned, ...(this.#clean(Object.fromEntries(said)) as object), ...(failure === undefined ? {} : { failure }) }
  }

  #clean<T>(value: T): T {
    const redact: Redactor | undefined = this.#worker?.process.redact
    return redact === undefined ? value : (redactValue(redact, value, true) as T)
  }
}
