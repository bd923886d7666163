/** How a child ended. Made once, frozen; every wait gives the same object. */
import type { EndedBy } from '../addon/addon-types.js'
import { ENDED_BY } from '../addon/addon-types.js'
import type { LogSnapshot } from './log.js'
import { signalName } from './signals.js'

export type { EndedBy } from '../addon/addon-types.js'

/** What is known as soon as the exit is seen. */
export interface ExitStatus {
  /** Exit code, or null after a signal or when the status is lost. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly coreDumped: boolean
  /** Another reaper in this process took the status and the kernel kept no copy: nothing is known, not even success. */
  readonly lost: boolean
}

/** Resources of the child and of what it waited for, getrusage(2). */
export interface Usage {
  readonly userMs: number
  readonly systemMs: number
  /**
   * Peak resident memory, where that is truly the child's: the kernel folds the host's own peak into a child's figure at
   * exec, so a smaller child has none [B078].
   */
  readonly peakRssBytes?: number
  readonly peakRssSource?: 'ru_maxrss' | 'memory.peak'
  readonly minorFaults: number
  readonly majorFaults: number
  readonly blocksIn: number
  readonly blocksOut: number
  readonly voluntarySwitches: number
  readonly involuntarySwitches: number
}

export interface Exit extends ExitStatus {
  /** What ended it. "self" also for a signal that this host did not send; "unknown" when the status is lost. */
  readonly endedBy: EndedBy
  /** The grace period was over and SIGKILL was sent. */
  readonly escalated: boolean
  /** Members of its group that were left when it was settled: killed then, or alive under `leftovers: "keep"`. */
  readonly groupLeft: number
  /** Null when the status is lost. */
  readonly usage: Usage | null
  /** By the number in the child. */
  readonly logs: Readonly<Record<number, LogSnapshot>>
}

export function exitStatus(code: number, signal: number, coreDumped: boolean, known: boolean): ExitStatus {
  return Object.freeze(statusOf(code, signal, coreDumped, known))
}

function statusOf(code: number, signal: number, coreDumped: boolean, known: boolean): ExitStatus {
  return {
    code: known && signal === 0 ? code : null,
    signal: known && signal !== 0 ? signalName(signal) : null,
    coreDumped,
    lost: !known,
  }
}

/** Reads the fields of a `settled` event: native/core/lifecycle_end.cpp, tell_settled. */
export function readExit(fields: Float64Array, logs: Readonly<Record<number, LogSnapshot>>): Exit {
  const at = (index: number): number => fields[index] as number
  const { code, signal, coreDumped, lost } = statusOf(at(0), at(1), at(2) !== 0, at(3) !== 0)
  // Each by its name: spread, one record takes two kilobytes.
  return Object.freeze({
    code,
    signal,
    coreDumped,
    lost,
    endedBy: ENDED_BY[at(4)] as EndedBy,
    escalated: at(5) !== 0,
    groupLeft: at(6),
    usage: at(7) === 0 ? null : readUsage(at),
    logs,
  })
}

function readUsage(at: (index: number) => number): Usage {
  const usage = {
    userMs: at(8) / 1000,
    systemMs: at(9) / 1000,
    minorFaults: at(12),
    majorFaults: at(13),
    blocksIn: at(14),
    blocksOut: at(15),
    voluntarySwitches: at(16),
    involuntarySwitches: at(17),
  }
  if (at(10) < 0) return Object.freeze(usage)
  return Object.freeze({ ...usage, peakRssBytes: at(10), peakRssSource: at(11) === 0 ? 'ru_maxrss' : 'memory.peak' })
}

/** Tells whether nothing was written to a log, by its place in the map. The same event has a bit for each of the first 32. */
export function wasSilent(fields: Float64Array, index: number): boolean {
  return index < 32 && (((fields[18] as number) >>> index) & 1) === 1
}
