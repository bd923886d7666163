/** Bytes that have come and have not been taken yet, side by side in one buffer that grows as they need it. */
export class ByteQueue {
  /** What came and still lies here; what has not been taken begins at `at`. Borrowed until the next push. */
  bytes: Buffer = Buffer.alloc(0)
  at = 0
  readonly #enoughBytes: number
  #buffer: Buffer = this.bytes

  /** `enoughBytes`: up to here the buffer doubles, beyond it grows by what is needed. */
  constructor(enoughBytes: number) {
    this.#enoughBytes = enoughBytes
  }

  get length(): number {
    return this.bytes.length - this.at
  }

  /** Copies a chunk in; the caller may use it again. */
  push(chunk: Uint8Array): void {
    if (this.bytes.length + chunk.length > this.#buffer.length) this.#makeRoom(this.length + chunk.length)
    const end = this.bytes.length
    this.#buffer.set(chunk, end)
    this.bytes = this.#buffer.subarray(0, end + chunk.length)
  }

  /** Gives what has not been taken as bytes of the caller's own, and is empty. */
  drain(): Buffer {
    const rest = Buffer.from(this.bytes.subarray(this.at))
    this.bytes = this.#buffer = Buffer.alloc(0)
    this.at = 0
    return rest
  }

  #makeRoom(neededBytes: number): void {
    const { at, length, bytes } = this
    // Moving costs no more than what was taken, so that each byte is moved a bounded number of times.
    if (neededBytes <= this.#buffer.length && length <= at) {
      this.#buffer.copyWithin(0, at, bytes.length)
    } else {
      const doubled = Math.min(2 * this.#buffer.length, this.#enoughBytes)
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, doubled))
      bytes.copy(this.#buffer, 0, at)
    }
    this.bytes = this.#buffer.subarray(0, length)
    this.at = 0
  }
}
