/** The host's ends of a worker's two protocol pipes: owned by one party at a time. */
import type { Bounds } from '../base/deadline.js'
import { ProtocolError, toError } from '../base/errors.js'
import { FRAME_MAX_BYTES } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import type { HostReader, HostWriter } from '../process/host-pipe.js'
import { FrameStream } from '../protocol/frame.js'
import type { Phase } from './phases.js'

/** Both ends, as their owner has them. */
export class ProtocolEndpoints {
  /** Version 1 frames from the response pipe; bytes that come with one stay for the next. */
  readonly reader: FrameStream
  readonly writer: HostWriter
  readonly #source: HostReader

  constructor(reader: HostReader, writer: HostWriter, redact: Redactor) {
    this.#source = reader
    this.reader = new FrameStream(reader, { limitBytes: FRAME_MAX_BYTES, redact })
    this.writer = writer
  }

  /**
   * Checks that no read or write is under way.
   *
   * @throws {PipeError} ERR_PIPE_BUSY
   */
  checkIdle(): void {
    this.#source.checkIdle()
    this.writer.checkIdle()
  }

  /** Closes both ends: the worker sees the end of its requests. Repeatable. */
  close(): void {
    this.#source.close()
    this.writer.close()
  }
}

/** Throws when the ends are no longer to be used from outside; asked before each use: one can be kept too long. */
type Check = () => void

/** Reads frames from the response pipe, as long as no session owns it. */
export class ProtocolReader {
  readonly #frames: FrameStream
  readonly #check: Check

  /** @internal */
  constructor({ reader }: ProtocolEndpoints, check: Check) {
    this.#frames = reader
    this.#check = check
  }

  /**
   * Reads the next value; undefined at the end of the stream. A read that its bounds stop loses no byte.
   *
   * @throws {ProtocolError} ERR_PROTOCOL_IO_TRANSFERRED, ERR_PROTOCOL_CLOSED, ERR_FRAME_…
   * @throws {PipeError} ERR_PIPE_BUSY, ERR_PIPE_TIMEOUT
   * @throws {AbortError} ERR_ABORTED
   */
  async read(bounds: Bounds = {}): Promise<unknown> {
    this.#check()
    try {
      return await this.#frames.read(bounds)
    } catch (error) {
      throw protocolError(error)
    }
  }
}

/** Writes bytes to the request pipe, as long as no session owns it. */
export class ProtocolWriter {
  readonly #host: HostWriter
  readonly #check: Check

  /** @internal */
  constructor({ writer }: ProtocolEndpoints, check: Check) {
    this.#host = writer
    this.#check = check
  }

  /**
   * Writes all bytes, waiting while the pipe is full.
   *
   * @throws {ProtocolError} ERR_PROTOCOL_IO_TRANSFERRED, ERR_PROTOCOL_CLOSED, ERR_PROTOCOL_WRITE_FAILED
   * @throws {PipeError} ERR_PIPE_BUSY, ERR_PIPE_TIMEOUT
   * @throws {AbortError} ERR_ABORTED
   */
  async write(bytes: Uint8Array, bounds: Bounds = {}): Promise<void> {
    this.#check()
    try {
      await this.#host.write(bytes, bounds)
    } catch (error) {
      throw protocolError(error)
    }
  }
}

/** Gives what a pipe's error means to who speaks the protocol over it. */
export function protocolError(error: unknown, phase?: Phase): Error {
  const { code, bytesWritten } = error as { code?: string; bytesWritten?: number }
  const during = phase === undefined ? {} : { phase }
  const options = { cause: error }
  if (code === 'ERR_PIPE_CLOSED') return new ProtocolError('ERR_PROTOCOL_CLOSED', { ...during, by: 'host' }, options)
  if (code !== 'ERR_PIPE_WRITE_FAILED') return toError(error)
  const written = bytesWritten === undefined ? {} : { bytesWritten }
  return new ProtocolError('ERR_PROTOCOL_WRITE_FAILED', { ...during, ...written }, options)
}
