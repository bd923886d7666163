/** The host's ends of a worker's two protocol pipes: owned by one party at a time. */
import type { Bounds } from '../base/deadline.js'
import { FRAME_MAX_BYTES } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import type { HostReader, HostWriter } from '../process/host-pipe.js'
import { FrameStream } from '../protocol/frame.js'

/** Writes bytes to the request pipe. */
export class ProtocolWriter {
  readonly #host: HostWriter

  constructor(host: HostWriter) {
    this.#host = host
  }

  /** Writes all bytes; HostWriter.write says what can go wrong. */
  write(bytes: Uint8Array, bounds: Bounds = {}): Promise<void> {
    return this.#host.write(bytes, bounds)
  }
}

export class ProtocolEndpoints {
  /** Version 1 frames from the response pipe; bytes that come with one stay for the next. */
  readonly reader: FrameStream
  readonly writer: ProtocolWriter
  readonly #hosts: readonly [HostReader, HostWriter]

  constructor(reader: HostReader, writer: HostWriter, redact: Redactor) {
    this.#hosts = [reader, writer]
    this.reader = new FrameStream(reader, { limitBytes: FRAME_MAX_BYTES, redact })
    this.writer = new ProtocolWriter(writer)
  }

  /** Closes both ends: the worker sees the end of its requests. Repeatable. */
  close(): void {
    for (const host of this.#hosts) host.close()
  }
}
