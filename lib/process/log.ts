/** What a capture has kept: bytes, counts, and whether that is all. */
import { connectedAddon } from '../addon/events.js'

/**
 * One moment of a captured stream. Filtered: no registered secret is in it, nor the beginning of one [M-23].
 *
 * Frozen but for the bytes themselves, which nothing can freeze. They are borrowed: `head` and `tail` are views of
 * `bytes`, and an exit's are shared by every wait. Who wants to change them takes a copy.
 */
export interface LogSnapshot {
  /** Head and tail, one after the other; raw bytes as written, but for the secrets. */
  readonly bytes: Uint8Array
  /** The first bytes, a part of `bytes`. */
  readonly head: Uint8Array
  /** The last bytes after the head, a part of `bytes`. */
  readonly tail: Uint8Array
  /** Bytes between head and tail that nothing keeps, after filtering. */
  readonly omittedBytes: number
  /** All bytes read from the child, before filtering; exact. */
  readonly totalBytes: number
  /** Whether at least one byte was discarded. */
  readonly truncated: boolean
  /** Whether the end was seen: more may come otherwise, and a suffix may be withheld. */
  readonly complete: boolean
  /**
   * Decodes as UTF-8. Head and tail are decoded apart, so that a character cut by a limit shows as U+FFFD; where bytes
   * were omitted between them, a line says how many.
   */
  text(): string
}

/** One captured stream of a live or ended child. */
export interface Log {
  /** The number in the child. */
  readonly fd: number
  /** Gives what is kept by now. Never blocks; any number of times. */
  snapshot(): LogSnapshot
}

const decoder = new TextDecoder()
const NONE = new Uint8Array(0)
const facts = new Float64Array(4)

/** A stream that ended with nothing written to it. */
export const SILENT_LOG: LogSnapshot = Object.freeze({
  bytes: NONE,
  head: NONE,
  tail: NONE,
  omittedBytes: 0,
  totalBytes: 0,
  truncated: false,
  complete: true,
  text: () => '',
})

/** Reads one log from native memory. */
export function readLog(child: number, fd: number): LogSnapshot | undefined {
  const bytes = connectedAddon().log(child, fd, facts)
  return bytes === null ? undefined : snapshotOf(bytes)
}

function snapshotOf(bytes: Uint8Array): LogSnapshot {
  const [headSize, totalBytes, omittedBytes, complete] = facts as unknown as [number, number, number, number]
  const whole = headSize === bytes.length
  const head = whole ? bytes : bytes.subarray(0, headSize)
  const tail = whole ? NONE : bytes.subarray(headSize)
  const text = () =>
    omittedBytes === 0
      ? decoder.decode(bytes)
      : `${decoder.decode(head)}\n[${omittedBytes} bytes omitted]\n${decoder.decode(tail)}`
  const truncated = omittedBytes > 0
  return Object.freeze({ bytes, head, tail, omittedBytes, totalBytes, truncated, complete: complete !== 0, text })
}
