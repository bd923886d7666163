/**
 * The host's end of a protocol pipe. Reads and writes go to the kernel at once and wait only when there is nothing to
 * read or no room; a wait can be cancelled or bounded, and cancelling loses no byte.
 */
import { types } from 'node:util'
import type { NativeAddon } from '../addon/addon-types.js'
import { INTEREST } from '../addon/addon-types.js'
import { connectedAddon, holdLoop, offPipe, onPipe } from '../addon/events.js'
import type { Bounds, OnStop, StopError, StopFacts } from '../base/deadline.js'
import { bounded, checkBounds } from '../base/deadline.js'
import { PipeError } from '../base/errors.js'
import { PIPE_CHUNK_BYTES } from '../base/limits.js'

const EAGAIN = -11
const EAGAIN_DARWIN = -35
const EFAULT = -14
const again = process.platform === 'darwin' ? EAGAIN_DARWIN : EAGAIN

type Direction = 'childReads' | 'childWrites'

interface Wait {
  ready: () => void
  stop: (stopError: StopError) => void
}

// An end that nobody can reach any more is closed: its number would be lost until the host ends.
const forgotten = new FinalizationRegistry<number>((pipe) => {
  offPipe(pipe)
  connectedAddon().pipeClose(pipe)
})

abstract class HostPipe implements AsyncDisposable {
  readonly #native: NativeAddon
  readonly #pipe: number
  readonly #direction: Direction
  #fd: number | undefined
  readonly #waits = new Map<number, Wait>()
  #child: object | undefined

  /** @internal */
  constructor(pipe: number, fd: number, direction: Direction) {
    this.#native = connectedAddon()
    this.#pipe = pipe
    this.#fd = fd
    this.#direction = direction
    forgotten.register(this, pipe, this)
    // The listener must not hold this object, or it could never be forgotten.
    const waits = this.#waits
    onPipe(pipe, (told) => {
      for (const [interest, wait] of [...waits]) if ((told & interest) !== 0) wait.ready()
    })
  }

  /**
   * The descriptor's number while this end is open. It is in non-blocking mode (O_NONBLOCK), which belongs to the open
   * file description and so to every copy.
   *
   * @throws {PipeError} ERR_PIPE_CLOSED
   */
  get fd(): number {
    if (this.#fd === undefined) throw this.closedError()
    return this.#fd
  }

  /** Whether this end is closed or handed over. */
  get closed(): boolean {
    return this.#fd === undefined
  }

  /**
   * Hands the descriptor over for good: from here on the caller closes it. Waits that are pending are rejected.
   *
   * @throws {PipeError} ERR_PIPE_CLOSED
   */
  takeFd(): number {
    void this.fd
    this.#leave()
    return this.#native.pipeTake(this.#pipe)
  }

  /** Closes this end. Repeatable. Waits that are pending are rejected with ERR_PIPE_CLOSED. */
  close(): void {
    if (this.closed) return
    this.#leave()
    this.#native.pipeClose(this.#pipe)
  }

  /** @internal The child at the other end stays reachable with this end: it must not end under a pending read. */
  attach(child: object): void {
    this.#child = child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  #leave(): void {
    this.#fd = undefined
    forgotten.unregister(this)
    offPipe(this.#pipe)
    for (const wait of [...this.#waits.values()]) wait.stop((facts) => this.closedError(facts))
  }

  protected get native(): NativeAddon {
    return this.#native
  }

  protected get id(): number {
    return this.#pipe
  }

  protected facts(): { fd?: number; direction: Direction } {
    return this.#fd === undefined ? { direction: this.#direction } : { fd: this.#fd, direction: this.#direction }
  }

  protected closedError({ bytesWritten }: StopFacts = {}): PipeError {
    const written = bytesWritten === undefined ? {} : { bytesWritten }
    return new PipeError('ERR_PIPE_CLOSED', { ...this.facts(), ...written })
  }

  protected waiting(interest: number): boolean {
    return this.#waits.has(interest)
  }

  protected timeoutError(bounds: Bounds): StopError {
    return ({ bytesWritten } = {}) => {
      const written = bytesWritten === undefined ? {} : { bytesWritten }
      return new PipeError('ERR_PIPE_TIMEOUT', { ...this.facts(), timeoutMs: bounds.timeoutMs ?? 0, ...written })
    }
  }

  /** Waits until the kernel reports the interest. Holds the event loop. */
  protected ready(interest: number, facts: StopFacts, onStop: OnStop): Promise<void> {
    return new Promise((resolve, reject) => {
      const release = holdLoop()
      const end = () => {
        this.#waits.delete(interest)
        release()
      }
      const stop = (stopError: StopError) => {
        if (this.#waits.get(interest)?.stop !== stop) return
        end()
        this.#native.pipeDisarm(this.#pipe, interest)
        reject(stopError(facts))
      }
      this.#waits.set(interest, {
        ready: () => {
          end()
          resolve()
        },
        stop,
      })
      onStop(stop)
      const failed = this.#native.pipeArm(this.#pipe, interest)
      if (failed !== 0) {
        const details = { ...this.facts(), errno: -failed, syscall: 'epoll_ctl' }
        stop(() => new PipeError('ERR_PIPE_READ_FAILED', details))
      }
    })
  }
}

/** The end from which the host reads what the child writes. */
export class HostReader extends HostPipe {
  #reading = false

  /**
   * @internal Checks that nobody reads.
   *
   * @throws {PipeError} ERR_PIPE_BUSY
   */
  checkIdle(): void {
    if (this.#reading) throw new PipeError('ERR_PIPE_BUSY', { ...this.facts(), operation: 'read' })
  }

  /**
   * Reads what is there, at most 64 KiB; waits when there is nothing yet.
   *
   * @returns bytes that are the caller's, or null at the end: every writer has closed
   * @throws {PipeError} ERR_PIPE_BUSY (one read at a time), ERR_PIPE_CLOSED, ERR_PIPE_TIMEOUT, ERR_PIPE_READ_FAILED
   * @throws {AbortError} ERR_ABORTED; nothing was taken from the pipe
   */
  async read(bounds: Bounds = {}): Promise<Buffer | null> {
    void this.fd
    this.checkIdle()
    checkBounds(bounds)
    const chunk = this.#take()
    if (chunk !== undefined) return chunk
    this.#reading = true
    try {
      return await bounded((onStop) => this.#read(onStop), bounds, this.timeoutError(bounds))
    } finally {
      this.#reading = false
    }
  }

  /** Gives the chunks until the end. Leaving the loop early keeps this end open. */
  async *bytes(bounds: Bounds = {}): AsyncGenerator<Buffer, void, undefined> {
    for (let chunk = await this.read(bounds); chunk !== null; chunk = await this.read(bounds)) yield chunk
  }

  /**
   * Reads what is there, without waiting.
   *
   * @returns as read; undefined when nothing is there yet
   * @throws {PipeError} ERR_PIPE_BUSY, ERR_PIPE_CLOSED, ERR_PIPE_READ_FAILED
   */
  readNow(): Buffer | null | undefined {
    void this.fd
    this.checkIdle()
    return this.#take()
  }

  async #read(onStop: OnStop): Promise<Buffer | null> {
    for (;;) {
      if (this.closed) throw this.closedError()
      const chunk = this.#take()
      if (chunk !== undefined) return chunk
      await this.ready(INTEREST.readable, {}, onStop)
    }
  }

  #take(): Buffer | null | undefined {
    const result = this.native.pipeRead(this.id, PIPE_CHUNK_BYTES)
    if (typeof result !== 'number') return result
    if (result === again) return undefined
    throw new PipeError('ERR_PIPE_READ_FAILED', { ...this.facts(), errno: result, syscall: 'read' })
  }
}

/** The end to which the host writes what the child reads. */
export class HostWriter extends HostPipe {
  #writing = false

  /**
   * @internal Checks that nobody writes.
   *
   * @throws {PipeError} ERR_PIPE_BUSY
   */
  checkIdle(): void {
    if (this.#writing) throw new PipeError('ERR_PIPE_BUSY', { ...this.facts(), operation: 'write' })
  }

  /**
   * Writes all bytes that are there at the call, waiting while the pipe is full. They are borrowed until the promise
   * settles.
   *
   * @throws {PipeError} ERR_PIPE_WRITE_FAILED with cause EPIPE when the child has closed its end, with cause EFAULT when
   *   the bytes were transferred or shortened meanwhile; ERR_PIPE_BUSY (one write at a time), ERR_PIPE_CLOSED,
   *   ERR_PIPE_TIMEOUT; each that began says `bytesWritten`
   * @throws {AbortError} ERR_ABORTED with `bytesWritten`: those the child will read
   */
  async write(bytes: Uint8Array, bounds: Bounds = {}): Promise<void> {
    if (!types.isUint8Array(bytes)) throw new TypeError('bytes must be a Uint8Array')
    void this.fd
    this.checkIdle()
    checkBounds(bounds)
    const bytesWritten = this.#put(bytes, 0)
    if (bytesWritten === bytes.length) return
    this.#writing = true
    try {
      await bounded((onStop) => this.#write(bytes, bytesWritten, onStop), bounds, this.timeoutError(bounds))
    } finally {
      this.#writing = false
    }
  }

  /**
   * Resolves once nobody holds the other end any more, also while nothing is written [B045].
   *
   * @throws {PipeError} ERR_PIPE_CLOSED, ERR_PIPE_TIMEOUT
   * @throws {AbortError} ERR_ABORTED
   */
  async peerClosed(bounds: Bounds = {}): Promise<void> {
    void this.fd
    if (this.waiting(INTEREST.hangup)) throw new PipeError('ERR_PIPE_BUSY', { ...this.facts(), operation: 'read' })
    const wait = (onStop: OnStop) => this.ready(INTEREST.hangup, {}, onStop)
    await bounded(wait, bounds, this.timeoutError(bounds))
  }

  async #write(bytes: Uint8Array, begun: number, onStop: OnStop): Promise<void> {
    const { buffer, byteOffset, length } = bytes
    // A view of that length alone: one that grows with its buffer would be written beyond it.
    const whole = new Uint8Array(buffer, byteOffset, length)
    let bytesWritten = begun
    while (bytesWritten < length) {
      await this.ready(INTEREST.writable, { bytesWritten }, onStop)
      if (this.closed) throw this.closedError({ bytesWritten })
      if (whole.length !== length) throw this.#writeError(EFAULT, bytesWritten)
      bytesWritten = this.#put(whole, bytesWritten)
    }
  }

  /** Writes what there is room for, from `begun` on; gives how many bytes are written then. */
  #put(bytes: Uint8Array, begun: number): number {
    let bytesWritten = begun
    while (bytesWritten < bytes.length) {
      const result = this.native.pipeWrite(this.id, bytes, bytesWritten)
      if (result === again) break
      if (result < 0) throw this.#writeError(result, bytesWritten)
      bytesWritten += result
    }
    return bytesWritten
  }

  #writeError(errno: number, bytesWritten: number): PipeError {
    return new PipeError('ERR_PIPE_WRITE_FAILED', { ...this.facts(), errno, syscall: 'write', bytesWritten })
  }
}
