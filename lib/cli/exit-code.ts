/** What this command's own exit code says, in one place. */
import { constants } from 'node:os'
import { ExactSpawnError } from '../base/errors.js'
import type { Exit } from '../process/exit.js'
import { NOT_FOUND } from '../process/start-errors.js'

/** Codes that are not the child's; those of timeout(1) and of shells. */
export const EXIT = {
  timeout: 124,
  /** This command failed, not the program. */
  ours: 125,
  notExecutable: 126,
  notFound: 127,
  /** 128 + SIGPIPE: nobody read the output. */
  outputClosed: 141,
} as const

/** Of the exit code of what a signal ended: 128 + its number. */
export const SIGNAL_BASE = 128

/** Tells how a child ended: its code, 128 + the signal's number, or 124 for a timeout. */
export function exitCode(exit: Exit): number {
  if (exit.endedBy === 'timeout') return EXIT.timeout
  if (exit.signal !== null) return SIGNAL_BASE + signalNumberOf(exit.signal)
  // A lost status is no success.
  return exit.code ?? EXIT.ours
}

/** Tells why no child was born: 127 where the program is not there, 126 where it cannot be run, else 125. */
export function startFailureCode(error: unknown): number {
  if (!ExactSpawnError.is(error, 'ERR_SPAWN_FAILED') || error.details.stage !== 'exec') return EXIT.ours
  // With another hint than that the file is there, and what it names as its interpreter is not.
  const { errno, hint = NOT_FOUND } = error.details
  const missing = errno === -constants.errno.ENOENT && hint.startsWith(NOT_FOUND)
  return missing ? EXIT.notFound : EXIT.notExecutable
}

// Real-time signals are told as SIG and their number.
function signalNumberOf(name: string): number {
  return (constants.signals as Readonly<Record<string, number>>)[name] ?? Number(name.slice('SIG'.length))
}
