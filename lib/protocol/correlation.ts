/** Which response belongs to which request: ids count from "0", and one request is pending at a time. */
import { ProtocolError } from '../base/errors.js'

export class Correlation {
  #count = 0
  #pending: string | undefined

  /**
   * Gives the id that `begin` will take; asking uses none up.
   *
   * @throws {ProtocolError} ERR_REQUEST_PENDING
   */
  nextId(): string {
    if (this.#pending !== undefined) throw new ProtocolError('ERR_REQUEST_PENDING', { id: this.#pending })
    return String(this.#count)
  }

  /**
   * Makes the next id the pending one.
   *
   * @throws {ProtocolError} ERR_REQUEST_PENDING
   */
  begin(): void {
    this.#pending = this.nextId()
    this.#count++
  }

  /**
   * Settles the pending request by its response. A response that is refused settles nothing.
   *
   * @throws {ProtocolError} ERR_REQUEST_ID_INVALID, ERR_REQUEST_ID_MISMATCH, ERR_RESPONSE_EXTRA
   */
  settle(response: unknown): void {
    const id = idOf(response)
    const expected = this.#pending
    if (expected === undefined || this.#answered(id)) throw new ProtocolError('ERR_RESPONSE_EXTRA', { id })
    if (id !== expected) throw new ProtocolError('ERR_REQUEST_ID_MISMATCH', { expected, actual: id })
    this.#pending = undefined
  }

  // One that was answered before: its second response is often read only after the next request was sent.
  #answered(id: string): boolean {
    return id !== this.#pending && /^(0|[1-9]\d*)$/.test(id) && Number(id) < this.#count
  }
}

function idOf(response: unknown): string {
  if (typeof response === 'object' && response !== null && Object.hasOwn(response, 'id')) {
    const { id } = response as { id: unknown }
    if (typeof id === 'string') return id
  }
  throw new ProtocolError('ERR_REQUEST_ID_INVALID', {})
}
