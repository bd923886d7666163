/** Frames that begin with their length: four bytes, big-endian, then as many bytes as they say. */
import { BoundedReader } from './bounded-reader.js'
import type { ByteQueue } from './byte-queue.js'

const PREFIX_BYTES = 4

/** Reads frames with a length before them. The bound counts what follows the length. */
export class LengthPrefixReader extends BoundedReader {
  protected take(queue: ByteQueue): Buffer | undefined {
    if (queue.length < PREFIX_BYTES) return undefined
    const start = queue.at + PREFIX_BYTES
    const end = start + queue.bytes.readUInt32BE(queue.at)
    if (end - start > this.limitBytes) this.failTooLong()
    if (end > queue.bytes.length) return undefined
    queue.at = end
    return queue.bytes.subarray(start, end)
  }
}

/**
 * Puts a frame's length before it.
 *
 * @throws {RangeError} more bytes than four bytes can count
 */
export function prefixLength(frame: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + frame.length)
  bytes.writeUInt32BE(frame.length)
  bytes.set(frame, PREFIX_BYTES)
  return bytes
}
