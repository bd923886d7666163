/** Several owners side by side: one a lane, and no lane knows of another. */
import { checkSignal } from '../base/deadline.js'
import { ReuseError, suppress, toError } from '../base/errors.js'
import { LANES_MAX } from '../base/limits.js'
import { checkOptions } from '../process/options.js'
import { invalid } from '../process/strings.js'
import type { Attempt, ReadAttempt } from './attempt.js'
import { readAttempt } from './attempt.js'
import { Specifications } from './specifications.js'
import type { AttemptOutcome, WorkerOwnerOptions } from './worker-owner.js'
import { WorkerOwner } from './worker-owner.js'

export interface WorkerLanesOptions extends Omit<WorkerOwnerOptions, 'lane'> {
  /** How many attempts run at once, at most: 1 to LANES_MAX. */
  readonly lanes: number
}

export class WorkerLanes implements AsyncDisposable {
  readonly owners: readonly WorkerOwner[]
  /** One for all: a specification is no lane's. */
  readonly #specifications = new Specifications()
  #running = false

  /**
   * Does no I/O.
   *
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC
   */
  constructor(options: WorkerLanesOptions) {
    checkOptions(options, ['lanes', 'executor', 'publish', 'publishTimeoutMs', 'onEvent'])
    const { lanes, ...shared } = options
    if (!Number.isSafeInteger(lanes) || lanes < 1 || lanes > LANES_MAX) {
      throw invalid('lanes', `must be an integer from 1 to ${LANES_MAX}`)
    }
    const ownerOf = (_: unknown, lane: number) => new WorkerOwner({ ...shared, lane }, this.#specifications)
    this.owners = Object.freeze(Array.from({ length: lanes }, ownerOf))
  }

  /**
   * Runs a batch. The attempt at position p is served by lane p modulo the number of lanes, in the order of the batch, so
   * that the same position meets the same worker in the next batch. A failure on one lane is that attempt's alone.
   *
   * @returns what became of each attempt, in the order of the batch
   * @throws as Attempt is read, all of them; {TypeError} a signal that is none: nothing has run then
   * @throws {ReuseError} ERR_OWNER_BUSY: another batch runs
   */
  async run<T>(
    batch: readonly Attempt<T>[],
    bounds: { signal?: AbortSignal } = {},
  ): Promise<PromiseSettledResult<AttemptOutcome<T>>[]> {
    checkOptions(bounds, ['signal'])
    if (!Array.isArray(batch)) throw invalid('batch', 'must be an array')
    checkSignal(bounds.signal)
    // Read whole before anything runs: what the caller changes meanwhile is none of this batch. By index, since an
    // iteration could pass over a hole.
    const attempts = Array.from(batch, (attempt) => readAttempt(attempt))
    if (this.#running) throw new ReuseError('ERR_OWNER_BUSY', { attempt: attempts[0]?.id ?? 'none' })
    this.#specifications.check(attempts)
    this.#running = true
    try {
      const results: PromiseSettledResult<AttemptOutcome<T>>[] = []
      const serve = async (owner: WorkerOwner, lane: number) => {
        for (let at = lane; at < attempts.length; at += this.owners.length) {
          const attempt = attempts[at] as ReadAttempt<T>
          results[at] = (await Promise.allSettled([owner.serve(attempt, bounds)]))[0]
        }
      }
      await Promise.all(this.owners.map(serve))
      return results
    } finally {
      this.#running = false
    }
  }

  /** Ends all lanes, each as its owner ends. Repeatable. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ends = await Promise.allSettled(this.owners.map((owner) => owner[Symbol.asyncDispose]()))
    const [first, ...later] = ends.filter((end) => end.status === 'rejected').map(({ reason }) => toError(reason))
    if (first === undefined) return
    suppress(first, later)
    throw first
  }
}
