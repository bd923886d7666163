/** Real workers, of fixtures/workers, and what must be so once one has ended. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { LaunchOptions } from '../../lib/worker/trusted-local.js'
import type { LaunchRecord, PhaseTimeouts, PosixWorkerProcess, Role, SessionTerms } from '../../lib/worker.js'
import { launchTrustedLocalWorker, WorkerSession } from '../../lib/worker.js'
import { checkedPid } from '../process/ends/children.js'
import { root } from './fixture.js'
import { childrenOf, processFacts } from './process-table.js'
import { until } from './until.js'

/** Rounds of a long test; more of them by EXACTSPAWN_ROUNDS. */
export const rounds = (few: number): number => Number(process.env['EXACTSPAWN_ROUNDS'] ?? few)

export const workerId = `mw1-resolved-worker-${'5'.repeat(64)}`

/** Longer than any phase takes that works. */
export const AMPLE_MS = 20_000

export const timeouts: PhaseTimeouts = Object.freeze({
  hello: AMPLE_MS,
  materialize: AMPLE_MS,
  prepare: AMPLE_MS,
  execute: AMPLE_MS,
  evaluate: AMPLE_MS,
  reset: AMPLE_MS,
  shutdown: AMPLE_MS,
})

export type Language = 'python' | 'node' | 'perl'

const scripts: Readonly<Record<Language, string>> = { python: 'sorting.py', node: 'sorting.mjs', perl: 'sorting.pl' }

/** A worker that does its work, in one of three languages. */
export function sortingWorker(language: Language = 'python'): LaunchRecord {
  const program = language === 'node' ? process.execPath : interpreter(language)
  return record(program, [worker(scripts[language])])
}

/** A worker that misbehaves: fixtures/workers/abuse.py says in which modes. */
export function abuse(mode: string, phases = 'execute', argument = ''): LaunchRecord {
  return record(interpreter('python'), ['-S', worker('abuse.py'), mode, phases, argument])
}

/** A worker that does, slot by slot, what `prepare` tells it: fixtures/workers/reused.py. */
export function reused(): LaunchRecord {
  return record(interpreter('python'), ['-S', worker('reused.py')])
}

export function record(program: string, args: readonly string[]): LaunchRecord {
  return { program, args, environment: {}, secretChannels: [] }
}

/** Starts a worker in a private root of its own; both are gone after the test. */
export async function launch(
  launched: LaunchRecord,
  options: Partial<LaunchOptions> = {},
): Promise<PosixWorkerProcess> {
  const logs = { stdoutBytes: 65_536, stderrBytes: 65_536 }
  const process = await launchTrustedLocalWorker(launched, { privateRoot: privateRoot(), logs, ...options })
  onTestFinished(() => process[Symbol.asyncDispose]())
  return process
}

export type Connected = Partial<SessionTerms> & { launch?: Partial<LaunchOptions> }

/** Starts a worker and connects; an implementation unless told. */
export async function connect(launched: LaunchRecord, { launch: options, ...terms }: Connected = {}) {
  const process = await launch(launched, options)
  const session = await WorkerSession.connect(process, { role: 'implementation', workerId, timeouts, ...terms })
  return { process, session }
}

/** A folder whose names and mode are fit for a private root. */
export function privateRoot(): string {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  onTestFinished(() => {
    // What is still there was to be removed with its worker.
    const left = readdirSync(folder)
    rmSync(folder, { recursive: true, force: true })
    expect(left).toEqual([])
  })
  return folder
}

/** Fields of requests, for workers that look at none of them. */
export const anyPrepare = {
  dataset_dir: '/',
  problem_contract_id: 'sorting',
  problem_parameters: {},
  implementation_parameters: {},
  implementation_seed: 1,
}

export const anyExecute = { result_dir: '/' }

/** The request that begins a phase, with any fields. */
export function begin(session: WorkerSession, phase: string, bounds: { signal?: AbortSignal } = {}): Promise<unknown> {
  switch (phase) {
    case 'materialize': {
      const fields = { source_dir: '/', dataset_parameters: { count: 1 }, dataset_seed: 1, output_dir: '/' }
      return session.materialize(fields, bounds)
    }
    case 'prepare':
      return session.prepare(anyPrepare, bounds)
    case 'execute':
      return session.execute(anyExecute, bounds)
    case 'evaluate': {
      const { implementation_parameters: _parameters, implementation_seed: _seed, ...fields } = anyPrepare
      return session.evaluate({ ...fields, result_dir: '/', metrics_path: '/dev/null' }, bounds)
    }
    case 'reset':
      return session.reset(bounds)
    case 'shutdown':
      return session.shutdown(bounds)
    default:
      throw new Error(`no phase ${phase}`)
  }
}

/** The role whose workers serve a phase. */
export function roleOf(phase: string): Role {
  if (phase === 'materialize') return 'dataset_materializer'
  return phase === 'evaluate' ? 'problem_evaluator' : 'implementation'
}

/** Gives what a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code: string; details: never }> {
  const outcome = await promise.then(
    () => 'none' as const,
    (error: unknown) => ({ error }),
  )
  if (outcome === 'none') throw new Error('it did not reject')
  return outcome.error as Error & { code: string; details: never }
}

/** Runs a call that must end the session with this error, and checks that nothing of the worker is left. */
export async function expectEnd(
  { session, process }: { session: WorkerSession; process: PosixWorkerProcess },
  call: Promise<unknown>,
  expected: { code: string; details: object },
): Promise<Error & { cause?: unknown }> {
  const error = await rejection(call)
  expect({ code: error.code, details: error.details }).toEqual(expected)
  expectGone(process)
  expect(session.usable).toBe(false)
  for (const phase of ['prepare', 'execute', 'reset', 'shutdown']) {
    const later = await rejection(begin(session, phase))
    expect(later).toMatchObject({ code: 'ERR_SESSION_UNUSABLE', details: { phase } })
    expect(later.cause).toBe(error)
  }
  return error
}

/** Connects, and checks that a phase ends the session with this error. */
export async function expectAbuse(
  launched: LaunchRecord,
  expected: { code: string; details: object },
  { phase = 'execute', ...terms }: Connected & { phase?: string } = {},
): Promise<Error & { cause?: unknown }> {
  const connected = await connect(launched, { role: roleOf(phase), ...terms })
  return await expectEnd(connected, begin(connected.session, phase), expected)
}

/** Checks that a worker is refused by this error when a session connects, and that nothing of it is left. */
export async function expectRefusal(
  launched: LaunchRecord,
  expected: { code: string; details: object },
  { launch: options, ...terms }: Connected = {},
): Promise<Error & { cause?: unknown }> {
  const process = await launch(launched, options)
  const all = { role: 'implementation', workerId, timeouts, ...terms } as const
  const error = await rejection(WorkerSession.connect(process, all))
  expect({ code: error.code, details: error.details }).toEqual(expected)
  expectGone(process)
  return error
}

/** Waits for the number of a process that the worker says it left. */
export async function said(process: PosixWorkerProcess, what: 'member' | 'escapee'): Promise<number> {
  const pid = await until(`a ${what} of ${process.pid}`, () => {
    const [, found] = new RegExp(`^${what} (\\d+)$`, 'm').exec(logText(process)) ?? []
    return found
  })
  return checkedPid(Number(pid))
}

export function logText(process: PosixWorkerProcess, stream: 'stdout' | 'stderr' = 'stdout'): string {
  return Buffer.from(process.logSnapshot()[stream].bytes).toString()
}

/** Checks that a worker has been reaped and its directory removed. */
export function expectGone(worker: PosixWorkerProcess): void {
  expect(worker.tryWait()).not.toBe(null)
  expect(childrenOf()).not.toContain(worker.pid)
  expect(processFacts(worker.pid)?.ppid).not.toBe(process.pid)
  expect(existsSync(worker.workingDirectory as string)).toBe(false)
}

function worker(script: string): string {
  return join(root, 'fixtures', 'workers', script)
}

function interpreter(name: string): string {
  const program = name === 'python' ? 'python3' : name
  // The system's own before one of PATH, which may be a script that needs an environment.
  const folders = ['/usr/bin', ...(process.env['PATH'] ?? '').split(delimiter)]
  const path = folders.map((folder) => join(folder, program)).find(existsSync)
  if (path === undefined) throw new Error(`${program} is missing`)
  return path
}
