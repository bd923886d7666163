/** What the readers of frames share: chunks go in, whole frames come out, and memory has a bound. */
import { ProtocolError } from '../base/errors.js'
import { ByteQueue } from './byte-queue.js'

export interface FrameBound {
  /** Most bytes of one frame, counted as the reader says. Infinity, written out, is no bound. */
  limitBytes: number
}

/**
 * Cuts a stream of chunks, split anywhere, into frames.
 *
 * `push` what came, then call `next` until it gives undefined; at the end of the stream call `end`, then `next` as
 * before. Kept like this it holds one frame and one chunk at most. Its first failure is final: `push` and `next`
 * fail with the same error from then on.
 */
export abstract class BoundedReader {
  protected readonly limitBytes: number
  readonly #queue: ByteQueue
  #ended = false
  #failure: unknown

  /** @throws {RangeError} a bound that is no whole number above 0, nor Infinity */
  constructor({ limitBytes }: FrameBound) {
    if (limitBytes !== Infinity && !(Number.isSafeInteger(limitBytes) && limitBytes > 0)) {
      throw new RangeError(`limitBytes must be a whole number above 0, or Infinity, not ${String(limitBytes)}`)
    }
    this.limitBytes = limitBytes
    this.#queue = new ByteQueue(limitBytes)
  }

  /** Takes one chunk over: its bytes must not be changed any more. */
  push(chunk: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#ended) throw new Error('push: the end of the stream was told')
    this.#queue.push(chunk)
  }

  /** Tells that no chunk will come any more. */
  end(): void {
    this.#ended = true
  }

  /**
   * Gives the next frame without its framing, or undefined: more bytes are needed or, after `end`, there is none.
   *
   * @returns bytes borrowed until the next push
   * @throws {ProtocolError} ERR_FRAME_LINE_TOO_LONG, as soon as no end within the bound can come; ERR_FRAME_EARLY_EOF
   */
  next(): Buffer | undefined {
    if (this.#failure !== undefined) throw this.#failure
    const frame = this.take(this.#queue)
    if (frame === undefined && this.#ended && this.#queue.length > 0) {
      this.fail(new ProtocolError('ERR_FRAME_EARLY_EOF', { received: this.#queue.length }))
    }
    return frame
  }

  /** Bytes that belong to no frame given so far. */
  get pendingBytes(): number {
    return this.#queue.length
  }

  /** Gives the bytes that belong to no frame given so far, also those of an unfinished one, and keeps none. */
  rest(): Buffer {
    this.cutAnew()
    return this.#queue.drain()
  }

  /** Moves `queue.at` past one frame and gives its payload, or gives undefined. */
  protected abstract take(queue: ByteQueue): Buffer | undefined

  /** Forgets what is known of the frame that is not whole yet. */
  protected cutAnew(): void {}

  protected failTooLong(): never {
    return this.fail(new ProtocolError('ERR_FRAME_LINE_TOO_LONG', { limitBytes: this.limitBytes }))
  }

  protected fail(error: Error): never {
    this.#failure = error
    throw error
  }
}
