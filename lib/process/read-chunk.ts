/** Reads of all pipes, through one room in which the kernel puts the bytes. */
import { Buffer } from 'node:buffer'
import type { NativeAddon } from '../addon/addon-types.js'
import { PIPE_CHUNK_BYTES } from '../base/limits.js'

// Not Buffer's own, which shares the memory.
const { slice } = Uint8Array.prototype
let room = Buffer.allocUnsafeSlow(PIPE_CHUNK_BYTES)

/**
 * Reads at most PIPE_CHUNK_BYTES.
 *
 * @returns bytes that nobody else has; null at the end, or a negative errno
 */
export function readChunk(native: NativeAddon, pipe: number): Buffer | null | number {
  const size = native.pipeRead(pipe, room)
  if (size <= 0) return size === 0 ? null : size
  if (2 * size < room.length) return slice.call(room, 0, size) as Buffer
  // Well filled: given away as it is, since a copy of that much costs as much as the read.
  const filled = room
  room = Buffer.allocUnsafeSlow(PIPE_CHUNK_BYTES)
  return size === filled.length ? filled : filled.subarray(0, size)
}
