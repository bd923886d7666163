/** What the tests of birth share: the ways to start, the births that need no capture, and failures with their proof. */
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { Child, SpawnSpec } from 'exactspawn'
import { capture, MiB, spawn } from 'exactspawn'
import { connectedAddon } from '../../../lib/addon/events.js'
import type { Mechanism, TestHooks } from '../../../lib/addon/addon-types.js'
import type { Audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { childrenOf, openFds } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'

/** Small by default, so that the suite stays quick; a soak run asks for more. */
export const rounds = (byDefault: number): number => Number(process.env['EXACTSPAWN_ROUNDS'] ?? byDefault)

const WAYS: Readonly<Record<Exclude<Mechanism, 'posix_spawn'>, TestHooks>> = {
  clone3: {},
  clone: { noClone3: true },
  fork: { forceFork: true },
}

/** Runs the same on each way to start; what it throws says on which. */
export async function onEachWay(run: (way: Mechanism) => Promise<void>): Promise<void> {
  for (const [way, hooks] of Object.entries(WAYS)) await withHooks(hooks, () => run(way as Mechanism), way)
}

export async function withHooks(hooks: TestHooks, run: () => Promise<void>, name = 'hooks'): Promise<void> {
  connectedAddon().setTestHooks(hooks)
  try {
    await run()
  } catch (error) {
    throw new Error(`by ${name}: ${(error as Error).message}`, { cause: error })
  } finally {
    connectedAddon().setTestHooks({})
  }
}

/** A birth reported into a file: no descriptor of the child is there for the test's sake. */
export async function auditIntoFile(spec: Partial<SpawnSpec> = {}): Promise<Audit> {
  const path = join(tmpFolder(), 'audit')
  const child = await spawn({ program: fixtureChild(), args: ['auditfile', path], env: {}, ...spec })
  const exit = await child.wait()
  if (exit.code !== 0) throw new Error(`audit ended with ${exit.code ?? exit.signal}`)
  return JSON.parse(readFileSync(path, 'utf8')) as Audit
}

/** Runs the fixture's verbs and gives what they wrote to 1 and 2. */
export async function output(args: readonly string[], spec: Partial<SpawnSpec> = {}): Promise<string> {
  const whole = capture({ headBytes: MiB })
  const fds = { 1: whole, 2: { sameAs: 1 }, ...spec.fds }
  const child = await spawn({ program: fixtureChild(), args, env: {}, ...spec, fds })
  const exit = await child.wait()
  return exit.logs[1]?.text() ?? ''
}

export interface HostFile {
  fd: number
  ino: string
  path: string
}

const opened: number[] = []

/** A file of its own, open in the host until the end of the test. */
export function openFile(flags: string | number = 'a+', content = ''): HostFile {
  const path = join(tmpFolder(), 'file')
  writeFileSync(path, content)
  return openPath(path, flags)
}

export function openPath(path: string, flags: string | number = 'r'): HostFile {
  const fd = openSync(path, flags)
  opened.push(fd)
  return { fd, path, ino: String(fstatSync(fd, { bigint: true }).ino) }
}

// Before the look for what a test left behind: hooks run in reverse.
afterEach(() => {
  for (const fd of opened.splice(0)) closeSync(fd)
})

/** An executable file, or one that is none. */
export function programFile(name: string, content: string | Uint8Array, mode = 0o755): string {
  const path = join(tmpFolder(), name)
  writeFileSync(path, content, { mode })
  return path
}

/** The parts of an error that tests compare. */
export interface Failure {
  name: string
  message: string
  code?: string
  details?: Record<string, unknown>
  cause?: { code?: string }
}

/** Gives what a call was rejected with; fails when it was not. */
export async function failure(promise: Promise<unknown>): Promise<Failure> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('value' in outcome) {
    await (outcome.value as Partial<Child> | undefined)?.[Symbol.asyncDispose]?.()
    throw new Error('resolved, and a rejection was due')
  }
  return outcome.error as Failure
}

export interface Aftermath {
  error: Failure
  /** Starts that native code was asked for. */
  starts: number
  /** Descriptors that the host has now and had not before, right after the rejection. */
  fds: string[]
  children: number[]
}

/** Runs a start that is rejected, and looks at what it left, at once. */
export async function aftermath(run: () => Promise<unknown>): Promise<Aftermath> {
  const native = connectedAddon()
  const { spawn: original } = native
  let starts = 0
  native.spawn = (numbers, bytes) => {
    starts++
    return original(numbers, bytes)
  }
  const describe = (): string[] => [...openFds()].map(([fd, target]) => `${fd} ${target}`)
  const before = { fds: describe(), children: childrenOf() }
  try {
    const error = await failure(run())
    const fds = describe().filter((entry) => !before.fds.includes(entry) && !entry.includes('/proc/'))
    return { error, starts, fds, children: childrenOf().filter((pid) => !before.children.includes(pid)) }
  } finally {
    native.spawn = original
  }
}
