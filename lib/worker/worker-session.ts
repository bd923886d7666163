/**
 * The typed exchange with one worker, from hello to shutdown. Owns both endpoints and the process: a failure that
 * leaves the exchange in doubt kills the worker, once, and every later call says so.
 */
import type { Bounds } from '../base/deadline.js'
import { checkSignal, deadlineAfter, remainingMs } from '../base/deadline.js'
import {
  AbortError,
  CapabilityError,
  ExactSpawnError,
  ProtocolError,
  SessionError,
  suppress,
  toError,
} from '../base/errors.js'
import { DRAIN_MS } from '../base/limits.js'
import type { ExitStatus } from '../process/exit.js'
import { checkOptions } from '../process/options.js'
import type {
  Capability,
  Failure,
  JsonObject,
  Method,
  RequestFields,
  ResultFields,
  Role,
  Success,
} from '../protocol/messages.js'
import { Exchange, type Pending } from '../protocol/exchange.js'
import type { WorkerLogSnapshot } from './log-snapshot.js'
import type { Phase, PhaseTimeouts } from './phases.js'
import type { PosixWorkerProcess, WorkerOutput } from './posix-worker-process.js'
import type { ProtocolEndpoints } from './protocol-endpoints.js'
import { protocolError } from './protocol-endpoints.js'
import type { ReadTerms, SessionTerms } from './session-terms.js'
import { readSessionTerms } from './session-terms.js'

/** What a worker said of itself. */
export interface WorkerFacts {
  readonly sdk: { readonly name: string; readonly version: string } | null
  /** Reported; those that the plan did not select are inert. */
  readonly capabilities: readonly Capability[]
}

type Request = Exclude<Method, 'hello' | 'shutdown'>
type CallBounds = Pick<Bounds, 'signal'>

export class WorkerSession implements AsyncDisposable {
  readonly role: Role
  readonly workerId: string
  readonly #process: PosixWorkerProcess
  readonly #endpoints: ProtocolEndpoints
  readonly #exchange: Exchange
  readonly #timeouts: PhaseTimeouts
  readonly #selected: readonly Capability[]
  #facts: WorkerFacts = { sdk: null, capabilities: [] }
  #unusable: Error | undefined
  #ended = false

  private constructor(process: PosixWorkerProcess, { role, workerId, capabilities, timeouts }: ReadTerms) {
    this.role = role
    this.workerId = workerId
    this.#process = process
    this.#timeouts = timeouts
    this.#selected = capabilities
    this.#exchange = new Exchange({ role, workerId, capabilities, redact: process.redact })
    this.#endpoints = process.transferEndpoints()
  }

  /**
   * Takes over a worker's endpoints and process, and greets it.
   *
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC, ERR_INVALID_PHASE_TIMEOUTS; nothing is taken over
   * @throws {ProtocolError} ERR_PROTOCOL_IO_TRANSFERRED, ERR_PROTOCOL_CLOSED; nothing is taken over
   * @throws {PipeError} ERR_PIPE_BUSY: somebody reads or writes an endpoint just now; nothing is taken over
   * @throws {ProtocolError} ERR_HANDSHAKE_FAILED {check}, ERR_FRAME_…, ERR_MESSAGE_INVALID; the worker is dead and
   *   reaped
   * @throws {SessionError} ERR_PHASE_TIMEOUT, ERR_WORKER_FAILURE; the worker is dead and reaped
   * @throws {AbortError} ERR_ABORTED; the worker is dead and reaped
   */
  static async connect(process: PosixWorkerProcess, terms: SessionTerms): Promise<WorkerSession> {
    const checked = readSessionTerms(terms)
    const session = new WorkerSession(process, checked)
    const bounds = checked.signal === undefined ? {} : { signal: checked.signal }
    try {
      const { sdk, capabilities } = await session.#run('hello', () => session.#exchange.hello(), bounds)
      session.#facts = Object.freeze({ sdk: session.#shown(sdk), capabilities: Object.freeze(capabilities) })
      return session
    } catch (error) {
      // Also a worker that only said no: without a greeting there is no session to go on with.
      throw await session.#discard(toError(error))
    }
  }

  get facts(): WorkerFacts {
    return this.#facts
  }

  /** Whether calls can still be made: the session has neither failed nor ended, and the worker's process is there. */
  get usable(): boolean {
    return this.#open && this.#process.tryWait() === null
  }

  get #open(): boolean {
    return this.#unusable === undefined && !this.#ended
  }

  get pid(): number {
    return this.#process.pid
  }

  logSnapshot(): WorkerLogSnapshot {
    return this.#process.logSnapshot()
  }

  /**
   * @internal Checks that the worker has said nothing unasked. The session stays as it is.
   *
   * @throws {ProtocolError} ERR_RESPONSE_EXTRA, or ERR_FRAME_… when it is no response either
   */
  checkSilent(): void {
    this.#refuseUnasked()
  }

  /** Makes a dataset; for a dataset materializer. */
  materialize(fields: RequestFields['materialize'], bounds: CallBounds = {}): Promise<ResultFields['materialize']> {
    return this.#call('materialize', fields, bounds)
  }

  /** Establishes clean algorithmic state; for an implementation. */
  prepare(fields: RequestFields['prepare'], bounds: CallBounds = {}): Promise<ResultFields['prepare']> {
    return this.#call('prepare', fields, bounds)
  }

  /** Runs once; for an implementation. */
  execute(fields: RequestFields['execute'], bounds: CallBounds = {}): Promise<ResultFields['execute']> {
    return this.#call('execute', fields, bounds)
  }

  /** Judges a result; for a problem evaluator. */
  evaluate(fields: RequestFields['evaluate'], bounds: CallBounds = {}): Promise<ResultFields['evaluate']> {
    return this.#call('evaluate', fields, bounds)
  }

  /** Clears the attempt's state; for an implementation. A failure ends the session: nobody knows what is left. */
  async reset(bounds: CallBounds = {}): Promise<void> {
    await this.#call('reset', {}, bounds)
  }

  /**
   * Says goodbye: request, acknowledgement, closed endpoints, and a clean exit, all within the one shutdown limit; then
   * the same record that `PosixWorkerProcess.wait` gives. Ends the session whatever happens, once it is on its way.
   *
   * @throws {SessionError} ERR_PHASE_TIMEOUT {phase: 'shutdown'}, ERR_UNSUCCESSFUL_EXIT {exit}
   * @throws {CapabilityError} ERR_CONTROL_ENFORCEMENT_LOST {role}: a descendant holds a log (cause
   *   ERR_LOG_DRAIN_DEADLINE) or the response pipe (cause ERR_PIPE_TIMEOUT), so the run cannot be accepted [M-88]
   */
  async shutdown(bounds: CallBounds = {}): Promise<WorkerOutput> {
    this.#checkUsable('shutdown')
    checkOptions(bounds, ['signal'])
    const limitMs = this.#timeouts.shutdown
    const deadline = deadlineAfter(limitMs)
    await this.#run('shutdown', () => this.#exchange.request('shutdown', {}), bounds)
    this.#ended = true
    try {
      this.#refuseUnasked()
      // The end of its requests; what it says after that is seen once it has exited.
      this.#endpoints.writer.close()
      const within = { ...bounds, timeoutMs: remainingMs(deadline) }
      const { exit, logsEnded } = await this.#process.awaitExit(within)
      if (exit.code !== 0) throw new SessionError('ERR_UNSUCCESSFUL_EXIT', { exit })
      this.#refuseUnasked()
      // Logs that are held have had their second, and are told by who collects them.
      if (logsEnded) await this.#awaitEndOfResponses(exit, bounds)
      this.#endpoints.close()
    } catch (thrown) {
      const late = (thrown as { code?: string }).code === 'ERR_WAIT_TIMEOUT'
      throw await this.#discard(late ? this.#timeoutError('shutdown', thrown) : toError(thrown))
    }
    return await this.#collect(bounds)
  }

  /** Kills the worker and collects what is left of it. Repeatable. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true
    await this.#process[Symbol.asyncDispose]()
  }

  async #call<M extends Request>(method: M, fields: RequestFields[M], bounds: CallBounds): Promise<ResultFields[M]> {
    this.#checkUsable(method)
    checkOptions(bounds, ['signal'])
    this.#checkSelected(method)
    const answer = await this.#run(method, () => this.#exchange.request(method, fields), bounds)
    const { id: _id, ok: _ok, ...result } = answer
    return result as unknown as ResultFields[M]
  }

  #checkUsable(phase: Phase): void {
    // Not `usable`: what a dead worker does to a call is told by the call.
    if (this.#open) return
    const options = this.#unusable === undefined ? {} : { cause: this.#unusable }
    throw new SessionError('ERR_SESSION_UNUSABLE', { phase }, options)
  }

  // "one_shot" is the one capability whose requests version 1 has: without it there is nothing to execute.
  #checkSelected(method: Request): void {
    if (method !== 'execute' || this.role !== 'implementation' || this.#selected.includes('one_shot')) return
    throw new SessionError('ERR_CAPABILITY_NOT_SELECTED', { phase: method, capability: 'one_shot' })
  }

  /** One request and its response within the phase's limit. What leaves the exchange in doubt ends the worker. */
  async #run<M extends Method>(phase: M, begin: () => Pending<M>, bounds: CallBounds): Promise<Success<M>> {
    checkSignal(bounds.signal)
    // Nothing is sent yet, so nothing is in doubt.
    if (bounds.signal?.aborted) throw new AbortError('ERR_ABORTED', {}, { cause: bounds.signal.reason })
    let pending: Pending<M>
    try {
      pending = begin()
    } catch (error) {
      throw await this.#refusal(error)
    }
    let answer: Success<M> | Failure
    try {
      answer = pending.accept(await this.#exchangeFrames(phase, pending.frame, bounds))
    } catch (error) {
      throw await this.#discard(toError(error))
    }
    if (answer.ok) return answer as Success<M>
    const failure = this.#workerFailure(phase, answer as Failure)
    if (phase === 'reset' || phase === 'shutdown') throw await this.#discard(failure)
    throw failure
  }

  /** Refusals take no id and leave the session as it was, but a message that cannot be encoded ends it [MP-14]. */
  async #refusal(error: unknown): Promise<unknown> {
    const lost = ExactSpawnError.is(error, 'ERR_MESSAGE_INVALID') || ExactSpawnError.is(error, 'ERR_MESSAGE_TOO_LONG')
    return lost ? await this.#discard(toError(error)) : error
  }

  async #exchangeFrames(phase: Phase, frame: Buffer, bounds: CallBounds): Promise<unknown> {
    const deadline = deadlineAfter(this.#timeouts[phase])
    const within = () => ({ ...bounds, timeoutMs: remainingMs(deadline) })
    let value: unknown
    try {
      this.#refuseUnasked()
      const gone = this.#process.tryWait() !== null
      await this.#endpoints.writer.write(frame, within())
      // It was taken by somebody else, who holds the pipe and was left behind.
      if (gone) throw new ProtocolError('ERR_PROTOCOL_CLOSED', { phase, by: 'worker' })
      value = await this.#endpoints.reader.read(within())
    } catch (error) {
      const late = (error as { code?: string }).code === 'ERR_PIPE_TIMEOUT'
      throw late ? this.#timeoutError(phase, error) : protocolError(error, phase)
    }
    if (value === undefined) throw new ProtocolError('ERR_PROTOCOL_CLOSED', { phase, by: 'worker' })
    return value
  }

  /** After the exit nobody may hold the response pipe: whoever does could still have answered for the worker [M-88]. */
  async #awaitEndOfResponses(exit: ExitStatus, bounds: CallBounds): Promise<void> {
    const { reader } = this.#endpoints
    try {
      const late = await reader.read({ ...bounds, timeoutMs: DRAIN_MS })
      if (late !== undefined) throw this.#extra(late)
    } catch (cause) {
      if ((cause as { code?: string }).code !== 'ERR_PIPE_TIMEOUT') throw cause
      throw new CapabilityError('ERR_CONTROL_ENFORCEMENT_LOST', { role: this.role, exit }, { cause })
    }
  }

  /** Nothing is sent unasked: a response that is there before its request could pass for a measurement. */
  #refuseUnasked(): void {
    const { reader } = this.#endpoints
    const unasked = reader.takeNow()
    // A line that has only begun is as unasked, and would become the beginning of the next response.
    if (unasked === undefined && reader.pendingBytes === 0) return
    throw this.#extra(unasked)
  }

  #extra(response: unknown): ProtocolError {
    const { id } = Object(response) as { id?: unknown }
    return new ProtocolError('ERR_RESPONSE_EXTRA', { id: typeof id === 'string' ? this.#process.redact(id) : 'none' })
  }

  /** What a worker calls itself is shown and logged. */
  #shown(sdk: WorkerFacts['sdk']): WorkerFacts['sdk'] {
    const { redact } = this.#process
    return sdk && Object.freeze({ name: redact(sdk.name), version: redact(sdk.version) })
  }

  #timeoutError(phase: Phase, cause: unknown): SessionError {
    return new SessionError('ERR_PHASE_TIMEOUT', { phase, limitMs: this.#timeouts[phase] }, { cause })
  }

  #workerFailure(phase: Phase, { error }: Failure): SessionError {
    const details = error.details === undefined ? {} : { workerDetails: error.details as JsonObject }
    const facts = { phase, workerCode: error.code, workerMessage: error.message, ...details }
    return new SessionError('ERR_WORKER_FAILURE', facts)
  }

  async #collect(bounds: CallBounds): Promise<WorkerOutput> {
    try {
      return await this.#process.wait(bounds)
    } catch (error) {
      if (!ExactSpawnError.is(error, 'ERR_LOG_DRAIN_DEADLINE')) throw error
      const { exit } = error.details
      throw new CapabilityError('ERR_CONTROL_ENFORCEMENT_LOST', { role: this.role, exit }, { cause: error })
    }
  }

  /** Kills the worker, waits for it once, and gives the error that made it so. */
  async #discard(error: Error): Promise<Error> {
    if (this.#unusable !== undefined) return error
    this.#unusable = error
    this.#ended = true
    try {
      await this.#process[Symbol.asyncDispose]()
    } catch (later) {
      suppress(error, [toError(later)])
    }
    return error
  }
}
