/** From the arguments of `run` to a spec. */
import { isAbsolute, join } from 'node:path'
import { isatty } from 'node:tty'
import { KiB } from '../base/limits.js'
import { capture } from '../process/capture.js'
import type { Limit } from '../process/controls.js'
import type { FdSource } from '../process/fd-map.js'
import type { SpawnSpec } from '../process/spawn-spec.js'
import type { SpecString } from '../process/strings.js'
import { readOptions, UsageError } from './arguments.js'
import { exactArguments, exactEnvironment } from './exact-bytes.js'
import {
  readChoice,
  readDuration,
  readFd,
  readLimit,
  readNumber,
  readNumbers,
  readPairs,
  readSignal,
  readUmask,
} from './values.js'
import { ownDescriptor } from './own-stdio.js'

export const RUN_OPTIONS = {
  env: { type: 'string', multiple: true },
  'env-inherit': { type: 'boolean' },
  'env-empty': { type: 'boolean' },
  cwd: { type: 'string' },
  umask: { type: 'string' },
  group: { type: 'string' },
  fd: { type: 'string', multiple: true },
  limit: { type: 'string', multiple: true },
  timeout: { type: 'string' },
  grace: { type: 'string' },
  signal: { type: 'string' },
  leftovers: { type: 'string' },
  guard: { type: 'boolean' },
  'no-new-privs': { type: 'boolean' },
  uid: { type: 'string' },
  gid: { type: 'string' },
  groups: { type: 'string' },
  receipt: { type: 'boolean' },
  json: { type: 'boolean' },
  'head-bytes': { type: 'string' },
  'tail-bytes': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

type RunValues = ReturnType<typeof readOptions<typeof RUN_OPTIONS>>

export interface RunRequest {
  readonly spec: SpawnSpec
  /** One document at the end instead of streams. */
  readonly json: boolean
  readonly receipt: boolean
  /** Whether the spec has "pipe" entries, which this process carries. */
  readonly pumps: boolean
}

// With --json and no limits given: enough for the beginning and the end of what a program says.
const CAPTURE_BYTES = 64 * KiB

/**
 * Reads options and program of one run.
 *
 * @throws {UsageError}
 */
export function readRun(values: RunValues, program: readonly SpecString[]): RunRequest {
  const [name, ...args] = program
  if (name === undefined) throw new UsageError('no program: exactspawn run [options] -- program args...')
  const json = values.json === true
  const env = readEnv(values)
  const { fds, pumps } = readFds(values, json)
  const spec: SpawnSpec = {
    ...locate(name, env),
    argv0: name,
    args,
    env,
    fds,
    // What a shell does; 077 would change the files of every program that is put behind this command [C-03].
    umask: values.umask === undefined ? 'inherit' : readUmask(values.umask),
    group: readGroup(values),
    lifetime: readLifetime(values),
    limits: readLimits(values),
    guard: values.guard === true,
    noNewPrivs: values['no-new-privs'] === true,
    ...optional('cwd', values.cwd, (path) => path),
    ...optional('leftovers', values.leftovers, (word) => readChoice('--leftovers', word, ['kill', 'keep'])),
    ...optional('uid', values.uid, (text) => readNumber('--uid', text)),
    ...optional('gid', values.gid, (text) => readNumber('--gid', text)),
    ...optional('groups', values.groups, (text) => readNumbers('--groups', text)),
  }
  return { spec, json, receipt: values.receipt === true, pumps }
}

/**
 * Splits at the first `--`: what is behind it is the program's alone.
 *
 * @throws {UsageError} an option that is no UTF-8
 */
export function splitAtProgram(args: readonly string[]): { options: string[]; program: SpecString[] } {
  const exact = exactArguments(args)
  const at = args.includes('--') ? args.indexOf('--') : args.length
  const options = exact.slice(0, at).filter((option) => typeof option === 'string')
  if (options.length < at) throw new UsageError('an option is not valid UTF-8')
  return { options, program: exact.slice(at + 1) }
}

function optional<K extends string, T>(key: K, text: string | undefined, read: (text: string) => T): { [P in K]?: T } {
  return (text === undefined ? {} : { [key]: read(text) }) as { [P in K]?: T }
}

function readEnv(values: RunValues): Record<string, SpecString> {
  const { 'env-inherit': inherit, 'env-empty': empty, env } = values
  if (inherit && empty) throw new UsageError('--env-inherit contradicts --env-empty')
  if (!inherit && !empty && env === undefined) {
    throw new UsageError('no environment: give --env NAME=VALUE for each variable, --env-inherit or --env-empty')
  }
  const inherited = inherit ? exactEnvironment() : {}
  return { ...inherited, ...Object.fromEntries(readPairs('--env', env ?? [])) }
}

// A bare name is looked for in the child's PATH; a relative path is taken from the folder where this command was given.
function locate(program: SpecString, { PATH = '' }: Readonly<Record<string, SpecString>>): Located {
  const text = Buffer.from(program as string).toString('latin1')
  if (text === '') throw new UsageError('the program is an empty string')
  if (isAbsolute(text)) return { program }
  if (text.includes('/')) return { program: Buffer.from(join(latin1(process.cwd()), text), 'latin1') }
  // Elements that are empty or relative mean whatever folder one happens to be in: passed over.
  const folders = Buffer.from(PATH as string).toString().split(':').filter((folder) => isAbsolute(folder))
  if (folders.length > 0) return { program, searchPath: folders.join(':') }
  throw new UsageError(`'${text}' is a bare name and the environment given has no PATH: give --env PATH=... or a path`)
}

interface Located {
  program: SpecString
  searchPath?: string
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1')

// A background group that reads its terminal is stopped by SIGTTIN [B059]: whoever is typed to stays in ours.
function readGroup({ group, fd }: RunValues): 'new' | 'session' | 'inherit' {
  if (group !== undefined) return readChoice('--group', group, ['new', 'session', 'inherit'])
  const typedTo = isatty(0) && !(fd ?? []).some((text) => text.startsWith('0=') && text !== '0=inherit:0')
  return typedTo ? 'inherit' : 'new'
}

function readLifetime({ timeout, grace, signal }: RunValues): NonNullable<SpawnSpec['lifetime']> {
  if (timeout === undefined && (grace ?? signal) !== undefined) {
    const option = grace === undefined ? '--signal' : '--grace'
    throw new UsageError(`${option} says how a --timeout goes on, and there is none`)
  }
  return {
    ...optional('timeoutMs', timeout, (text) => readDuration('--timeout', text)),
    ...optional('graceMs', grace, (text) => readDuration('--grace', text)),
    ...optional('firstSignal', signal, (text) => readSignal('--signal', text)),
  }
}

function readLimits({ limit }: RunValues): Record<string, Limit | 'inherit'> {
  const pairs = [...readPairs('--limit', limit ?? [])]
  return Object.fromEntries(pairs.map(([name, text]) => [name, readLimit(name, text)]))
}

function readFds(values: RunValues, json: boolean): { fds: Record<number, FdSource>; pumps: boolean } {
  const captured = () => {
    const limit = (option: 'head-bytes' | 'tail-bytes') => {
      const text = values[option]
      return text === undefined ? CAPTURE_BYTES : readNumber(`--${option}`, text)
    }
    return capture({ headBytes: limit('head-bytes'), tailBytes: limit('tail-bytes') })
  }
  for (const option of ['head-bytes', 'tail-bytes'] as const) {
    if (!json && values[option] !== undefined) throw new UsageError(`--${option} is for --json, which keeps the output`)
  }
  const given = readPairs('--fd', values.fd ?? [])
  const fds: Record<number, FdSource> = {}
  let pumps = false
  const put = (target: number, value: FdSource | 'pump') => {
    if (value === 'pump') pumps = true
    fds[target] = value === 'pump' ? 'pipe' : value
  }
  for (const target of [0, 1, 2]) {
    if (!given.has(String(target))) put(target, json && target > 0 ? captured() : ownDescriptor(target))
  }
  for (const [name, text] of given) put(readNumber('--fd', name), readFd(Number(name), text))
  return { fds, pumps }
}
