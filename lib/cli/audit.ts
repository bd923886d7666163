/**
 * One host of the audit, in a process of its own: it starts the same probe by node:child_process and by exactspawn and
 * asks the kernel about both.
 *
 * The probe is cat. It has answered a line when it is looked at, so that it waits for the next one in its main loop:
 * nothing of its start is left, and what /proc shows is what it was born with. No program of ours is needed, and none
 * takes part in what it reports about itself.
 */
import type { ChildProcess } from 'node:child_process'
import { spawn as nodeSpawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { addon } from '../addon/addon.js'
import { CHILD_NOFILE_SOFT } from '../base/limits.js'
import { RLIMIT } from '../process/controls.js'
import type { SpawnSpec } from '../process/spawn-spec.js'
import { spawn } from '../process/spawn.js'

/** What the kernel says of one probe. */
export interface ProbeFacts {
  /** By number, ascending: what each leads to. */
  readonly fds: readonly (readonly [fd: number, target: string])[]
  readonly env: readonly string[]
  readonly umask: string
  readonly ignored: readonly number[]
  readonly blocked: readonly number[]
  readonly ownGroup: boolean
  /** A number, or "unlimited". */
  readonly nofileSoft: string
}

/** What both ways gave, and what this host was like. */
export interface AuditFacts {
  readonly declared: { readonly env: readonly string[]; readonly umask: string; readonly nofileSoft: string }
  readonly childProcess: ProbeFacts
  readonly exactspawn: ProbeFacts
  /** What a start says when the working directory does not exist. */
  readonly missingCwd: { readonly childProcess: string; readonly exactspawn: string }
  /** How long one start holds the JavaScript thread: the median, in microseconds. */
  readonly heldUs: { readonly childProcess: number; readonly exactspawn: number }
}

const PROBE = { program: 'cat', searchPath: '/usr/bin:/bin' }
const ENV = { LANG: 'C.UTF-8' }
const UMASK = 0o077
const STARTS = 15

async function audit(): Promise<AuditFacts> {
  const spec: SpawnSpec = { ...PROBE, env: ENV, umask: UMASK, fds: { 0: 'pipe', 1: 'pipe', 2: 'null' } }
  const child = await spawn(spec)
  const exactspawn = await look(child.pid, child.stdin as Writable, child.stdout as Readable)
  child.stdin?.end()
  await child.wait()

  const { program } = child.receipt
  const hard = addon().limit(RLIMIT.nofile)[1]
  const nofileSoft = hard < 0 ? CHILD_NOFILE_SOFT : Math.min(CHILD_NOFILE_SOFT, hard)
  const other = nodeSpawn(program, [], { stdio: ['pipe', 'pipe', 'ignore'] })
  await once(other, 'spawn')
  const childProcess = await look(other.pid as number, other.stdin as Writable, other.stdout as Readable)
  other.stdin?.end()
  await once(other, 'close')

  return {
    declared: { env: Object.keys(ENV), umask: octal(UMASK), nofileSoft: String(nofileSoft) },
    childProcess,
    exactspawn,
    missingCwd: await missingCwd(program),
    heldUs: await held(program),
  }
}

/** Has the probe answer, then asks /proc about it: proc_pid_status(5), proc_pid_limits(5). */
async function look(pid: number, stdin: Writable, stdout: Readable): Promise<ProbeFacts> {
  stdin.write('ready\n')
  await once(stdout, 'data')
  const proc = `/proc/${pid}`
  const status = readFileSync(`${proc}/status`, 'latin1')
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1] ?? ''
  const stat = readFileSync(`${proc}/stat`, 'latin1')
  const [, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const variables = readFileSync(`${proc}/environ`, 'latin1').split('\0').filter(Boolean)
  const numbers = readdirSync(`${proc}/fd`).map(Number).sort((a, b) => a - b)
  return {
    fds: numbers.map((fd) => [fd, readlinkSync(`${proc}/fd/${fd}`)] as const),
    env: variables.map((entry) => entry.split('=')[0] as string),
    umask: field('Umask'),
    ignored: signalsIn(field('SigIgn')),
    blocked: signalsIn(field('SigBlk')),
    ownGroup: Number(group) === pid,
    nofileSoft: /^Max open files\s+(\S+)/m.exec(readFileSync(`${proc}/limits`, 'latin1'))?.[1] ?? '',
  }
}

function signalsIn(mask: string): number[] {
  const bits = BigInt(`0x${mask}`)
  return Array.from({ length: 64 }, (_, bit) => bit + 1).filter((signal) => (bits >> BigInt(signal - 1)) & 1n)
}

async function missingCwd(program: string): Promise<AuditFacts['missingCwd']> {
  const cwd = '/nonexistent'
  const [error] = (await once(nodeSpawn(program, [], { cwd, stdio: 'ignore' }), 'error')) as [Error]
  const ours = await spawn({ program, env: ENV, cwd }).then(
    () => 'started',
    (reason: Error) => reason.message,
  )
  return { childProcess: error.message, exactspawn: ours }
}

// Both by turns, so that neither has the warmer machine.
async function held(program: string): Promise<AuditFacts['heldUs']> {
  const times: { node: number; ours: number }[] = []
  for (let start = 0; start < STARTS; start++) {
    const before = performance.now()
    const other: ChildProcess = nodeSpawn(program, [], { stdio: 'ignore' })
    const between = performance.now()
    const started = spawn({ program, env: ENV })
    const after = performance.now()
    times.push({ node: between - before, ours: after - between })
    await Promise.all([started.then((child) => child.wait()), once(other, 'close')])
  }
  const median = (values: number[]) => Math.round((values.sort((a, b) => a - b)[STARTS >> 1] as number) * 1000)
  return { childProcess: median(times.map(({ node }) => node)), exactspawn: median(times.map(({ ours }) => ours)) }
}

const octal = (mask: number): string => mask.toString(8).padStart(4, '0')

if (require.main === module) {
  void audit().then((facts) => process.stdout.write(JSON.stringify(facts)))
}
