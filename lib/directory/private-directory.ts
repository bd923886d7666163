/**
 * A directory of one owner: unguessable, 0700 from its first moment, and gone with its handle, with this environment,
 * or with the next sweep.
 */
import type { NativeAddon, NativeCreateResult, NativeRemoveResult } from '../addon/addon-types.js'
import { connectedAddon, runTask } from '../addon/events.js'
import { atHostExit } from '../addon/host-exit.js'
import { remainingMs } from '../base/deadline.js'
import { DirectoryError, SpecError } from '../base/errors.js'
import { DIRECTORY_EXIT_MS } from '../base/limits.js'
import { failuresIn, rootError, systemFacts } from './directory-errors.js'
import type { RemovalBounds } from './root.js'
import { readName, readRemovalMs, readRoot } from './root.js'

export interface PrivateDirectoryOptions {
  /** Begins the name; 26 random characters follow. */
  readonly prefix?: string
}

const dropped = new FinalizationRegistry<DirectoryState>((state) => void state.remove(readRemovalMs()).catch(() => {}))

/**
 * Makes a directory of mode 0700 with an unguessable name beneath a root that the caller owns, under any umask, and a
 * file beside it that says whose it is.
 *
 * The root must exist, belong to this user or to the superuser, be no link, and not be writable by others unless it is
 * sticky. It is never made or changed.
 *
 * @throws {SpecError | TypeError} ERR_INVALID_SPEC: field root or prefix
 * @throws {DirectoryError} ERR_PRIVATE_ROOT_UNAVAILABLE, ERR_PRIVATE_DIRECTORY_CREATE_FAILED: nothing is left
 */
export async function createPrivateDirectory(
  root: string,
  { prefix = 'exactspawn' }: PrivateDirectoryOptions = {},
): Promise<PrivateDirectory> {
  const rootPath = readRoot(root)
  if (readName(prefix, 'prefix').includes('/')) {
    throw new SpecError('ERR_INVALID_SPEC', { field: 'prefix', reason: 'contains a slash' })
  }
  const made = await runTask<NativeCreateResult>((native) => {
    return native.directoryCreate(Buffer.from(rootPath), Buffer.from(prefix))
  })
  const failure = rootError(rootPath, made)
  if (failure !== undefined) throw failure
  if (made.error !== undefined) {
    const { errno = 0, syscall = '' } = systemFacts(made.error)
    throw new DirectoryError('ERR_PRIVATE_DIRECTORY_CREATE_FAILED', { path: rootPath, errno, syscall })
  }
  return new PrivateDirectory(new DirectoryState(rootPath, made))
}

/**
 * The handle of a private directory. Whoever holds it owns the directory, and no sweep takes it meanwhile. It is
 * removed by `remove`, by `await using`, when nothing can reach the handle any more, and when this environment ends.
 */
export class PrivateDirectory implements AsyncDisposable {
  /** Absolute. */
  readonly path: string
  readonly #state: DirectoryState

  /** @internal */
  constructor(state: DirectoryState) {
    this.path = state.path
    this.#state = state
    dropped.register(this, state, this)
  }

  /**
   * Removes the directory with all it holds, never through a link. Repeatable: after a failure it tries again, and a
   * call beside a running one joins it.
   *
   * @throws {DirectoryError} ERR_PRIVATE_DIRECTORY_REMOVE_FAILED names what stayed; the rest is gone.
   *   ERR_PRIVATE_ROOT_UNAVAILABLE
   */
  async remove(bounds: RemovalBounds = {}): Promise<void> {
    await this.#state.remove(readRemovalMs(bounds))
    dropped.unregister(this)
  }

  /**
   * Removes all it holds, never through a link, and keeps the directory itself, 0700 again whatever it was made to be.
   *
   * @throws {DirectoryError} ERR_CLEANUP_FAILED names what stayed; the rest is gone. Also when the directory was removed,
   *   or was moved away from its path
   */
  async empty(bounds: RemovalBounds = {}): Promise<void> {
    await this.#state.empty(readRemovalMs(bounds))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove()
  }
}

/** What must be known of a directory to remove it, also when its handle has gone. */
class DirectoryState {
  readonly path: string
  readonly #root: string
  readonly #name: string
  readonly #directory: number
  #removal: Promise<void> | undefined

  constructor(root: string, { path, name, directory }: NativeCreateResult) {
    this.path = path
    this.#root = root
    this.#name = name
    this.#directory = directory
    addLive(this)
  }

  remove(timeoutMs: number): Promise<void> {
    this.#removal ??= this.#remove(timeoutMs).catch((error: unknown) => {
      this.#removal = undefined
      throw error
    })
    return this.#removal
  }

  /** Blocks; for the end of the environment, after which nothing runs. */
  removeNow(native: NativeAddon, timeoutMs: number): void {
    native.directoryRemoveNow(this.#directory, Buffer.from(this.#root), Buffer.from(this.#name), timeoutMs)
  }

  async empty(timeoutMs: number): Promise<void> {
    const result = await runTask<NativeRemoveResult>((native) => native.directoryEmpty(this.#directory, timeoutMs))
    if (result.error === undefined && result.complete) return
    throw new DirectoryError('ERR_CLEANUP_FAILED', this.#factsOf(result, this.path))
  }

  async #remove(timeoutMs: number): Promise<void> {
    const result = await runTask<NativeRemoveResult>((native) => {
      return native.directoryRemove(this.#directory, Buffer.from(this.#root), Buffer.from(this.#name), timeoutMs)
    })
    const failure = rootError(this.#root, result) ?? this.#failureOf(result)
    if (failure !== undefined) throw failure
    removeLive(this)
  }

  #failureOf(result: NativeRemoveResult): DirectoryError | undefined {
    if (result.error === undefined && result.complete) return undefined
    return new DirectoryError('ERR_PRIVATE_DIRECTORY_REMOVE_FAILED', this.#factsOf(result, this.#root))
  }

  #factsOf({ error, deadlinePassed, failures }: NativeRemoveResult, base: string) {
    const stayed = failuresIn(base, failures)
    if (deadlinePassed) stayed.push({ path: this.path, errno: 'ETIMEDOUT' })
    return { path: this.path, failures: stayed, ...systemFacts(error) }
  }
}

const live = new Set<DirectoryState>()
let leaveExit = () => {}

function addLive(state: DirectoryState): void {
  if (live.size === 0) leaveExit = atHostExit(removeLiveNow)
  live.add(state)
}

function removeLive(state: DirectoryState): void {
  if (live.delete(state) && live.size === 0) leaveExit()
}

function removeLiveNow(): void {
  const deadline = performance.now() + DIRECTORY_EXIT_MS
  for (const state of live) state.removeNow(connectedAddon(), Math.ceil(remainingMs(deadline)))
}
