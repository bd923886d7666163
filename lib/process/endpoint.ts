/** Pipes for the descriptor map: one end for the child, consumed by one start; the other for the host. */
import type { NativeError } from '../addon/addon-types.js'
import { connectedAddon } from '../addon/events.js'
import { SpawnError } from '../base/errors.js'
import { HostReader, HostWriter } from './host-pipe.js'
import { systemFailure } from './native-errors.js'

/** Seen from the child: it reads from this pipe, or it writes to it. */
export type PipeDirection = 'childReads' | 'childWrites'

const forgotten = new FinalizationRegistry<number>((endpoint) => connectedAddon().dropFd(endpoint))

/**
 * The child's end of a pipe. Goes into one descriptor map; the start consumes it, also a start that fails [M-09].
 */
export class ChildEndpoint {
  readonly direction: PipeDirection
  #host: HostReader | HostWriter | undefined
  #endpoint: number | undefined

  /** @internal */
  constructor(endpoint: number, direction: PipeDirection, host: HostReader | HostWriter) {
    this.#endpoint = endpoint
    this.#host = host
    this.direction = direction
    forgotten.register(this, endpoint, this)
  }

  /** Whether a start has taken it, or it was closed. */
  get consumed(): boolean {
    return this.#endpoint === undefined
  }

  /** Closes an end that no start shall have. Repeatable. */
  close(): void {
    if (this.#endpoint === undefined) return
    connectedAddon().dropFd(this.#take())
  }

  /** @internal Gives the native number, once. */
  consume(field: string): number {
    if (this.#endpoint === undefined) throw new SpawnError('ERR_COMMAND_CONSUMED', { field })
    return this.#take()
  }

  /**
   * @internal Ties the child to the other end: while that can be reached, so can the child. The end itself is let go, since
   * the spec of a running child names this object.
   */
  attach(child: object): void {
    this.#host?.attach(child)
    this.#host = undefined
  }

  #take(): number {
    const endpoint = this.#endpoint as number
    this.#endpoint = undefined
    forgotten.unregister(this)
    return endpoint
  }
}

/** A pipe whose writing end is the host's. */
export interface RequestPipe {
  readonly child: ChildEndpoint
  readonly host: HostWriter
}

/** A pipe whose reading end is the host's. */
export interface ResponsePipe {
  readonly child: ChildEndpoint
  readonly host: HostReader
}

/**
 * Makes a unidirectional pipe: close-on-exec from birth, never on a number below 3.
 *
 * @throws {SpawnError} ERR_PIPE_CREATE_FAILED: EMFILE, ENFILE
 * @throws {TypeError} another direction
 */
export function pipe(direction: 'childReads'): RequestPipe
export function pipe(direction: 'childWrites'): ResponsePipe
export function pipe(direction: PipeDirection): RequestPipe | ResponsePipe {
  if (direction !== 'childReads' && direction !== 'childWrites') {
    throw new TypeError("direction must be 'childReads' or 'childWrites'")
  }
  const made = connectedAddon().createPipe(direction === 'childReads')
  if ('length' in made) throw createError(made)
  const host = direction === 'childReads' ? new HostWriter(made, direction) : new HostReader(made, direction)
  const child = new ChildEndpoint(made.endpoint, direction, host)
  return { child, host } as RequestPipe | ResponsePipe
}

function createError(error: NativeError): SpawnError {
  const { errno = 0, syscall = 'pipe2' } = systemFailure(error)
  return new SpawnError('ERR_PIPE_CREATE_FAILED', { errno, syscall })
}
