/**
 * The host's end of a protocol pipe. Reads and writes go to the kernel at once and wait only when there is nothing to
 * read or no room; a wait can be cancelled or bounded, and cancelling loses no byte.
 */
import { types } from 'node:util'
import type { NativeAddon, NativePipe } from '../addon/addon-types.js'
import { INTEREST } from '../addon/addon-types.js'
import { connectedAddon, offPipe } from '../addon/events.js'
import type { Bounds, OnStop, StopError, StopFacts } from '../base/deadline.js'
import { bounded, checkBounds, isUnbounded } from '../base/deadline.js'
import { PipeError } from '../base/errors.js'
import { PIPE_CHUNK_BYTES, PIPE_TURN_BYTES } from '../base/limits.js'
import { PipeWaits } from './pipe-waits.js'
import { readChunk } from './read-chunk.js'

const EAGAIN = -11
const EAGAIN_DARWIN = -35
const EFAULT = -14
const again = process.platform === 'darwin' ? EAGAIN_DARWIN : EAGAIN

type Direction = 'childReads' | 'childWrites'

// One object, by which a call without bounds is known at a glance.
const unbounded: Bounds = Object.freeze({})
const noFacts = (): StopFacts => ({})
const done = Promise.resolve()

// An end that nobody can reach any more is closed: its number would be lost until the host ends.
const forgotten = new FinalizationRegistry<number>((pipe) => {
  offPipe(pipe)
  connectedAddon().pipeClose(pipe)
})

abstract class HostPipe implements AsyncDisposable {
  protected readonly native: NativeAddon
  protected readonly id: number
  protected readonly waits: PipeWaits
  readonly #direction: Direction
  #fd: number | undefined
  #child: object | undefined

  /** @internal */
  constructor({ host, fd }: NativePipe, direction: Direction) {
    this.native = connectedAddon()
    this.id = host
    this.waits = new PipeWaits(this.native, host)
    this.#fd = fd
    this.#direction = direction
    forgotten.register(this, host, this)
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
    return this.waits.left
  }

  /**
   * Hands the descriptor over for good: from here on the caller closes it. Waits that are pending are rejected.
   *
   * @throws {PipeError} ERR_PIPE_CLOSED
   */
  takeFd(): number {
    void this.fd
    this.#leave()
    return this.native.pipeTake(this.id)
  }

  /** Closes this end. Repeatable. Waits that are pending are rejected with ERR_PIPE_CLOSED. */
  close(): void {
    if (this.closed) return
    this.#leave()
    this.native.pipeClose(this.id)
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
    this.waits.leave((facts) => this.closedError(facts))
  }

  protected facts(): { fd?: number; direction: Direction } {
    return this.#fd === undefined ? { direction: this.#direction } : { fd: this.#fd, direction: this.#direction }
  }

  protected closedError({ bytesWritten }: StopFacts = {}): PipeError {
    const written = bytesWritten === undefined ? {} : { bytesWritten }
    return new PipeError('ERR_PIPE_CLOSED', { ...this.facts(), ...written })
  }

  /**
   * @internal Checks that nobody reads or writes.
   *
   * @throws {PipeError} ERR_PIPE_BUSY
   */
  checkIdle(): void {
    if (this.waits.transfer !== undefined) this.refuse()
  }

  /**
   * Checks that a read or a write can begin.
   *
   * @throws {PipeError} ERR_PIPE_CLOSED, ERR_PIPE_BUSY
   */
  protected checkFree(): void {
    if (this.waits.left || this.waits.transfer !== undefined) this.refuse()
  }

  /** Says why nothing can begin: asked for by who has seen that. */
  protected refuse(): never {
    if (this.waits.left) throw this.closedError()
    throw new PipeError('ERR_PIPE_BUSY', {
      ...this.facts(),
      operation: this.#direction === 'childReads' ? 'write' : 'read',
    })
  }

  /**
   * Tries whenever the kernel reports the interest, until the attempt gives something. Holds the event loop.
   *
   * @throws {PipeError} ERR_PIPE_TIMEOUT, ERR_PIPE_CLOSED, ERR_PIPE_READ_FAILED, and what the attempt throws
   * @throws {AbortError} ERR_ABORTED
   */
  protected wait<T>(
    interest: number,
    attempt: () => T | undefined,
    facts: () => StopFacts,
    bounds: Bounds,
  ): Promise<T> {
    const timeoutError = this.#timeoutError(bounds)
    const begin = (onStop?: OnStop) => {
      return new Promise<T>((resolve, reject) => {
        const wait = { interest, attempt, facts, resolve, reject }
        onStop?.((stopError) => {
          // A timer that fires before the loop has looked at the pipe must not hide what is there.
          if (stopError === timeoutError) this.waits.tryLast(wait)
          this.waits.stop(wait, stopError)
        })
        const errno = this.waits.begin(wait)
        if (errno === 0) return
        reject(new PipeError('ERR_PIPE_READ_FAILED', { ...this.facts(), errno, syscall: 'epoll_ctl' }))
      })
    }
    return isUnbounded(bounds) ? begin() : bounded(begin, bounds, timeoutError)
  }

  #timeoutError(bounds: Bounds): StopError {
    return ({ bytesWritten } = {}) => {
      const written = bytesWritten === undefined ? {} : { bytesWritten }
      return new PipeError('ERR_PIPE_TIMEOUT', { ...this.facts(), timeoutMs: bounds.timeoutMs ?? 0, ...written })
    }
  }
}

/** The end from which the host reads what the child writes. */
export class HostReader extends HostPipe {
  /** Whether to wait costs less than to look in vain: the loop itself watches. */
  readonly #loopWatched: boolean
  /** Whether the last read left nothing. */
  #drained = false
  /** Bytes that were read since a read has waited last. */
  #turnBytes = 0
  readonly #attempt = (): Buffer | null | undefined => {
    const chunk = readChunk(this.native, this.id)
    if (typeof chunk === 'number') {
      if (chunk === again) return undefined
      throw new PipeError('ERR_PIPE_READ_FAILED', { ...this.facts(), errno: chunk, syscall: 'read' })
    }
    if (chunk === null) return null
    this.#turnBytes += chunk.length
    this.#drained = chunk.length < PIPE_CHUNK_BYTES
    return chunk
  }

  /** @internal */
  constructor(made: NativePipe, direction: Direction) {
    super(made, direction)
    this.#loopWatched = made.loopWatched
  }

  /**
   * Reads what is there, at most 64 KiB; waits when there is nothing yet.
   *
   * @returns bytes that are the caller's, or null at the end: every writer has closed
   * @throws {PipeError} ERR_PIPE_BUSY (one read at a time), ERR_PIPE_CLOSED, ERR_PIPE_TIMEOUT, ERR_PIPE_READ_FAILED
   * @throws {AbortError} ERR_ABORTED; nothing was taken from the pipe
   */
  read(bounds: Bounds = unbounded): Promise<Buffer | null> {
    // Not async: a read that waits would settle three turns of the microtask queue later.
    try {
      this.checkFree()
      if (bounds !== unbounded) checkBounds(bounds)
      if (this.#looksFirst(bounds)) {
        const chunk = this.#attempt()
        if (chunk !== undefined) return Promise.resolve(chunk)
      }
      this.#turnBytes = 0
      return this.wait(INTEREST.readable, this.#attempt, noFacts, bounds)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /** Gives the chunks until the end. Leaving the loop early keeps this end open. */
  async *bytes(bounds: Bounds = unbounded): AsyncGenerator<Buffer, void, undefined> {
    for (let chunk = await this.read(bounds); chunk !== null; chunk = await this.read(bounds)) yield chunk
  }

  /**
   * Reads what is there, without waiting.
   *
   * @returns as read; undefined when nothing is there yet
   * @throws {PipeError} ERR_PIPE_BUSY, ERR_PIPE_CLOSED, ERR_PIPE_READ_FAILED
   */
  readNow(): Buffer | null | undefined {
    this.checkFree()
    return this.#attempt()
  }

  #looksFirst(bounds: Bounds): boolean {
    // A child that writes as fast as it is read would keep the event loop from turning: reads that find bytes at once never
    // leave the microtask queue. So now and then one waits although there are some.
    if (this.#turnBytes >= PIPE_TURN_BYTES) return false
    return !(this.#drained && this.#loopWatched && isUnbounded(bounds))
  }
}

/** The end to which the host writes what the child reads. */
export class HostWriter extends HostPipe {
  /**
   * Writes all bytes that are there at the call, waiting while the pipe is full. They are borrowed until the promise
   * settles.
   *
   * @throws {PipeError} ERR_PIPE_WRITE_FAILED with cause EPIPE when the child has closed its end, with cause EFAULT when
   *   the bytes were transferred or shortened meanwhile; ERR_PIPE_BUSY (one write at a time), ERR_PIPE_CLOSED,
   *   ERR_PIPE_TIMEOUT; each that began says `bytesWritten`
   * @throws {AbortError} ERR_ABORTED with `bytesWritten`: those the child will read
   */
  write(bytes: Uint8Array, bounds: Bounds = unbounded): Promise<void> {
    try {
      if (!types.isUint8Array(bytes)) throw new TypeError('bytes must be a Uint8Array')
      this.checkFree()
      if (bounds !== unbounded) checkBounds(bounds)
      const bytesWritten = this.#put(bytes, 0)
      return bytesWritten === bytes.length ? done : this.#writeRest(bytes, bytesWritten, bounds)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  /**
   * Resolves once nobody holds the other end any more, also while nothing is written [B045].
   *
   * @throws {PipeError} ERR_PIPE_CLOSED, ERR_PIPE_TIMEOUT
   * @throws {AbortError} ERR_ABORTED
   */
  async peerClosed(bounds: Bounds = unbounded): Promise<void> {
    if (this.waits.left) this.refuse()
    if (this.waits.hangup !== undefined) throw new PipeError('ERR_PIPE_BUSY', { ...this.facts(), operation: 'read' })
    checkBounds(bounds)
    await this.wait(INTEREST.hangup, () => true, noFacts, bounds)
  }

  async #writeRest({ buffer, byteOffset, length }: Uint8Array, begun: number, bounds: Bounds): Promise<void> {
    // A view of that length alone: one that grows with its buffer would be written beyond it.
    const whole = new Uint8Array(buffer, byteOffset, length)
    let bytesWritten = begun
    const attempt = () => {
      if (whole.length !== length) throw this.#writeError(EFAULT, bytesWritten)
      bytesWritten = this.#put(whole, bytesWritten)
      return bytesWritten === length ? true : undefined
    }
    await this.wait(INTEREST.writable, attempt, () => ({ bytesWritten }), bounds)
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
