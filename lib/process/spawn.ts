/** From a spec to a running child and its receipt, or to an error and no trace. */
import type { NativeAddon, NativeError } from '../addon/addon-types.js'
import { EVENT, MECHANISMS } from '../addon/addon-types.js'
import type { Mechanism } from '../addon/addon-types.js'
import { connectedAddon, holdLoop, offChild, onChild } from '../addon/events.js'
import { onAbort } from '../base/abort-listeners.js'
import { checkSignal } from '../base/deadline.js'
import type { SpawnError } from '../base/errors.js'
import { makeCgroupLeaf, removeCgroupLeaf } from './cgroup-leaf.js'
import type { ChildStreams } from './child.js'
import { Child } from './child.js'
import { ChildState } from './child-state.js'
import type { Containment } from './containment.js'
import { leafContainment, plainContainment } from './containment.js'
import type { RequestPipe, ResponsePipe } from './endpoint.js'
import { pipe } from './endpoint.js'
import { joinNumber } from './group.js'
import { openFiles } from './open-files.js'
import { checkOptions } from './options.js'
import type { PackableEntry } from './packed-map.js'
import { HeldMap } from './packed-map.js'
import { withPackedStart } from './packed-start.js'
import type { Receipt, StartFacts } from './receipt.js'
import { makeReceipt } from './receipt.js'
import type { CheckedSpec, SpawnSpec } from './spawn-spec.js'
import { checkSpec } from './spawn-spec.js'
import { startTurn } from './start-turn.js'
import { abortedStart, startError } from './start-errors.js'
import { readableOf, writableOf } from './streams.js'

export interface SpawnOptions {
  /** Bounds the start alone: once the child is there it has no effect. */
  readonly signal?: AbortSignal
}

/**
 * Starts a program exactly as declared.
 *
 * Everything in the spec is read at the call: later changes to it, to `process.env` or to descriptors do not matter.
 * Endpoints are consumed, also when the start fails.
 *
 * @returns once the program is running; nothing else of the host is open in it
 * @throws {SpecError | TypeError} before any side effect, naming the field
 * @throws {SpawnError} ERR_SPAWN_FAILED with stage, errno, syscall, path: nothing ran and nothing is left;
 *   ERR_COMMAND_CONSUMED, ERR_PIPE_CREATE_FAILED, ERR_LOG_DRAIN_START_FAILED
 * @throws {LifecycleError} ERR_PROCESS_GONE: the child to join has exited
 * @throws {AbortError} ERR_ABORTED: `options.signal` or `lifetime.signal` aborted before the child was there; if it still
 *   appears, it is killed
 */
export async function spawn(spec: SpawnSpec, options: SpawnOptions = {}): Promise<Child> {
  checkOptions(options, ['signal'])
  checkSignal(options.signal)
  const checked = checkSpec(spec)
  const signals = [options.signal, checked.lifetime.signal].filter((signal) => signal !== undefined)
  for (const signal of signals) if (signal.aborted) throw abortedStart(signal)
  return await new SpawnCall(checked, signals).run()
}

const NO_FILES: ReadonlyMap<number, number> = new Map()
const NO_STREAMS: ChildStreams = { stdin: null, stdout: null, stderr: null }

class SpawnCall {
  readonly #native: NativeAddon = connectedAddon()
  readonly #spec: CheckedSpec
  readonly #signals: readonly AbortSignal[]
  /** Those of "pipe" on 0, 1 and 2, by that number. */
  readonly #streamPipes: (RequestPipe | ResponsePipe | undefined)[] = []
  readonly #held: HeldMap
  #files = NO_FILES
  #cgroupLeaf: string | null = null

  constructor(spec: CheckedSpec, signals: readonly AbortSignal[]) {
    this.#spec = spec
    this.#signals = signals
    try {
      this.#held = new HeldMap(this.#makeStreamPipes())
    } catch (error) {
      this.#closePipes()
      throw error
    }
  }

  async run(): Promise<Child> {
    try {
      // Without files and a leaf the start is queued within the call itself, unless the call is one of very many.
      if (this.#needsFileThreads) await this.#await(this.#prepare())
      const turn = startTurn()
      if (turn !== null) await this.#await(turn)
      const { state, facts } = await this.#start()
      const leaf = this.#cgroupLeaf
      const containment = leaf === null ? plainContainment(this.#spec) : await leafContainment(this.#spec, leaf)
      return this.#hand(state, facts, containment)
    } catch (error) {
      this.#closePipes()
      if (this.#cgroupLeaf !== null) await removeCgroupLeaf(this.#cgroupLeaf)
      throw error
    }
  }

  #makeStreamPipes(): PackableEntry[] {
    return this.#spec.fds.map((entry) => {
      if (entry.kind !== 'pipe') return entry
      const made = entry.target === 0 ? pipe('childReads') : pipe('childWrites')
      this.#streamPipes[entry.target] = made
      return { target: entry.target, kind: 'endpoint', endpoint: made.child }
    })
  }

  // Of a start that failed: the host's ends, and endpoints that it did not get to, which it has used up all the same.
  #closePipes(): void {
    for (const entry of this.#spec.fds) if (entry.kind === 'endpoint') entry.endpoint.close()
    for (const made of this.#streamPipes) {
      made?.child.close()
      made?.host.close()
    }
  }

  get #needsFileThreads(): boolean {
    return this.#spec.cgroupParent !== null || this.#spec.fds.some(({ kind }) => kind === 'file')
  }

  // What can block goes to Node's file threads.
  async #prepare(): Promise<void> {
    const { fds, cgroupParent, redact } = this.#spec
    this.#files = await openFiles(fds, redact)
    if (cgroupParent !== null) this.#cgroupLeaf = await makeCgroupLeaf(cgroupParent, redact)
  }

  /** Waits for a step before the start, which an abort or a failure of it cancels. */
  async #await(step: Promise<void>): Promise<void> {
    try {
      await step
      for (const signal of this.#signals) if (signal.aborted) throw abortedStart(signal)
    } catch (error) {
      this.#held.discard(this.#files)
      throw error
    }
  }

  #start(): Promise<{ state: ChildState; facts: StartFacts }> {
    return new Promise((resolve, reject) => {
      const queued = this.#queue()
      if (typeof queued !== 'number') return void this.#failure(queued, 0).then(reject)
      const release = holdLoop()
      const state = new ChildState(queued, this.#spec)
      const end = () => {
        for (const leave of leaveSignals) leave()
        release()
      }
      const abort = (signal: AbortSignal) => {
        end()
        offChild(queued)
        this.#native.cancelStart(queued)
        reject(abortedStart(signal))
      }
      const leaveSignals = this.#signals.map((signal) => onAbort(signal, () => abort(signal)))
      onChild(queued, (type, fields) => {
        if (type === EVENT.started) {
          // This listener reaches the whole call, and with it the pipes' host ends: it must not outlive the start [P-7].
          state.listen()
          state.started()
          // Before anything of the caller's is called: a signal that fails to let go must not leave the start pending.
          resolve({ state, facts: readStart(fields) })
          end()
        } else {
          // A start that failed: nothing else comes before a start.
          end()
          offChild(queued)
          this.#native.forget(queued)
          const error = [...fields.subarray(0, 4)] as unknown as NativeError
          void this.#failure(error, fields[4] as number).then(reject)
        }
      })
    })
  }

  #queue(): number | NativeError {
    const spec = this.#spec
    let join: number | null
    try {
      join = spec.join === undefined ? null : joinNumber(spec.join)
    } catch (error) {
      this.#held.discard(this.#files)
      throw error
    }
    const parts = { held: this.#held, files: this.#files, join, cgroupLeaf: this.#cgroupLeaf }
    return withPackedStart(spec, parts, (numbers, bytes) => this.#native.spawn(numbers, bytes))
  }

  #failure(error: NativeError, killedBy: number): Promise<SpawnError> {
    return startError(this.#spec, error, killedBy, this.#cgroupLeaf)
  }

  #hand(state: ChildState, facts: StartFacts, containment: Containment): Child {
    const child = new Child(state, facts.pid, receiptLater(this.#spec, facts, containment), this.#streams())
    for (const entry of this.#spec.fds) if (entry.kind === 'endpoint') entry.endpoint.attach(child)
    for (const made of this.#streamPipes) made?.host.attach(child)
    return child
  }

  #streams(): ChildStreams {
    if (this.#streamPipes.length === 0) return NO_STREAMS
    const [stdin, stdout, stderr] = this.#streamPipes.map((made) => made?.host)
    return {
      stdin: stdin === undefined ? null : writableOf(stdin as RequestPipe['host']),
      stdout: stdout === undefined ? null : readableOf(stdout as ResponsePipe['host']),
      stderr: stderr === undefined ? null : readableOf(stderr as ResponsePipe['host']),
    }
  }
}

// Made where this call cannot be reached: what it held for the start would stay as long as the child.
function receiptLater(spec: CheckedSpec, facts: StartFacts, containment: Containment): () => Receipt {
  return () => makeReceipt(spec, facts, containment)
}

function readStart(fields: Float64Array): StartFacts {
  return {
    pid: fields[0] as number,
    mechanism: MECHANISMS[fields[1] as number] as Mechanism,
    candidate: fields[2] as number,
    watchedByPidfd: fields[3] !== 0,
    startedAtMs: Date.now(),
  }
}
