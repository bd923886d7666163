/** A worker's logs at one moment, with the span that they cover said in words. */
import type { LogSnapshot } from '../process/log.js'

/**
 * What a snapshot covers: the whole life of a worker that has ended, or its life up to the moment. Undrained bytes may
 * remain in the second case.
 */
export type LogScope = 'worker_lifetime' | 'worker_lifetime_to_snapshot'

/** One stream, without what could only be read in this process. */
export interface WorkerLog {
  readonly bytes: Uint8Array
  readonly totalBytes: number
  readonly truncated: boolean
}

export interface WorkerLogSnapshot {
  readonly scope: LogScope
  /** True only when both ends were seen; then nothing is withheld [M-22, M-24]. */
  readonly complete: boolean
  readonly stdout: WorkerLog
  readonly stderr: WorkerLog
}

/** Makes the snapshot of a worker that lives: incomplete, whatever its streams say. */
export function liveLogSnapshot(stdout: LogSnapshot, stderr: LogSnapshot): WorkerLogSnapshot {
  return freeze('worker_lifetime_to_snapshot', false, stdout, stderr)
}

/** Makes the snapshot of an ended worker's output. */
export function finalLogSnapshot(output: { stdout: LogSnapshot; stderr: LogSnapshot }): WorkerLogSnapshot {
  const { stdout, stderr } = output
  return freeze('worker_lifetime', stdout.complete && stderr.complete, stdout, stderr)
}

function freeze(scope: LogScope, complete: boolean, stdout: LogSnapshot, stderr: LogSnapshot): WorkerLogSnapshot {
  return Object.freeze({ scope, complete, stdout: logOf(stdout), stderr: logOf(stderr) })
}

function logOf({ bytes, totalBytes, truncated }: LogSnapshot): WorkerLog {
  return Object.freeze({ bytes, totalBytes, truncated })
}
