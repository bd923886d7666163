/** What a child was born with: every control, and how far it is held to. Frozen; holds no secret and no value of a variable. */
import type { Mechanism } from '../addon/addon-types.js'
import { CHILD_NOFILE_SOFT } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import type { Containment } from './containment.js'
import type { FdEntry } from './fd-map.js'
import { signalName } from './signals.js'
import type { CheckedSpec } from './spawn-spec.js'

/** One descriptor of the child. */
export interface ReceiptFd {
  readonly fd: number
  readonly source: FdEntry['kind']
  /** What the source was told: a path, a number, limits. */
  readonly detail?: string
}

export interface ReceiptControl {
  readonly control: string
  readonly value: string
  readonly status: 'enforced' | 'best-effort' | 'unsupported'
  readonly note?: string
}

export interface Receipt {
  readonly pid: number
  /** The path that was executed: the candidate of the search path that was found. */
  readonly program: string
  readonly argv: readonly string[]
  /** Names only. */
  readonly env: readonly string[]
  /** Null: the host's at the start. */
  readonly cwd: string | null
  /** Null: the host's. */
  readonly umask: number | null
  readonly group: 'new' | 'session' | 'inherit' | 'join'
  /** In order; every other number is closed. */
  readonly fds: readonly ReceiptFd[]
  /** Empty mask and default dispositions, always. */
  readonly signals: { readonly blocked: readonly never[]; readonly ignored: readonly never[] }
  readonly owner: 'handle' | 'detached'
  /** How it was made. "fork" copies the host's page tables: its cost grows with the host's memory. */
  readonly mechanism: Mechanism
  readonly controls: readonly ReceiptControl[]
  readonly containment: Containment
  readonly startedAtMs: number
}

export interface StartFacts {
  readonly pid: number
  readonly startedAtMs: number
  readonly mechanism: Mechanism
  readonly candidate: number
  readonly watchedByPidfd: boolean
}

export function makeReceipt(spec: CheckedSpec, facts: StartFacts, containment: Containment): Receipt {
  const { redact } = spec
  const fds = [...spec.fds].sort((a, b) => a.target - b.target)
  return deepFreeze({
    pid: facts.pid,
    program: redact(spec.candidates[facts.candidate] ?? spec.program),
    argv: spec.argv.map(redact),
    env: spec.env.names.map(redact),
    cwd: spec.cwd === null ? null : redact(spec.cwd),
    umask: spec.umask,
    group: typeof spec.group === 'string' ? spec.group : 'join',
    fds: fds.map((entry) => receiptFd(entry, redact)),
    signals: { blocked: [], ignored: [] },
    owner: spec.owner,
    mechanism: facts.mechanism,
    controls: [...controls(spec, facts)],
    containment,
    startedAtMs: facts.startedAtMs,
  })
}

function receiptFd(entry: FdEntry, redact: Redactor): ReceiptFd {
  const detail = detailOf(entry)
  const facts = { fd: entry.target, source: entry.kind }
  return detail === undefined ? facts : { ...facts, detail: redact(detail) }
}

function detailOf(entry: FdEntry): string | undefined {
  switch (entry.kind) {
    case 'capture':
      return `head ${entry.capture.headBytes} bytes, tail ${entry.capture.tailBytes} bytes`
    case 'endpoint':
      return entry.endpoint.direction
    case 'sameAs':
      return `fd ${entry.source}`
    case 'hostFd':
      return `host fd ${entry.fd}`
    case 'bytes':
      return `${entry.bytes.length} bytes`
    case 'file':
      return `${Buffer.from(entry.file.path).toString()} (${entry.file.mode})`
    default:
      return undefined
  }
}

function* controls(spec: CheckedSpec, facts: StartFacts): Generator<ReceiptControl> {
  const enforced = (control: string, value: string): ReceiptControl => ({ control, value, status: 'enforced' })
  yield enforced('descriptors', `exactly ${spec.fds.length}`)
  yield enforced('environment', `exactly ${spec.env.names.length} variables`)
  yield enforced('umask', spec.umask === null ? 'inherited' : spec.umask.toString(8).padStart(4, '0'))
  yield enforced('signal mask', 'empty')
  yield enforced('signal dispositions', 'default')
  if (spec.limits.inheritNofile) {
    yield enforced('limit nofile', 'inherited')
  } else if (!spec.limits.list.some(({ name }) => name === 'nofile')) {
    yield enforced('limit nofile', `soft ${CHILD_NOFILE_SOFT}, or the hard limit if that is lower`)
  }
  for (const { name, soft, hard } of spec.limits.list) {
    yield enforced(`limit ${name}`, `soft ${limitText(soft)}, hard ${limitText(hard)}`)
  }
  if (spec.nice !== null) yield enforced('nice', String(spec.nice))
  if (spec.affinity !== null) yield enforced('affinity', spec.affinity.join(','))
  if (spec.groups !== null) yield enforced('groups', spec.groups.join(',') || 'none')
  else if (spec.inheritedIds !== null) yield inherited('groups', spec.inheritedIds.groups)
  if (spec.gid !== null) yield enforced('gid', String(spec.gid))
  else if (spec.inheritedIds !== null) yield inherited('gid', [spec.inheritedIds.gid])
  if (spec.uid !== null) yield enforced('uid', String(spec.uid))
  if (spec.noNewPrivs) yield enforced('no new privileges', 'set')
  yield ending(spec)
  if (spec.guard) yield enforced('guard', 'the group ends when the host is killed')
  if (spec.lifetime.timeoutMs !== null) {
    yield enforced('lifetime', `${signalName(spec.lifetime.firstSignal)} after ${spec.lifetime.timeoutMs} ms, SIGKILL ${spec.lifetime.graceMs} ms later`)
  }
  yield {
    control: 'exit',
    value: facts.watchedByPidfd ? 'watched by pidfd' : 'watched by a thread',
    status: facts.watchedByPidfd ? 'enforced' : 'best-effort',
    ...(facts.watchedByPidfd ? {} : { note: 'no pidfd here: a status that another reaper takes is lost' }),
  }
}

// Another user with the host's groups may reach what only the host was meant to: never in silence.
function inherited(control: 'groups' | 'gid', ids: readonly (number | undefined)[] = []): ReceiptControl {
  const note =
    control === 'groups'
      ? "the host's, its effective gid among them as Node lists it; `groups: []` drops all"
      : "the host's: the spec names none"
  return { control, value: `inherited: ${ids.join(',') || 'none'}`, status: 'enforced', note }
}

function ending(spec: CheckedSpec): ReceiptControl {
  const control = 'parent-death signal'
  if (spec.owner === 'detached') return { control, value: 'off', status: 'enforced', note: 'detached: it outlives the host' }
  if (process.platform !== 'linux') {
    return { control, value: 'SIGKILL', status: 'unsupported', note: 'a host that is killed leaves it behind' }
  }
  // prctl(2): executing a set-user-id program clears it, and no one can forbid that but no_new_privs.
  const note = 'reaches the leader; cleared by a set-user-id program'
  return { control, value: 'SIGKILL', status: spec.noNewPrivs ? 'enforced' : 'best-effort', note }
}

const limitText = (value: number): string => (value < 0 ? 'infinity' : String(value))

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.values(value).forEach(deepFreeze)
    Object.freeze(value)
  }
  return value
}
