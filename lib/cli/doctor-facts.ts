/** What this machine offers, tried as a start tries it. docs/platform.md says what each line means. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { arch, release } from 'node:os'
import { addon, addonFile } from '../addon/addon.js'
import type { Mechanism, NativeCapabilities } from '../addon/addon-types.js'
import { runTask } from '../addon/events.js'
import { detectLibc } from '../addon/libc.js'
import { CHILD_NOFILE_SOFT } from '../base/limits.js'
import { RLIMIT } from '../process/controls.js'
import { spawn } from '../process/spawn.js'
import type { CgroupFacts } from './cgroup-facts.js'
import { readCgroupFacts } from './cgroup-facts.js'
import { packageVersion } from './package-version.js'

export interface HostFacts {
  readonly platform: string
  readonly arch: string
  readonly kernel: string
  readonly libc: string
  readonly libcVersion: string | null
  readonly node: string
  readonly nodeApi: number
}

export interface AddonFacts {
  readonly file: string | null
  readonly bytes: number | null
  /** Null when it loads. */
  readonly error: string | null
}

/** How the start that was tried went. */
export interface StartFacts {
  readonly mechanism: Mechanism | null
  readonly exitWatchedBy: 'pidfd' | 'thread' | null
  /** Null when it went well. */
  readonly error: string | null
}

export interface MechanismFacts {
  readonly name: keyof NativeCapabilities
  readonly offered: boolean
  readonly purpose: string
  /** What is used in its place, and what that costs. */
  readonly instead: string
  readonly cost: string
}

export interface LimitFacts {
  /** This process's own; null is no limit. Node has raised the soft one to the hard one. */
  readonly nofileSoft: number | null
  readonly nofileHard: number | null
  /** What a child gets unless its spec says otherwise. */
  readonly nofileChild: number
  /** In pages; 0 is no limit, null unknown. Past it the kernel makes every new pipe of this user small. */
  readonly pipeUserPagesSoft: number | null
}

/** The document of `doctor --json`; its keys are stable. */
export interface DoctorReport {
  readonly exactspawn: string
  readonly host: HostFacts
  readonly addon: AddonFacts
  readonly start: StartFacts
  readonly mechanisms: readonly MechanismFacts[]
  readonly proc: boolean
  readonly cgroup: CgroupFacts
  readonly limits: LimitFacts | null
  /** One sentence for each thing that is not at its best; empty when nothing is wanting. */
  readonly degraded: readonly string[]
}

// docs/platform.md, "Linux: what is used since which kernel".
const MECHANISMS: readonly Omit<MechanismFacts, 'offered'>[] = [
  {
    name: 'sharedMemoryClone',
    purpose: 'a start that shares memory with its child until exec',
    instead: 'fork',
    cost: 'a start costs more the more memory the host has',
  },
  {
    name: 'clone3',
    purpose: 'making the child, into a cgroup too',
    instead: 'clone',
    cost: 'nothing without a cgroup',
  },
  {
    name: 'pidfd',
    purpose: 'seeing exits and sending signals without a process number',
    instead: 'one waiting thread for each child',
    cost: 'a thread a child; a status that other code takes is lost',
  },
  {
    name: 'pidfdGroupSignal',
    purpose: 'naming the group after its leader has gone',
    instead: 'an unreaped leader and a pass over /proc',
    cost: 'about 10 µs an end for each process of the machine',
  },
  {
    name: 'pidfdExitInfo',
    purpose: 'the status although other code took it',
    instead: 'nothing',
    cost: 'such an exit is told as lost',
  },
  {
    name: 'closeRange',
    purpose: 'closing what is not in the descriptor map',
    instead: 'a walk over /proc/self/fd',
    cost: 'slower starts with thousands of descriptors',
  },
  {
    name: 'memfdExec',
    purpose: "the guard's program",
    instead: '/bin/sh',
    cost: 'about 1 ms more for a guarded start',
  },
]

const NONE: NativeCapabilities = {
  sharedMemoryClone: false,
  clone3: false,
  pidfd: false,
  pidfdGroupSignal: false,
  pidfdExitInfo: false,
  closeRange: false,
  memfdExec: false,
}

export async function examine(): Promise<DoctorReport> {
  const addonFacts = readAddon()
  const loads = addonFacts.error === null
  const offered = loads ? await runTask<NativeCapabilities>((native) => native.capabilities()) : NONE
  const facts = {
    exactspawn: packageVersion(),
    host: readHost(),
    addon: addonFacts,
    start: loads ? await tryStart() : { mechanism: null, exitWatchedBy: null, error: 'the addon does not load' },
    mechanisms: MECHANISMS.map((mechanism) => ({ ...mechanism, offered: offered[mechanism.name] })),
    proc: existsSync('/proc/self/stat'),
    cgroup: readCgroupFacts(),
    limits: loads ? readLimitFacts() : null,
  }
  return { ...facts, degraded: [...degradations(facts)] }
}

function readHost(): HostFacts {
  return {
    platform: process.platform,
    arch: arch(),
    kernel: release(),
    libc: detectLibc() || 'unknown',
    libcVersion: glibcVersion(),
    node: process.versions.node,
    nodeApi: Number(process.versions['napi'] ?? 0),
  }
}

// The report is the only place where Node tells it. It may ask the network for names of peers, which takes seconds.
function glibcVersion(): string | null {
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  report.excludeNetwork = true
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } }
  return header.glibcVersionRuntime ?? null
}

function readAddon(): AddonFacts {
  let file: string | null = null
  try {
    file = addonFile()
    addon()
    return { file, bytes: statSync(file).size, error: null }
  } catch (error) {
    return { file, bytes: null, error: (error as Error).message }
  }
}

async function tryStart(): Promise<StartFacts> {
  try {
    const child = await spawn({ program: '/bin/sh', args: ['-c', ':'], env: {} })
    await child.wait()
    const exit = child.receipt.controls.find(({ control }) => control === 'exit')
    const exitWatchedBy = exit?.status === 'enforced' ? 'pidfd' : 'thread'
    return { mechanism: child.receipt.mechanism, exitWatchedBy, error: null }
  } catch (error) {
    return { mechanism: null, exitWatchedBy: null, error: (error as Error).message }
  }
}

function readLimitFacts(): LimitFacts {
  const [soft, hard] = addon().limit(RLIMIT.nofile).map((value) => (value < 0 ? null : value)) as [
    number | null,
    number | null,
  ]
  return {
    nofileSoft: soft,
    nofileHard: hard,
    nofileChild: Math.min(CHILD_NOFILE_SOFT, hard ?? Infinity),
    pipeUserPagesSoft: readPipePages(),
  }
}

function readPipePages(): number | null {
  try {
    return Number(readFileSync('/proc/sys/fs/pipe-user-pages-soft', 'utf8'))
  } catch {
    return null
  }
}

function* degradations(facts: Omit<DoctorReport, 'degraded'>): Generator<string> {
  const { addon: addonFacts, start, mechanisms, cgroup, limits } = facts
  if (addonFacts.error !== null) return yield `nothing works: ${addonFacts.error}`
  if (start.error !== null) yield `no child can be started: ${start.error}`
  for (const { name, offered, instead, cost } of mechanisms) {
    if (!offered) yield `${name} is not to be had; instead: ${instead}. ${sentence(cost)}`
  }
  if (!facts.proc) yield '/proc is not mounted: members of a group cannot be counted, nor private directories swept.'
  if (cgroup.mount === null) yield 'cgroup v2 is not mounted: descendants that leave the group cannot be reached.'
  else if (cgroup.leaf === null) yield `no leaf can be made in ${cgroup.own}: name a parent that can be written to.`
  else if (!cgroup.leaf.kill) yield 'cgroup.kill is missing: the end of a large tree takes several rounds.'
  const { nofileHard = null } = limits ?? {}
  if (nofileHard !== null && nofileHard < CHILD_NOFILE_SOFT) {
    yield `only ${nofileHard} descriptors are allowed: children get no more, and few can run at once.`
  }
}

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`
