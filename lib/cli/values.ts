/** Values of options, from text. Each says what would be right. */
import type { FdSource, FileMode } from '../process/fd-map.js'
import type { Limit } from '../process/controls.js'
import { signalNumber } from '../process/signals.js'
import { UsageError } from './arguments.js'
import { isAnonymous, ownDescriptor } from './own-stdio.js'

const MS_PER: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Reads 500ms, 2s, 1.5m or 1h as milliseconds. */
export function readDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  if (match === null) throw new UsageError(`${option} ${text}: give a number and its unit, as in 500ms, 2s, 5m, 1h`)
  return Math.ceil(Number(match[1]) * (MS_PER[match[2] as string] as number))
}

/** Reads a non-negative integer. */
export function readNumber(option: string, text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw new UsageError(`${option} ${text}: must be a whole number`)
}

/** Reads numbers with commas between them; "none" is the empty list. */
export function readNumbers(option: string, text: string): number[] {
  return text === 'none' ? [] : text.split(',').map((number) => readNumber(option, number))
}

/** Reads an octal mask, or "inherit". */
export function readUmask(text: string): number | 'inherit' {
  if (text === 'inherit') return 'inherit'
  if (/^[0-7]{1,4}$/.test(text) && parseInt(text, 8) <= 0o777) return parseInt(text, 8)
  throw new UsageError(`--umask ${text}: must be octal digits up to 777, or inherit`)
}

/** Reads TERM, SIGTERM or sigterm. */
export function readSignal(option: string, text: string): NodeJS.Signals {
  const upper = text.toUpperCase()
  const name = upper.startsWith('SIG') ? upper : `SIG${upper}`
  try {
    signalNumber(name)
  } catch {
    throw new UsageError(`${option} ${text}: no such signal here`)
  }
  return name as NodeJS.Signals
}

/** Reads one word out of several. */
export function readChoice<const T extends string>(option: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === text)
  if (choice === undefined) throw new UsageError(`${option} ${text}: must be ${choices.join(', ')}`)
  return choice
}

/** Reads name=value, and refuses a name that is there already. */
export function readPairs(option: string, texts: readonly string[]): Map<string, string> {
  const pairs = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    // Only the name is told: the rest may be a secret.
    if (at < 1) throw new UsageError(`${option}: NAME=VALUE is expected`)
    const name = text.slice(0, at)
    if (pairs.has(name)) throw new UsageError(`${option} ${name}: is given twice`)
    pairs.set(name, text.slice(at + 1))
  }
  return pairs
}

/** Reads VALUE or SOFT:HARD, each a number or "infinity"; "inherit" for nofile. */
export function readLimit(name: string, text: string): Limit | 'inherit' {
  if (name === 'nofile' && text === 'inherit') return 'inherit'
  const [soft, hard, ...rest] = text.split(':').map((value) => {
    return value === 'infinity' ? Infinity : readNumber(`--limit ${name}`, value)
  })
  if (rest.length > 0) throw new UsageError(`--limit ${name}: must be a value, or SOFT:HARD`)
  return hard === undefined ? (soft as number) : { soft: soft as number, hard }
}

/** A source that this process has to carry itself: the descriptor cannot be given away. */
export type FdValue = FdSource | 'pump'

/** Reads null, closed, file:PATH:MODE, inherit:M or same:M. */
export function readFd(target: number, text: string): FdValue {
  if (text === 'null' || text === 'closed') return text
  const [kind, rest] = split(text)
  const option = `--fd ${target}`
  if (kind === 'same') return { sameAs: readNumber(option, rest) }
  if (kind === 'inherit') {
    const fd = readNumber(option, rest)
    // Nobody gives those to a command; what has the number is this process's event loop.
    if (isAnonymous(fd)) throw new UsageError(`${option}=${text}: ${fd} is this command's own, it was not given it`)
    const own = ownDescriptor(fd)
    if (own !== 'pump' || (target <= 2 && target === Number(rest))) return own
    return { hostFd: Number(rest) }
  }
  const file = /^(.+):(read|write|append)$/s.exec(rest)
  if (kind === 'file' && file !== null) return { file: file[1] as string, mode: file[2] as FileMode }
  throw new UsageError(`${option}=${text}: must be null, closed, file:PATH:read|write|append, inherit:M or same:M`)
}

function split(text: string): [kind: string, rest: string] {
  const at = text.indexOf(':')
  return at < 0 ? ['', ''] : [text.slice(0, at), text.slice(at + 1)]
}
