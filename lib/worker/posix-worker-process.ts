/**
 * A version 1 worker over POSIX pipes: requests and responses on two pipes of their own, logs on the standard streams,
 * the group its own, standard input disconnected.
 */
import type { Bounds } from '../base/deadline.js'
import { bounded } from '../base/deadline.js'
import { LifecycleError, ProtocolError, suppress, toError } from '../base/errors.js'
import type { PrivateDirectory } from '../directory/private-directory.js'
import type { Redactor } from '../io/redactor.js'
import { createRedactor } from '../io/redactor.js'
import { capture } from '../process/capture.js'
import type { Child, TerminateOptions } from '../process/child.js'
import type { RequestPipe, ResponsePipe } from '../process/endpoint.js'
import { pipe } from '../process/endpoint.js'
import type { Exit, ExitStatus } from '../process/exit.js'
import type { LogSnapshot } from '../process/log.js'
import { checkOptions } from '../process/options.js'
import type { Receipt } from '../process/receipt.js'
import { readSecrets } from '../process/secrets.js'
import { spawn } from '../process/spawn.js'
import type { WorkerLogSnapshot } from './log-snapshot.js'
import { liveLogSnapshot } from './log-snapshot.js'
import { ProtocolEndpoints, ProtocolReader, ProtocolWriter } from './protocol-endpoints.js'
import type { WorkerCommand } from './worker-command.js'
import type { PlaceOwner } from './worker-environment.js'
import { renewPrivatePlaces } from './worker-environment.js'
import type { WorkerTraces } from './worker-traces.js'
import { readTraces } from './worker-traces.js'

/** The end of a worker: its exit and complete captures. */
export interface WorkerOutput {
  readonly exit: Exit
  readonly stdout: LogSnapshot
  readonly stderr: LogSnapshot
}

export class PosixWorkerProcess implements AsyncDisposable {
  readonly #child: Child
  readonly #endpoints: ProtocolEndpoints
  readonly #directory: PrivateDirectory | undefined
  /** Whose the private places are, where not the host's. */
  readonly #owner: PlaceOwner
  /** Takes the worker's secrets out of diagnostics. */
  readonly redact: Redactor
  #transferred = false
  #ending = false
  #output: Promise<WorkerOutput> | undefined

  private constructor(
    child: Child,
    endpoints: ProtocolEndpoints,
    redact: Redactor,
    directory: PrivateDirectory | undefined,
    owner: PlaceOwner,
  ) {
    this.#owner = owner
    this.#child = child
    this.#endpoints = endpoints
    this.redact = redact
    this.#directory = directory
  }

  /**
   * Starts a prepared command, once. The worker gets its two descriptors' numbers in `METEWAND_PROTOCOL_READ_FD` and
   * `METEWAND_PROTOCOL_WRITE_FD`, in place of whatever the command's environment says.
   *
   * @param directory removed once the worker has ended; from the call on it is the process's
   * @throws {SpawnError} ERR_COMMAND_CONSUMED, ERR_SPAWN_FAILED, ERR_PIPE_CREATE_FAILED
   * @throws as spawn
   */
  static async spawn(
    command: WorkerCommand,
    options: { signal?: AbortSignal; directory?: PrivateDirectory } = {},
  ): Promise<PosixWorkerProcess> {
    checkOptions(options, ['signal', 'directory'])
    const { logs, protocolFds, protocolVariables, ...spec } = command.consume()
    const made: (RequestPipe | ResponsePipe)[] = []
    try {
      // Copies: what the caller does with a key after the call must not change what is taken out of diagnostics.
      const secrets = readSecrets(spec.secrets)
      const redact = createRedactor(secrets)
      const requests = pipe('childReads')
      made.push(requests)
      const responses = pipe('childWrites')
      made.push(responses)
      const given = spec.env === 'inherit' ? process.env : spec.env
      const numbers = {
        [protocolVariables.read]: String(protocolFds.read),
        [protocolVariables.write]: String(protocolFds.write),
      }
      const child = await spawn(
        {
          ...spec,
          secrets,
          env: { ...(given as Record<string, string>), ...numbers },
          group: 'new',
          fds: {
            ...spec.fds,
            0: 'null',
            1: capture({ headBytes: logs.stdoutBytes }),
            2: capture({ headBytes: logs.stderrBytes }),
            [protocolFds.read]: requests.child,
            [protocolFds.write]: responses.child,
          },
        },
        options.signal === undefined ? {} : { signal: options.signal },
      )
      const endpoints = new ProtocolEndpoints(responses.host, requests.host, redact)
      const owner = { ...(spec.uid === undefined ? {} : { uid: spec.uid }), ...(spec.gid === undefined ? {} : { gid: spec.gid }) }
      return new PosixWorkerProcess(child, endpoints, redact, options.directory, owner)
    } catch (error) {
      for (const { child, host } of made) {
        child.close()
        host.close()
      }
      await options.directory?.remove().catch((later: unknown) => suppress(toError(error), [toError(later)]))
      throw error
    }
  }

  get pid(): number {
    return this.#child.pid
  }

  get receipt(): Receipt {
    return this.#child.receipt
  }

  /** The private directory, while there is one. */
  get workingDirectory(): string | undefined {
    return this.#directory?.path
  }

  /**
   * Gives the response end through the bounded frame reader, before a session has it.
   *
   * @throws {ProtocolError} ERR_PROTOCOL_IO_TRANSFERRED, ERR_PROTOCOL_CLOSED
   */
  protocolReader(): ProtocolReader {
    const check = () => this.#checkEndpoints('reader')
    check()
    return new ProtocolReader(this.#endpoints, check)
  }

  /** Gives the request end as a byte writer, before a session has it. Throws as protocolReader. */
  protocolWriter(): ProtocolWriter {
    const check = () => this.#checkEndpoints('writer')
    check()
    return new ProtocolWriter(this.#endpoints, check)
  }

  /** @internal Hands both ends to a session, for good [M-15]. */
  transferEndpoints(): ProtocolEndpoints {
    this.#checkEndpoints('both')
    // A read of somebody else's would take the worker's answers.
    this.#endpoints.checkIdle()
    this.#transferred = true
    return this.#endpoints
  }

  /**
   * @internal Removes all that lies in the private directory and makes the private places anew, 0700 and empty.
   *
   * @throws {DirectoryError} ERR_CLEANUP_FAILED: something stayed, or a place could not be made
   */
  async renewDirectory(): Promise<void> {
    if (this.#directory === undefined) return
    await this.#directory.empty()
    await renewPrivatePlaces(this.#directory.path, this.#owner)
  }

  /** @internal What the kernel shows of the worker just now. */
  traces(): Promise<WorkerTraces> {
    return readTraces(this.pid)
  }

  /** Gives both log prefixes as they are by now: incomplete, and without the beginning of a secret [M-21, M-23]. */
  logSnapshot(): WorkerLogSnapshot {
    return liveLogSnapshot(this.#child.log(1).snapshot(), this.#child.log(2).snapshot())
  }

  tryWait(): ExitStatus | null {
    return this.#child.tryWait()
  }

  interrupt(): boolean {
    return this.#child.interrupt()
  }

  kill(): boolean {
    return this.#child.kill()
  }

  /** Runs the ladder and confirms the end; logs and directory are for wait. Repeatable, also after an error. */
  async terminate(options: TerminateOptions): Promise<ExitStatus> {
    try {
      return await this.#child.terminate(options)
    } catch (error) {
      // That the logs did not end in time is wait's to tell, with the exit.
      if ((error as { code?: string }).code !== 'ERR_LOG_DRAIN_DEADLINE') throw error
      return (error as { exit: Exit }).exit
    }
  }

  /** @internal Waits for the exit alone, within bounds; settles the group. Tells whether the logs came to their end. */
  async awaitExit(bounds: Bounds): Promise<{ exit: ExitStatus; logsEnded: boolean }> {
    try {
      return { exit: await this.#child.wait(bounds), logsEnded: true }
    } catch (error) {
      const exit = this.#child.tryWait()
      const { code } = error as { code?: string }
      if (exit === null || (code !== 'ERR_LOG_DRAIN_DEADLINE' && code !== 'ERR_WAIT_TIMEOUT')) throw error
      return { exit, logsEnded: false }
    }
  }

  /**
   * Closes both protocol ends, waits for the exit, kills what is left of the group, gives both logs one shared second,
   * removes the private directory. Repeatable: every call gives the same. Bounds end the call alone: what it began goes on.
   *
   * @throws {LifecycleError} ERR_LOG_DRAIN_DEADLINE with the exit, and no record that claims to be complete [M-32];
   *   ERR_WAIT_TIMEOUT
   * @throws {DirectoryError} ERR_PRIVATE_DIRECTORY_REMOVE_FAILED, ERR_PRIVATE_ROOT_UNAVAILABLE; the next call tries again,
   *   and gives the output once the directory has gone
   * @throws {AbortError} ERR_ABORTED
   */
  async wait(bounds: Bounds = {}): Promise<WorkerOutput> {
    checkOptions(bounds, ['signal', 'timeoutMs'])
    const timeout = () => new LifecycleError('ERR_WAIT_TIMEOUT', { timeoutMs: bounds.timeoutMs ?? 0 })
    return await bounded(() => this.#removeAfter((this.#output ??= this.#collect())), bounds, timeout)
  }

  /** Kills the group, ends the logs, closes the ends, removes the directory. Repeatable. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closeEndpoints()
    await this.#removeAfter(this.#child[Symbol.asyncDispose]())
  }

  async #collect(): Promise<WorkerOutput> {
    this.#closeEndpoints()
    const exit = await this.#child.wait()
    const { 1: stdout, 2: stderr } = exit.logs as Record<1 | 2, LogSnapshot>
    return Object.freeze({ exit, stdout, stderr })
  }

  /** Removes the directory once the worker has ended, well or not. How it ended is told first. */
  async #removeAfter<T>(ending: Promise<T>): Promise<T> {
    const removed = async () => await this.#directory?.remove()
    let end: T
    try {
      end = await ending
    } catch (thrown) {
      const error = toError(thrown)
      await removed().catch((later: unknown) => suppress(error, [toError(later)]))
      throw error
    }
    await removed()
    return end
  }

  #closeEndpoints(): void {
    this.#ending = true
    this.#endpoints.close()
  }

  #checkEndpoints(endpoint: 'reader' | 'writer' | 'both'): void {
    if (this.#transferred) throw new ProtocolError('ERR_PROTOCOL_IO_TRANSFERRED', { endpoint })
    if (this.#ending) throw new ProtocolError('ERR_PROTOCOL_CLOSED', { by: 'host' })
  }
}
