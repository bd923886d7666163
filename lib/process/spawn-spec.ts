/** What a child is born as: plain data, checked and frozen before anything happens. */
import { connectedAddon } from '../addon/events.js'
import { isAbortSignal } from '../base/deadline.js'
import { SpecError, systemError } from '../base/errors.js'
import { redactingErrors } from '../io/redacting-errors.js'
import { createRedactor, type Redactor } from '../io/redactor.js'
import { DRAIN_MS, GRACE_MS, MiB } from '../base/limits.js'
import type { Limits, ReadLimits } from './controls.js'
import { ID_MAX, readId, readInteger, readIntegers, readLimits, RLIMIT } from './controls.js'
import type { Environment, EnvironmentSpec } from './environment.js'
import { readEnvironment } from './environment.js'
import type { FdEntry, FdSource } from './fd-map.js'
import { readFdMap } from './fd-map.js'
import type { GroupChild, GroupSpec } from './group.js'
import { leadsGroup, readGroup } from './group.js'
import { plainObject } from './plain-object.js'
import { readCandidates } from './program.js'
import { readSecrets } from './secrets.js'
import { signalNumber } from './signals.js'
import type { SpecString } from './strings.js'
import { argumentBytes, invalid, pathBytes, wrongType } from './strings.js'

/** Ends the child, whoever waits for it. A bound on one call is that call's own `signal`. */
export interface Lifetime {
  /** Aborting it terminates the child; waits then reject with its reason and carry the exit. */
  readonly signal?: AbortSignal
  /** From the start. The exit says `endedBy: 'timeout'`. */
  readonly timeoutMs?: number
  /** Between the first signal and SIGKILL. */
  readonly graceMs?: number
  /** SIGTERM unless named. */
  readonly firstSignal?: NodeJS.Signals
}

export interface SpawnSpec {
  /** An absolute path, or a bare name together with `searchPath`. A relative path with a slash is refused. */
  readonly program: SpecString
  /** Absolute directories in PATH form, searched in order for a bare program name. The host's PATH is never used. */
  readonly searchPath?: string
  readonly args?: readonly SpecString[]
  /** The program as given, unless named. */
  readonly argv0?: SpecString
  readonly env: EnvironmentSpec
  /** The host's at the start, unless named. */
  readonly cwd?: SpecString
  /** 0o077 unless named. */
  readonly umask?: number | 'inherit'
  readonly group?: GroupSpec
  readonly fds?: Readonly<Record<number, FdSource>>
  /** "handle": ends with its handle and with the host. "detached": outlives both. */
  readonly owner?: 'handle' | 'detached'
  /** What becomes of group members that outlive the leader. */
  readonly leftovers?: 'kill' | 'keep'
  /** Ends the whole group also when the host is killed by SIGKILL. Costs one process a child. */
  readonly guard?: boolean
  readonly lifetime?: Lifetime
  /** What all captures share to reach their end after the exit. */
  readonly drainMs?: number
  /** Taken out of captures, errors and the receipt. At least 4 bytes each. */
  readonly secrets?: readonly SpecString[]
  readonly limits?: Limits
  readonly nice?: number
  /** Processor numbers. */
  readonly affinity?: readonly number[]
  /** The groups stay the host's unless `gid` and `groups` are given too. */
  readonly uid?: number
  /** The supplementary groups stay the host's unless `groups` is given too. */
  readonly gid?: number
  /** Supplementary groups; `[]` drops all. The host's unless given, also beside `uid` and `gid`; the receipt says so. */
  readonly groups?: readonly number[]
  readonly noNewPrivs?: boolean
  /** Makes one single-use cgroup v2 leaf beneath `parent` for this child, and removes it. */
  readonly cgroup?: { readonly parent: string }
}

/** A spec in which every question is answered. Endpoints are not consumed yet. */
export interface CheckedSpec {
  readonly program: string
  readonly candidates: readonly Uint8Array[]
  readonly argv: readonly Uint8Array[]
  readonly env: Environment
  readonly cwd: Uint8Array | null
  readonly umask: number | null
  readonly group: GroupSpec
  readonly join: GroupChild | undefined
  readonly fds: readonly FdEntry[]
  readonly owner: 'handle' | 'detached'
  readonly leftovers: 'kill' | 'keep'
  readonly guard: boolean
  readonly lifetime: {
    readonly signal: AbortSignal | undefined
    readonly timeoutMs: number | null
    readonly graceMs: number
    readonly firstSignal: number
  }
  readonly drainMs: number
  readonly secrets: readonly Uint8Array[]
  /** Of these secrets. */
  readonly redact: Redactor
  readonly limits: ReadLimits
  readonly nice: number | null
  readonly affinity: readonly number[] | null
  readonly uid: number | null
  readonly gid: number | null
  readonly groups: readonly number[] | null
  readonly noNewPrivs: boolean
  /** The host's own, of which a child with another uid or gid keeps what is not named; null when it has neither. */
  readonly inheritedIds: { readonly gid: number | undefined; readonly groups: readonly number[] | undefined } | null
  readonly cgroupParent: string | null
}

const FIELDS: ReadonlySet<string> = new Set([
  'program', 'searchPath', 'args', 'argv0', 'env', 'cwd', 'umask', 'group', 'fds', 'owner', 'leftovers', 'guard',
  'lifetime', 'drainMs', 'secrets', 'limits', 'nice', 'affinity', 'uid', 'gid', 'groups', 'noNewPrivs', 'cgroup',
])
const LIFETIME_FIELDS: ReadonlySet<string> = new Set(['signal', 'timeoutMs', 'graceMs', 'firstSignal'])

const E2BIG = -7
const PROCESSORS_MAX = 8192
// Every host takes this much.
const TOTAL_LEAST_BYTES = MiB / 8

/**
 * Checks a spec whole. Its secrets are read first: no error says one, wherever else in the spec it stands.
 *
 * @throws {SpecTypeError} a field of the wrong type
 * @throws {SpecError} ERR_INVALID_SPEC with the field and what is wrong with it
 * @throws {SpawnError} ERR_COMMAND_CONSUMED
 */
export function checkSpec(spec: SpawnSpec): CheckedSpec {
  if (typeof spec !== 'object' || spec === null) throw wrongType('spec', 'must be an object')
  const given = readFields(spec)
  const secrets = readSecrets(given.secrets)
  const redact = createRedactor(secrets)
  return redactingErrors(redact, () => {
    refuseUnknown(spec, FIELDS, '')
    return checkFields(given, secrets, redact)
  })
}

// Each once: a getter or a proxy could give another value at the next reading than the one that was checked.
function readFields(spec: SpawnSpec): SpawnSpec {
  const { program, searchPath, args, argv0, env, cwd, umask, group, fds, owner, leftovers, guard } = spec
  const { lifetime, drainMs, secrets, limits, nice, affinity, uid, gid, groups, noNewPrivs, cgroup } = spec
  // One literal: spread or filled in a loop it takes ten times the memory, for every start.
  return {
    program, searchPath, args, argv0, env, cwd, umask, group, fds, owner, leftovers, guard,
    lifetime, drainMs, secrets, limits, nice, affinity, uid, gid, groups, noNewPrivs, cgroup,
  } as SpawnSpec
}

function checkFields(spec: SpawnSpec, secrets: readonly Uint8Array[], redact: Redactor): CheckedSpec {
  const { program, candidates } = readCandidates(spec.program, spec.searchPath)
  const argv = readArgv(spec)
  const env = readEnvironment(spec.env, redact)
  const limits = readLimits(spec.limits, (resource) => connectedAddon().limit(resource))
  checkTotal(argv, env, limits)
  const owner = readChoice(spec.owner, 'owner', ['handle', 'detached'] as const)
  const group = readGroup(spec.group)
  const checked: CheckedSpec = {
    program,
    candidates,
    argv,
    env,
    cwd: spec.cwd === undefined ? null : pathBytes(spec.cwd, 'cwd'),
    umask: readUmask(spec.umask),
    group: group.spec,
    join: group.join,
    fds: readFdMap(spec.fds),
    owner,
    leftovers: readChoice(spec.leftovers, 'leftovers', ['kill', 'keep'] as const),
    guard: readFlag(spec.guard, 'guard'),
    lifetime: readLifetime(spec.lifetime),
    drainMs: readMs(spec.drainMs, 'drainMs', DRAIN_MS),
    secrets,
    redact,
    limits,
    nice: spec.nice === undefined ? null : readInteger(spec.nice, 'nice', -20, 19),
    affinity: readAffinity(spec.affinity),
    uid: readId(spec.uid, 'uid'),
    gid: readId(spec.gid, 'gid'),
    groups: spec.groups === undefined ? null : readIntegers(spec.groups, 'groups', ID_MAX),
    noNewPrivs: readFlag(spec.noNewPrivs, 'noNewPrivs'),
    inheritedIds:
      spec.uid === undefined && spec.gid === undefined
        ? null
        : { gid: process.getegid?.(), groups: process.getgroups?.() },
    cgroupParent: spec.cgroup === undefined ? null : readCgroupParent(spec.cgroup),
  }
  checkTogether(checked)
  return Object.freeze(checked)
}

function refuseUnknown(object: object, known: ReadonlySet<string>, prefix: string): void {
  for (const key of Object.keys(object)) {
    if (!known.has(key)) throw invalid(`${prefix}${key}`, 'is no field of a spec')
  }
}

function readArgv({ argv0, args, program }: SpawnSpec): Uint8Array[] {
  const argv = [argumentBytes(argv0 === undefined ? program : argv0, 'argv0')]
  if (args === undefined) return argv
  if (!Array.isArray(args)) throw wrongType('args', 'must be an array')
  // By index: a hole in the array is an undefined argument, which an iteration could pass over.
  for (let index = 0; index < args.length; index++) argv.push(argumentBytes(args[index], `args[${index}]`))
  return argv
}

// execve(2), "Limits on size of arguments and environment": a quarter of the stack limit, at most 6 MiB and at least
// 128 KiB, for the strings and the pointers to them. The limit that counts is the one the child will have.
function checkTotal(argv: readonly Uint8Array[], env: Environment, limits: ReadLimits): void {
  const bytes = argv.reduce((sum, string) => sum + string.length + 1 + 8, env.block.length + 8 * env.names.length)
  if (bytes <= TOTAL_LEAST_BYTES) return
  const own = connectedAddon().limit(RLIMIT.stack)[0]
  const stack = limits.list.find(({ name }) => name === 'stack')?.soft ?? own
  const limit = Math.max(TOTAL_LEAST_BYTES, Math.min(6 * MiB, stack < 0 ? Infinity : Math.floor(stack / 4)))
  if (bytes <= limit) return
  const details = { field: 'args', reason: 'arguments and environment together are too long', bytes, limit }
  throw new SpecError('ERR_INVALID_SPEC', details, { cause: systemError(E2BIG, 'execve') })
}

function readChoice<const T extends string>(value: unknown, field: string, choices: readonly [T, ...T[]]): T {
  if (value === undefined) return choices[0]
  const choice = choices.find((candidate) => candidate === value)
  if (choice === undefined) throw invalid(field, `must be one of ${choices.join(', ')}`)
  return choice
}

function readFlag(value: unknown, field: string): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw wrongType(field, 'must be true or false')
  return value
}

/** Checks a duration in milliseconds; Infinity is none that a child could be held to. */
export function readMs(value: unknown, field: string, otherwise: number): number {
  return value === undefined ? otherwise : readInteger(Math.ceil(number(value, field)), field, 0, Number.MAX_SAFE_INTEGER)
}

function number(value: unknown, field: string): number {
  if (typeof value !== 'number') throw wrongType(field, 'must be a number of milliseconds')
  return value
}

function readLifetime(lifetime: unknown): CheckedSpec['lifetime'] {
  const given = plainObject(lifetime === undefined ? {} : lifetime, 'lifetime')
  refuseUnknown(given, LIFETIME_FIELDS, 'lifetime.')
  const { signal, timeoutMs, graceMs, firstSignal } = given as Lifetime
  if (signal !== undefined && !isAbortSignal(signal)) throw wrongType('lifetime.signal', 'must be an AbortSignal')
  const unbounded = timeoutMs === undefined || timeoutMs === Infinity
  return {
    signal,
    timeoutMs: unbounded ? null : readMs(timeoutMs, 'lifetime.timeoutMs', 0),
    graceMs: readMs(graceMs, 'lifetime.graceMs', GRACE_MS),
    firstSignal: signalNumber(firstSignal === undefined ? 'SIGTERM' : firstSignal),
  }
}

function readUmask(umask: unknown): number | null {
  return umask === 'inherit' ? null : readInteger(umask === undefined ? 0o077 : umask, 'umask', 0, 0o777)
}

// An empty set of processors is none that a program could run on; the kernel would leave the host's in place.
function readAffinity(affinity: unknown): number[] | null {
  if (affinity === undefined) return null
  const processors = readIntegers(affinity, 'affinity', PROCESSORS_MAX - 1)
  if (processors.length === 0) throw invalid('affinity', 'names no processor')
  return processors
}

/** Gives the directory beneath which a leaf is made: absolute. */
export function readCgroupParent(cgroup: unknown): string {
  const given = plainObject(cgroup, 'cgroup')
  refuseUnknown(given, new Set(['parent']), 'cgroup.')
  const { parent } = given
  if (typeof parent !== 'string') throw wrongType('cgroup.parent', 'must be a string')
  pathBytes(parent, 'cgroup.parent')
  if (!parent.startsWith('/')) throw invalid('cgroup.parent', 'must be an absolute path')
  return parent
}

// What no single field can say about itself.
function checkTogether(spec: CheckedSpec): void {
  if (spec.guard && !leadsGroup(spec)) throw invalid('guard', 'needs a group of its own: it kills its whole group')
  if (spec.owner === 'handle') return
  if (spec.guard) throw invalid('guard', 'contradicts owner "detached"')
  const tied = spec.fds.find(({ kind }) => kind === 'capture' || kind === 'pipe' || kind === 'endpoint')
  if (tied === undefined) return
  throw invalid(`fds.${tied.target}`, 'would break when the host ends, and owner is "detached"; give it a file')
}
