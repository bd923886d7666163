/** Signals by name. */
import { constants } from 'node:os'
import { SpecError } from '../base/errors.js'

const numbers = constants.signals as Readonly<Record<string, number>>
// Reversed, so that the first name of a number wins: SIGABRT, not its alias SIGIOT.
const names = new Map(
  Object.entries(numbers)
    .reverse()
    .map(([name, number]) => [number, name]),
)

/**
 * Gives the number of a signal of this platform.
 *
 * @throws {SpecError} ERR_INVALID_SIGNAL
 */
export function signalNumber(name: unknown): number {
  const number = typeof name === 'string' && Object.hasOwn(numbers, name) ? numbers[name] : undefined
  if (number === undefined) throw new SpecError('ERR_INVALID_SIGNAL', { signal: String(name) })
  return number
}

/** Names a signal; real-time ones have no name and are told as SIG and their number. */
export function signalName(number: number): NodeJS.Signals {
  return (names.get(number) ?? `SIG${number}`) as NodeJS.Signals
}
