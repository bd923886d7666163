/** Ends what a scope owns: in reverse order, once, and past the first failure. */
import { suppress, toError } from './errors.js'

/**
 * Holds what has to be undone, newest last.
 *
 * A start that fails half-way disposes it; `await using` does so at the end of a scope.
 */
export class DisposeStack implements AsyncDisposable {
  readonly #closes: (() => unknown)[] = []
  #disposed: Promise<void> | undefined

  /**
   * Adds what undoes the step just done.
   *
   * @throws {Error} disposal has begun; the caller still owns what it wanted to add
   */
  defer(close: () => unknown): void {
    if (this.#disposed !== undefined) throw new Error('defer: disposal has begun')
    this.#closes.push(close)
  }

  /**
   * Runs every close, each after the one before has settled. Repeatable: every call gives the same promise.
   *
   * @throws the first failure, with the later ones in its `suppressed`
   */
  dispose(): Promise<void> {
    return (this.#disposed ??= this.#closeAll())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  async #closeAll(): Promise<void> {
    const failures: Error[] = []
    for (let close = this.#closes.pop(); close !== undefined; close = this.#closes.pop()) {
      try {
        await close()
      } catch (thrown) {
        failures.push(toError(thrown))
      }
    }
    const [first, ...later] = failures
    if (first === undefined) return
    suppress(first, later)
    throw first
  }
}
