/** The frames of wire protocol v1: one JSON value and one LF. */
import { deadlineAfter, remainingMs, type Bounds } from '../base/deadline.js'
import { ExactSpawnError, PipeError, ProtocolError } from '../base/errors.js'
import type { Redactor } from '../io/redactor.js'
import type { FrameBound } from '../io/bounded-reader.js'
import { LineReader } from '../io/line-reader.js'
import { canonicalJson } from './canonical-json.js'
import { redacting } from './redacting.js'
import { parseStrictJson } from './strict-json.js'

/** Where bytes come from: the host's end of a response pipe is one. */
export interface ChunkSource {
  /** Gives some bytes, or null at the end. */
  read(bounds: Bounds): Promise<Uint8Array | null>
  /** The same without waiting; undefined when nothing is there yet. */
  readNow?(): Uint8Array | null | undefined
}

export interface FrameReading extends FrameBound {
  /** Takes secrets out of what errors quote. */
  redact?: Redactor
}

/**
 * Gives the bytes of one message: canonical JSON and its LF, which counts.
 *
 * @throws {ProtocolError} ERR_MESSAGE_INVALID, ERR_MESSAGE_TOO_LONG
 */
export function encodeFrame(message: unknown, { limitBytes }: FrameBound): Buffer {
  const frame = Buffer.from(`${canonicalJson(message)}\n`)
  if (frame.length > limitBytes) {
    throw new ProtocolError('ERR_MESSAGE_TOO_LONG', { limitBytes, bytes: frame.length })
  }
  return frame
}

/** Reads values from chunks that are pushed; used as a LineReader is, and failing as finally. */
export class FrameReader {
  readonly #lines: LineReader
  readonly #redact: Redactor | undefined
  #failure: unknown

  constructor({ limitBytes, redact }: FrameReading) {
    this.#lines = new LineReader({ limitBytes })
    this.#redact = redact
  }

  /** Takes one chunk over: its bytes must not be changed any more. */
  push(chunk: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure
    this.#lines.push(chunk)
  }

  /** Tells that no chunk will come any more. */
  end(): void {
    this.#lines.end()
  }

  /**
   * Gives the next value, or undefined: more bytes are needed or, after `end`, there is none.
   *
   * @throws {ProtocolError} ERR_FRAME_… of docs/errors.md, but ERR_FRAME_IO
   */
  next(): unknown {
    if (this.#failure !== undefined) throw this.#failure
    try {
      const line = this.#lines.next()
      return line === undefined ? undefined : redacting(this.#redact, () => parseStrictJson(line))
    } catch (error) {
      this.#failure = error
      throw error
    }
  }

  /** Bytes behind the last frame. */
  get pendingBytes(): number {
    return this.#lines.pendingBytes
  }

  /** Gives the bytes behind the last frame, for who reads on from here, and keeps none. */
  rest(): Buffer {
    return this.#lines.rest()
  }
}

/** Pulls frames out of a source, one at a time; between two reads nothing is read ahead but what came along. */
export class FrameStream {
  readonly #source: ChunkSource
  readonly #reader: FrameReader
  #ended = false

  constructor(source: ChunkSource, reading: FrameReading) {
    this.#source = source
    this.#reader = new FrameReader(reading)
  }

  /**
   * Reads the next value; undefined at the end of the stream. A read that its bounds stop loses no byte.
   *
   * @throws {PipeError} ERR_PIPE_TIMEOUT with the whole of `timeoutMs`
   * @throws {ProtocolError} ERR_FRAME_…; ERR_FRAME_IO when the operating system refused to read
   * @throws whatever else the source throws, as when it was stopped
   */
  async read({ timeoutMs, ...bounds }: Bounds = {}): Promise<unknown> {
    const deadline = deadlineAfter(timeoutMs)
    for (;;) {
      const value = this.#reader.next()
      if (value !== undefined || this.#ended) return value
      const chunk = await this.#readChunk({ ...bounds, timeoutMs: remainingMs(deadline) }, timeoutMs)
      this.#feed(chunk)
    }
  }

  /**
   * Gives a value that has come already, without waiting; undefined when there is none.
   *
   * @throws as read
   */
  takeNow(): unknown {
    for (;;) {
      const value = this.#reader.next()
      if (value !== undefined || this.#ended) return value
      const chunk = this.#source.readNow?.()
      if (chunk === undefined) return undefined
      this.#feed(chunk)
    }
  }

  /** Bytes behind the last frame that have been read. */
  get pendingBytes(): number {
    return this.#reader.pendingBytes
  }

  /** Gives the bytes behind the last frame, for who takes the source over, and keeps none. */
  rest(): Buffer {
    return this.#reader.rest()
  }

  #feed(chunk: Uint8Array | null): void {
    if (chunk !== null) return this.#reader.push(chunk)
    this.#ended = true
    this.#reader.end()
  }

  async #readChunk(bounds: Bounds, timeoutMs: number | undefined): Promise<Uint8Array | null> {
    try {
      return await this.#source.read(bounds)
    } catch (error) {
      // What the caller gave, not what was left of it for this chunk.
      if (ExactSpawnError.is(error, 'ERR_PIPE_TIMEOUT') && timeoutMs !== undefined) {
        throw new PipeError('ERR_PIPE_TIMEOUT', { ...error.details, timeoutMs })
      }
      const { errno, syscall } = error as { errno?: unknown; syscall?: unknown }
      if (typeof errno !== 'number' || typeof syscall !== 'string') throw error
      throw new ProtocolError('ERR_FRAME_IO', { errno, syscall }, { cause: error })
    }
  }
}
