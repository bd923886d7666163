/** Readers that are fed chunk by chunk, as a pipe would. */
import type { BoundedReader } from '../../lib/io/bounded-reader.js'

/** Every frame as text, read as soon as it is whole, and how the reading ended. */
export function readAll(reader: BoundedReader, chunks: Iterable<Uint8Array>, encoding: BufferEncoding = 'utf8') {
  const frames: string[] = []
  const drain = () => {
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) frames.push(frame.toString(encoding))
  }
  try {
    for (const chunk of chunks) {
      reader.push(chunk)
      drain()
    }
    reader.end()
    drain()
    return { frames }
  } catch (error) {
    return { frames, error }
  }
}
