/** Owners of real workers, and attempts that tell them what to do: fixtures/workers/reused.py. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { LocalProcessExecutor } from '../../lib/executor.js'
import type { Attempt, WarmUps } from '../../lib/reuse/attempt.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import type { ExecutionPolicy } from '../../lib/reuse/execution-policy.js'
import type { JsonValue } from '../../lib/reuse/json.js'
import type { OwnerEvent } from '../../lib/reuse/owner-events.js'
import type { SlotSession } from '../../lib/reuse/slot-session.js'
import type { WorkerParts } from '../../lib/reuse/worker-key.js'
import type { WorkerOwnerOptions } from '../../lib/reuse/worker-owner.js'
import { WorkerOwner } from '../../lib/reuse/worker-owner.js'
import type { PhaseTimeouts } from '../../lib/worker.js'
import { alive, childrenOf } from './process-table.js'
import { until } from './until.js'
import { anyExecute, anyPrepare, reused, timeouts, workerId } from './worker.js'

export const logs = { stdoutBytes: 4_096, stderrBytes: 4_096 }

/** What a slot asks of its worker. */
export interface Acts {
  prepare?: unknown[]
  execute?: unknown[]
  reset?: unknown[]
  keep?: boolean
}

/** What the worker found, did and is. */
export interface Facts {
  pid: number
  executes: number
  remembered: number
  seed: number
  found: string[]
}

/** An executor whose root must be empty, and no child left, when the test has ended. */
export function localExecutor(limits = logs): LocalProcessExecutor {
  const privateRoot = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  onTestFinished(() => {
    const left = readdirSync(privateRoot)
    rmSync(privateRoot, { recursive: true, force: true })
    expect(left).toEqual([])
    expect(childrenOf()).toEqual([])
  })
  return new LocalProcessExecutor({ privateRoot, logs: limits })
}

/** An owner with all that it tells and publishes; ends with the scope. */
export function ownerOf(options: Partial<WorkerOwnerOptions> = {}) {
  const events: OwnerEvent[] = []
  const published: AttemptEvidence[] = []
  const owner = new WorkerOwner({
    executor: localExecutor(),
    publish: (evidence) => void published.push(evidence),
    onEvent: (event) => void events.push(event),
    ...options,
  })
  return { owner, events, published, [Symbol.asyncDispose]: () => owner[Symbol.asyncDispose]() }
}

/** A promise and what settles it. */
export function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

/** The types of events, with the step or the index where there is one. */
export const told = (events: readonly OwnerEvent[]): string[] => {
  return events.map((event) => {
    if (event.type === 'cleaning') return event.step
    return event.type === 'warming-up' ? `warm-up ${event.index}` : event.type
  })
}

export function policyOf(changes: Partial<ExecutionPolicy> = {}): ExecutionPolicy {
  const cachePolicy = 'no_persistent_caches'
  return { workerReuse: true, cachePolicy, timing: 'steady_state', warmUps: 0, timeouts, ...changes }
}

export const phaseLimits = (changes: Partial<PhaseTimeouts>): PhaseTimeouts => ({ ...timeouts, ...changes })

export function partsOf(policy: Partial<ExecutionPolicy> = {}, parts: Partial<WorkerParts> = {}): WorkerParts {
  return {
    role: 'implementation',
    definition: { name: 'reused' },
    sourceBundle: 'sha256:0',
    environment: {},
    launch: reused(),
    policy: policyOf(policy),
    ...parts,
  }
}

/** One slot of such a worker. */
export async function work(session: SlotSession, acts: Acts = {}): Promise<Facts> {
  const { implementation_seed: _seed, ...fields } = anyPrepare
  await session.prepare({ ...fields, implementation_parameters: { ...acts } })
  const { statistics } = await session.execute(anyExecute)
  return statistics as unknown as Facts
}

/** Such a slot, done when its worker's words have been drained. */
export function heard(acts: Acts, word: RegExp): (session: SlotSession) => Promise<Facts> {
  return async (session) => {
    const facts = await work(session, acts)
    await until(`${String(word)} in the log`, () => word.test(Buffer.from(session.logSnapshot().stdout.bytes).toString()))
    return facts
  }
}

let attempts = 0

export function attemptOf(acts: Acts = {}, changes: Partial<Attempt<Facts>> = {}): Attempt<Facts> {
  return {
    id: `attempt-${attempts++}`,
    worker: partsOf(),
    workerId,
    specification: 'one',
    implementationSeed: 7,
    slot: { dataset: 'a' },
    measure: (session) => work(session, acts),
    ...changes,
  }
}

/** Warm-ups that the worker executes, by the acts of each index, and that are all valid. */
export function warmUpsOf(acts: readonly Acts[], changes: Partial<WarmUps> = {}): WarmUps {
  return {
    slots: acts.map((_, index) => ({ dataset: `warm-${index}` })),
    run: async (session, { index }) => {
      const facts = await work(session, acts[index])
      return { measurements: { executes: facts.executes }, result: facts as unknown as JsonValue }
    },
    validate: async () => ({ valid: true, metrics: { score: 1 } }),
    ...changes,
  }
}

/** An attempt with warm-ups. */
export function warmedAttempt(acts: readonly Acts[], changes: Partial<Attempt<Facts>> = {}, warmUps = warmUpsOf(acts)) {
  return attemptOf({}, { worker: partsOf({ warmUps: acts.length }), warmUps, ...changes })
}

/** Checks that nothing is held, and that the worker has gone. */
export async function expectNothingRetained(owner: WorkerOwner, pid?: number): Promise<void> {
  expect(owner.retained).toBe(null)
  expect(childrenOf()).toEqual([])
  if (pid !== undefined) await until(`the end of ${pid}`, () => !alive(pid))
}
