/** The host's side of the exchange with one worker, as bytes and values: who sends and reads them is not known here. */
import { ExactSpawnError, ProtocolError, SessionError } from '../base/errors.js'
import { FRAME_MAX_BYTES } from '../base/limits.js'
import type { Redactor } from '../io/redactor.js'
import { Correlation } from './correlation.js'
import { encodeFrame } from './frame.js'
import { checkHandshake } from './handshake.js'
import { asRequest, asResponse, METHODS_OF, WIRE_PROTOCOL_VERSION } from './messages.js'
import type { Capability, Failure, Method, Request, RequestFields, Role, Success } from './messages.js'
import { redactFailure, redacting } from './redacting.js'

export interface ExchangeTerms {
  role: Role
  /** The identity that the worker has to repeat. */
  workerId: string
  /** What the plan selected, and the worker has to report. */
  capabilities: readonly Capability[]
  /** Takes secrets out of what the worker says. */
  redact?: Redactor
}

/** A request whose id is taken: send its frame, then give it the response. */
export interface Pending<M extends Method> {
  readonly frame: Buffer
  /**
   * Checks the response and settles the request. A failure is redacted; a success is data and stays as it came.
   *
   * @throws {ProtocolError} ERR_REQUEST_ID_INVALID, ERR_REQUEST_ID_MISMATCH and ERR_RESPONSE_EXTRA, which settle
   *   nothing; ERR_MESSAGE_INVALID; for `hello` ERR_HANDSHAKE_FAILED, also for a wrong id
   */
  accept(response: unknown): Success<M> | Failure
}

/** Makes requests and accepts responses, one request at a time. */
export class Exchange {
  readonly #terms: ExchangeTerms
  readonly #correlation = new Correlation()

  constructor(terms: ExchangeTerms) {
    this.#terms = terms
  }

  /** Makes the first request; its response is checked for version, identity and capabilities. */
  hello(): Pending<'hello'> {
    const { role, workerId, capabilities } = this.#terms
    const offer = { protocols: [WIRE_PROTOCOL_VERSION], role, worker_id: workerId }
    return this.#begin('hello', offer, (response, request) => {
      this.#settleHello(response, request.id)
      const answer = asResponse('hello', response)
      if (answer.ok) checkHandshake(request, answer, capabilities)
      return answer
    })
  }

  /**
   * Makes a request. One that is refused here takes no id.
   *
   * @throws {SessionError} ERR_INVALID_ROLE
   * @throws {ProtocolError} ERR_REQUEST_PENDING, ERR_MESSAGE_INVALID, ERR_MESSAGE_TOO_LONG
   */
  request<M extends Exclude<Method, 'hello'>>(method: M, fields: RequestFields[M]): Pending<M> {
    const { role } = this.#terms
    const served = method === 'shutdown' || METHODS_OF[role].includes(method)
    if (!served) throw new SessionError('ERR_INVALID_ROLE', { phase: method, role })
    return this.#begin(method, fields, (response) => {
      this.#correlation.settle(response)
      return asResponse(method, response)
    })
  }

  #begin<M extends Method>(
    method: M,
    fields: RequestFields[M],
    check: (response: unknown, request: Request<M>) => Success<M> | Failure,
  ): Pending<M> {
    const request = { ...fields, id: this.#correlation.nextId(), method } as unknown as Request<M>
    const { redact } = this.#terms
    const frame = redacting(redact, () => encodeFrame(asRequest(request), { limitBytes: FRAME_MAX_BYTES }))
    this.#correlation.begin()
    const accept = (response: unknown) => {
      const answer = redacting(redact, () => check(response, request))
      return answer.ok ? answer : redactFailure(redact, answer)
    }
    return { frame, accept }
  }

  #settleHello(response: unknown, id: string): void {
    try {
      redacting(this.#terms.redact, () => this.#correlation.settle(response))
    } catch (cause) {
      if (ExactSpawnError.is(cause, 'ERR_RESPONSE_EXTRA')) throw cause
      const actual = ExactSpawnError.is(cause, 'ERR_REQUEST_ID_MISMATCH') ? cause.details.actual : 'none'
      throw new ProtocolError('ERR_HANDSHAKE_FAILED', { check: 'id', expected: id, actual }, { cause })
    }
  }
}
