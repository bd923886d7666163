/** `exactspawn audit`: the same probe started by node:child_process and by exactspawn, side by side. */
import { constants } from 'node:os'
import { join } from 'node:path'
import { CapabilityError } from '../base/errors.js'
import { MiB } from '../base/limits.js'
import { capture } from '../process/capture.js'
import { signalName } from '../process/signals.js'
import { spawn } from '../process/spawn.js'
import { readOptions } from './arguments.js'
import type { AuditFacts, ProbeFacts } from './audit.js'
import { HELP } from './help.js'
import type { Cell, Paint, Style } from './terminal.js'
import { painter, printable, table, write, writeJson } from './terminal.js'

/** What is wrong with a value, in one word; "exact" when nothing is. */
type Verdict = 'exact' | 'leaks' | 'inherits' | 'differs' | 'misleads' | 'slower'

interface Side {
  readonly value: string
  readonly verdict: Verdict
}

interface AuditRow {
  readonly name: string
  /** What a program would want, and what exactspawn is told. */
  readonly declared: string
  readonly childProcess: Side
  readonly exactspawn: Side
}

/** What is done to the host first, so that there is something to keep out. */
const STRAYS = [17, 40, 251]
const CANARY = 'EXACTSPAWN_AUDIT_CANARY'
const HOST_UMASK = 0o002
const IGNORED = 40

/** Gives 0: a difference is the result, not a failure. */
export async function audit(args: readonly string[]): Promise<number> {
  const { json, help } = readOptions(args, { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } })
  if (help) {
    write(1, HELP)
    return 0
  }
  if (process.platform !== 'linux') {
    throw new CapabilityError('ERR_UNSUPPORTED', { capability: 'audit', reason: 'it asks /proc, which only Linux has' })
  }
  const rows = rowsOf(await askHost())
  if (json) writeJson({ host: { strays: STRAYS, canary: CANARY, umask: octal(HOST_UMASK), ignored: [IGNORED] }, rows })
  else write(1, render(rows, painter()))
  return 0
}

/** Runs the host of the audit: a Node process with stray descriptors, as any native library leaves them. */
async function askHost(): Promise<AuditFacts> {
  const strays = Object.fromEntries(STRAYS.map((fd) => [fd, { bytes: Buffer.from('stray') }]))
  await using host = await spawn({
    program: '/bin/sh',
    // Node resets the signals below 32 that whoever started it had ignored, and leaves the others.
    args: ['-c', `trap '' ${IGNORED}; exec "$0" "$1"`, process.execPath, join(__dirname, 'audit.js')],
    env: { ...(process.env as Record<string, string>), [CANARY]: 'secret' },
    umask: HOST_UMASK,
    fds: { ...strays, 1: capture({ headBytes: MiB }), 2: capture({ headBytes: MiB }) },
  })
  const { code, logs } = await host.wait()
  if (code !== 0) throw new Error(`the host of the audit failed: ${logs[2]?.text()}`)
  return JSON.parse(logs[1]?.text() as string) as AuditFacts
}

function rowsOf({ declared, childProcess, exactspawn, missingCwd, heldUs }: AuditFacts): AuditRow[] {
  const row = (name: string, wanted: string, valueOf: (probe: ProbeFacts) => string, otherwise: Verdict): AuditRow => {
    const side = (probe: ProbeFacts): Side => {
      const value = valueOf(probe)
      return { value, verdict: value === wanted ? 'exact' : otherwise }
    }
    return { name, declared: wanted, childProcess: side(childProcess), exactspawn: side(exactspawn) }
  }
  const named = (message: string): Side => {
    return { value: message, verdict: message.includes('chdir') ? 'exact' : 'misleads' }
  }
  const held = (us: number, other: number): Side => ({ value: `${us} µs`, verdict: us > other ? 'slower' : 'exact' })
  return [
    row('descriptors', '0 1 2', ({ fds }) => fds.map(([fd]) => fd).join(' '), 'leaks'),
    row('0, 1 and 2', 'pipe pipe /dev/null', streamsText, 'differs'),
    row('environment', declared.env.join(' '), envText, 'inherits'),
    row('umask', declared.umask, ({ umask }) => umask, 'inherits'),
    row('ignored signals', 'none', ({ ignored }) => signalsText(ignored), 'inherits'),
    row('blocked signals', 'none', ({ blocked }) => signalsText(blocked), 'inherits'),
    row('process group', 'its own', ({ ownGroup }) => (ownGroup ? 'its own' : "the host's"), 'inherits'),
    row('soft limit of open files', declared.nofileSoft, ({ nofileSoft }) => nofileSoft, 'inherits'),
    {
      name: 'missing working directory',
      declared: 'told as such',
      childProcess: named(missingCwd.childProcess),
      exactspawn: named(missingCwd.exactspawn),
    },
    {
      name: 'a start holds the JS thread',
      declared: 'as short as can be',
      childProcess: held(heldUs.childProcess, heldUs.exactspawn),
      exactspawn: held(heldUs.exactspawn, heldUs.childProcess),
    },
  ]
}

const octal = (mask: number): string => mask.toString(8).padStart(4, '0')

function streamsText({ fds }: ProbeFacts): string {
  // The kernel tells pipes and sockets as in pipe:[4711].
  const kind = (fd: number) => fds.find(([at]) => at === fd)?.[1].replace(/:\[\d+\]$/, '') ?? 'closed'
  return [0, 1, 2].map(kind).join(' ')
}

function envText({ env }: ProbeFacts): string {
  if (env.length <= 3) return env.join(' ')
  return `${env.length} variables${env.includes(CANARY) ? `, ${CANARY} too` : ''}`
}

function signalsText(signals: readonly number[]): string {
  const known = new Set<number>(Object.values(constants.signals))
  return signals.map((signal) => (known.has(signal) ? signalName(signal) : String(signal))).join(' ') || 'none'
}

const STYLES: Readonly<Record<Verdict, Style>> = {
  exact: 'green',
  leaks: 'red',
  inherits: 'yellow',
  differs: 'yellow',
  misleads: 'red',
  slower: 'yellow',
}
const VALUE_WIDTH = 44

function render(rows: readonly AuditRow[], paint: Paint): string {
  const cells = ({ value, verdict }: Side): Cell[] => [
    { lines: [verdict], style: STYLES[verdict] },
    { lines: wrap(printable(value)) },
  ]
  const heading = ['', '', 'node:child_process', '', 'exactspawn'].map((name): Cell => {
    return { lines: [name], style: 'bold' }
  })
  const body = rows.map((row) => [{ lines: [row.name] }, ...cells(row.childProcess), ...cells(row.exactspawn)])
  const differing = rows.filter(({ childProcess }) => childProcess.verdict !== 'exact').length
  return (
    `The same program, cat, started both ways by a host with descriptors ${STRAYS.join(', ')} open,\n` +
    `signal ${IGNORED} ignored, umask ${octal(HOST_UMASK)} and ${CANARY} in its environment.\n\n` +
    `${table([heading, ...body], paint)}\n` +
    `${differing} of ${rows.length} differ from what was declared, or could not be declared, with node:child_process.\n`
  )
}

function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string
    if (line === '') lines[lines.length - 1] = word
    else if (line.length + 1 + word.length <= VALUE_WIDTH) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}
