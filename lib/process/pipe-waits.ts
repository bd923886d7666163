/** What waits on one pipe: a read or a write, and beside it a look-out for the end of the other side. */
import type { NativeAddon } from '../addon/addon-types.js'
import { INTEREST } from '../addon/addon-types.js'
import { offPipe, onPipe, releaseLoop, retainLoop } from '../addon/events.js'
import type { StopError, StopFacts } from '../base/deadline.js'

/** One operation that waits, and is tried again whenever the kernel reports its interest. */
export interface Wait {
  readonly interest: number
  /** Does what it can without waiting; undefined: not done yet. What it throws is the end of the operation. */
  readonly attempt: () => unknown
  /** What is known when it is stopped. */
  readonly facts: () => StopFacts
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

/** Does not hold the pipe's object: that can be forgotten while nothing waits. */
export class PipeWaits {
  /** The read or the write that waits. */
  transfer: Wait | undefined
  hangup: Wait | undefined
  /** Whether the pipe is closed or handed over. */
  left = false
  readonly #native: NativeAddon
  readonly #pipe: number

  constructor(native: NativeAddon, pipe: number) {
    this.#native = native
    this.#pipe = pipe
    onPipe(pipe, (told) => {
      const { transfer, hangup } = this
      if (transfer !== undefined && (told & transfer.interest) !== 0) this.#retry(transfer)
      // What the transfer did may have ended it.
      if (hangup !== undefined && hangup === this.hangup && (told & INTEREST.hangup) !== 0) this.#retry(hangup)
    })
  }

  /** Begins to wait; holds the event loop until it ends. Gives a negative errno where the kernel refuses to watch. */
  begin(wait: Wait): number {
    const failed = this.#native.pipeArm(this.#pipe, wait.interest)
    if (failed !== 0) return -failed
    if (wait.interest === INTEREST.hangup) this.hangup = wait
    else this.transfer = wait
    retainLoop()
    return 0
  }

  /** Tries a read or a write once more; it may have ended then. */
  tryLast(wait: Wait): void {
    if (wait === this.transfer) this.#retry(wait)
  }

  /** Ends a wait early, if it has not ended. */
  stop(wait: Wait, stopError: StopError): void {
    if (wait !== this.transfer && wait !== this.hangup) return
    this.#native.pipeDisarm(this.#pipe, wait.interest)
    this.#end(wait)
    wait.reject(stopError(wait.facts()))
  }

  /** Ends all waits for good. */
  leave(stopError: StopError): void {
    this.left = true
    offPipe(this.#pipe)
    if (this.transfer !== undefined) this.stop(this.transfer, stopError)
    if (this.hangup !== undefined) this.stop(this.hangup, stopError)
  }

  #retry(wait: Wait): void {
    try {
      const result = wait.attempt()
      if (result === undefined) {
        // Watched a moment ago: there is nothing left that the kernel could refuse.
        this.#native.pipeArm(this.#pipe, wait.interest)
        return
      }
      this.#end(wait)
      wait.resolve(result as never)
    } catch (error) {
      this.#end(wait)
      wait.reject(error)
    }
  }

  #end(wait: Wait): void {
    if (wait === this.hangup) this.hangup = undefined
    else this.transfer = undefined
    releaseLoop()
  }
}
