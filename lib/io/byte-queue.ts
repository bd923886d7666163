/**
 * Bytes that have come and have not been taken yet, side by side: where the last chunk is all there is, in that chunk, else
 * in one buffer that grows as they need it.
 */
export class ByteQueue {
  /** What came and still lies here; what has not been taken begins at `at`. Borrowed until the next push. */
  bytes: Buffer = Buffer.alloc(0)
  at = 0
  readonly #enoughBytes: number
  #buffer: Buffer = this.bytes
  /** Whether `bytes` is a chunk as it came, and no part of the buffer. */
  #foreign = false

  /** `enoughBytes`: up to here the buffer doubles, beyond it grows by what is needed. */
  constructor(enoughBytes: number) {
    this.#enoughBytes = enoughBytes
  }

  get length(): number {
    return this.bytes.length - this.at
  }

  /** Takes a chunk over. */
  push(chunk: Uint8Array): void {
    if (this.length === 0) {
      this.bytes = asBuffer(chunk)
      this.at = 0
      this.#foreign = true
      return
    }
    const short = this.bytes.length + chunk.length > this.#buffer.length
    if (this.#foreign || short) this.#makeRoom(this.length + chunk.length)
    const end = this.bytes.length
    this.#buffer.set(chunk, end)
    this.bytes = this.#buffer.subarray(0, end + chunk.length)
  }

  /** Gives what has not been taken as bytes of the caller's own, and is empty. */
  drain(): Buffer {
    const rest = Buffer.from(this.bytes.subarray(this.at))
    this.bytes = this.#buffer = Buffer.alloc(0)
    this.at = 0
    this.#foreign = false
    return rest
  }

  #makeRoom(neededBytes: number): void {
    const { at, length, bytes } = this
    // Moving costs no more than what was taken, so that each byte is moved a bounded number of times.
    if (neededBytes > this.#buffer.length || (!this.#foreign && length > at)) {
      const doubled = Math.min(2 * this.#buffer.length, this.#enoughBytes)
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, doubled))
    }
    // Also within one buffer: what overlaps is moved right.
    bytes.copy(this.#buffer, 0, at)
    this.#foreign = false
    this.bytes = this.#buffer.subarray(0, length)
    this.at = 0
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
}
