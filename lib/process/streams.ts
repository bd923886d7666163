/** Node streams over the host's ends, for "pipe" on 0, 1 and 2. */
import { Readable, Writable } from 'node:stream'
import { PIPE_CHUNK_BYTES } from '../base/limits.js'
import type { HostReader, HostWriter } from './host-pipe.js'

/** A stream that reads the pipe; destroying it closes the host's end. Backpressure reaches the child. */
export function readableOf(host: HostReader): Readable {
  const cancel = new AbortController()
  return new Readable({
    highWaterMark: PIPE_CHUNK_BYTES,
    read() {
      host.read({ signal: cancel.signal }).then(
        (chunk) => {
          this.push(chunk)
        },
        (error: Error) => {
          if (!cancel.signal.aborted) this.destroy(error)
        },
      )
    },
    destroy(error, done) {
      cancel.abort()
      host.close()
      done(error)
    },
  })
}

/**
 * A stream that writes the pipe; ending it destroys it, as Node's streams do, and that closes the host's end. A child that is gone makes the write fail and the
 * stream emit 'error'; without a listener for that the stream is only closed, so that no child can end the host [B037].
 */
export function writableOf(host: HostWriter): Writable {
  const cancel = new AbortController()
  const stream = new Writable({
    highWaterMark: PIPE_CHUNK_BYTES,
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      host.write(chunk, { signal: cancel.signal }).then(() => done(), done)
    },
    destroy(error, done) {
      cancel.abort()
      host.close()
      done(error)
    },
  })
  stream.on('error', () => {})
  return stream
}
