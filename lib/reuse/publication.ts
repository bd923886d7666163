/** Publishing within bounds: whoever makes evidence durable is the caller's, and may never be done. */
import { bounded } from '../base/deadline.js'
import { ExactSpawnError, ReuseError, toError } from '../base/errors.js'
import { DISPOSE_MS } from '../base/limits.js'
import type { AttemptEvidence } from './evidence.js'

/** Makes evidence durable: once it has resolved, a crash of the host no longer loses it. */
export type Publish = (evidence: AttemptEvidence) => Promise<void> | void

export interface PublishTerms {
  readonly publish: Publish | undefined
  readonly timeoutMs: number
  /** Aborts when the owner ends: what is waited for then is waited for no longer. */
  readonly ending: AbortSignal
}

/**
 * Calls the publisher in this turn, and waits for it. Of an attempt that the owner's end has ended, the evidence is
 * handed over all the same, and is waited for as long as a dispose may take: a journal that works is done by then.
 *
 * @throws {ReuseError} ERR_PUBLICATION_FAILED, the cause is the publisher's error, ERR_PUBLICATION_TIMEOUT, or ERR_ABORTED
 *   when the owner ended meanwhile
 */
export async function publishWithin(evidence: AttemptEvidence, terms: PublishTerms): Promise<void> {
  const { publish, ending } = terms
  if (publish === undefined) return
  const limitMs = ending.aborted ? Math.min(terms.timeoutMs, DISPOSE_MS) : terms.timeoutMs
  const bounds = { timeoutMs: limitMs, ...(ending.aborted ? {} : { signal: ending }) }
  const late = () => new ReuseError('ERR_PUBLICATION_TIMEOUT', { limitMs })
  try {
    await bounded(async () => await publish(evidence), bounds, late)
  } catch (cause) {
    // A journal's own, which says the same.
    if (ExactSpawnError.is(cause, 'ERR_PUBLICATION_FAILED')) throw toError(cause)
    throw new ReuseError('ERR_PUBLICATION_FAILED', { attempt: evidence.attempt }, { cause })
  }
}
