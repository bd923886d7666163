/** Several signals as one, for as long as one piece of work lasts. */
import { onAbort } from './abort-listeners.js'

/** A signal that aborts with the first of those it was made of. */
export interface JoinedSignal {
  readonly signal: AbortSignal
  /** Leaves them all: what they do from here on reaches nobody. */
  readonly leave: () => void
}

/**
 * Joins signals until they are left. `AbortSignal.any` knows no such end: what it makes stays in a list of each signal
 * it was made of, about 100 bytes a call in Node 20, and one signal may bound a run of a million attempts.
 */
export function joinSignals(signals: readonly (AbortSignal | undefined)[]): JoinedSignal {
  const joined = new AbortController()
  const leaving: (() => void)[] = []
  const leave = () => {
    for (const left of leaving.splice(0)) left()
  }
  for (const signal of signals) {
    if (signal === undefined) continue
    const abort = () => {
      leave()
      // The same reason: it is the cause that an AbortError tells.
      joined.abort(signal.reason)
    }
    if (signal.aborted) {
      abort()
      break
    }
    leaving.push(onAbort(signal, abort))
  }
  return { signal: joined.signal, leave }
}
