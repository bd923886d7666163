/** What must be so after `hello` was answered, before any work is sent. */
import { ProtocolError, type HandshakeCheck } from '../base/errors.js'
import type { Capability, Request, Success } from './messages.js'

/** The one capability whose requests v1 has; the others are names kept for later versions. */
const SERVED: Capability = 'one_shot'

/**
 * Checks the answer to `hello`: version, identity, and the capabilities that the plan selected.
 *
 * What a worker reports beyond those is not refused. The id is checked before, where responses are matched.
 *
 * @throws {ProtocolError} ERR_HANDSHAKE_FAILED with the first check that failed
 */
export function checkHandshake(
  offer: Request<'hello'>,
  answer: Success<'hello'>,
  selected: readonly Capability[],
): void {
  const { protocol, worker_id: actual, capabilities } = answer
  if (!offer.protocols.includes(protocol)) fail('version', offer.protocols.join(', '), String(protocol))
  if (actual !== offer.worker_id) fail('identity', offer.worker_id, actual)
  for (const capability of selected) {
    if (!capabilities.includes(capability)) fail('capability', capability, capabilities.join(', '))
  }
  if (selected.length > 0 && offer.role !== 'implementation') fail('role', 'implementation', offer.role)
  const reserved = selected.find((capability) => capability !== SERVED)
  if (reserved !== undefined) fail('reserved', SERVED, reserved)
}

function fail(check: HandshakeCheck, expected: string, actual: string): never {
  throw new ProtocolError('ERR_HANDSHAKE_FAILED', { check, expected, actual })
}
