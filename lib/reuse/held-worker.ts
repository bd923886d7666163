/**
 * The one worker that an owner may have, as one state:
 *
 *     nothing ──hold──▶ held ──end──▶ ending ──its process is gone──▶ nothing
 *                        │              ▲  │
 *                        └─let go─▶ nothing └── a process may be there: it stays, and the next end tries again
 *
 * An owner is kept from another worker only while a process may be there. A directory that cannot be removed is told by
 * the end that met it, and costs no later attempt its worker: an immutable file would cost the owner its life.
 */
import { ExactSpawnError } from '../base/errors.js'
import type { Replacement } from './evidence.js'
import type { OwnedWorker } from './owned-worker.js'

type State =
  /** `lost`: the worker that an earlier failure cost, for the next launch to tell. */
  | { readonly is: 'nothing'; readonly lost?: Replacement | undefined }
  /** Started: being greeted, at work, or kept for the next slot. */
  | { readonly is: 'held'; readonly worker: OwnedWorker }
  /** To be ended: no slot meets it any more. */
  | { readonly is: 'ending'; readonly worker: OwnedWorker; readonly lost?: Replacement | undefined }

export class HeldWorker {
  #state: State = { is: 'nothing' }

  /** The worker that can be used; none once it is to be ended. */
  get worker(): OwnedWorker | undefined {
    return this.#state.is === 'held' ? this.#state.worker : undefined
  }

  /** Gives what the next launch has to tell of an earlier worker, once. */
  takeLost(): Replacement | undefined {
    if (this.#state.is === 'held') return undefined
    const { lost } = this.#state
    this.#state = { ...this.#state, lost: undefined }
    return lost
  }

  /** Takes a worker over from its first moment on. There must be none: two are never alive here. */
  hold(worker: OwnedWorker): void {
    if (this.#state.is !== 'nothing') throw new Error('a worker is held already')
    this.#state = { is: 'held', worker }
  }

  /** Lets go of a worker that has ended by itself. */
  letGo(): void {
    this.#state = { is: 'nothing' }
  }

  /**
   * Ends the worker, if there is one.
   *
   * @param reasons why it is lost, where a failure has cost it
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE: a process may still be there, so the worker stays in the way
   * @throws {DirectoryError} ERR_PRIVATE_DIRECTORY_REMOVE_FAILED, ERR_PRIVATE_ROOT_UNAVAILABLE: the worker has gone
   */
  async end(reasons: Replacement['reasons'] = []): Promise<void> {
    if (this.#state.is === 'nothing') return
    const { worker } = this.#state
    const lost = reasons.length === 0 ? {} : { lost: { instance: worker.instance, reasons, changed: [] } }
    this.#state = { is: 'ending', worker, ...lost }
    try {
      await worker.end()
    } catch (error) {
      if (!worker.ended || ExactSpawnError.is(error, 'ERR_TERMINATION_DEADLINE')) throw error
      this.#gone(worker)
      throw error
    }
    this.#gone(worker)
  }

  // Of two ends at once the second finds it done.
  #gone(worker: OwnedWorker): void {
    if (this.#state.is === 'ending' && this.#state.worker === worker) this.#state = { is: 'nothing', lost: this.#state.lost }
  }
}
