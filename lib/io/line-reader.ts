/** Frames that end with one LF. */
import { BoundedReader, type FrameBound } from './bounded-reader.js'
import type { ByteQueue } from './byte-queue.js'

const LF = 0x0a
const CR = 0x0d

export interface LineFraming extends FrameBound {
  /** Whether one CR before the LF belongs to the framing. Absent: it belongs to the line. */
  crlf?: boolean
}

/**
 * Reads lines: the byte LF ends one and nothing else does, neither a lone CR nor U+2028, U+2029 or U+0085 [B114].
 *
 * The bound counts the LF, and a CR before it: of 10 bytes a line may have 9.
 */
export class LineReader extends BoundedReader {
  readonly #crlf: boolean
  // How much of the unfinished line was searched already: a line is searched once, however small its chunks.
  #searched = 0

  constructor({ crlf = false, ...bound }: LineFraming) {
    super(bound)
    this.#crlf = crlf
  }

  protected take(queue: ByteQueue): Buffer | undefined {
    const { bytes, at } = queue
    const lf = bytes.indexOf(LF, at + this.#searched)
    if (lf === -1) {
      this.#searched = queue.length
      // One more byte, the LF, would be too many.
      if (queue.length >= this.limitBytes) this.failTooLong()
      return undefined
    }
    if (lf - at >= this.limitBytes) this.failTooLong()
    this.cutAnew()
    queue.at = lf + 1
    const end = this.#crlf && lf > at && bytes[lf - 1] === CR ? lf - 1 : lf
    return bytes.subarray(at, end)
  }

  protected override cutAnew(): void {
    this.#searched = 0
  }
}
