/**
 * The starts of one turn of the event loop. A host that asks for five hundred children at once would stand still for all of
 * their calls together; so those beyond the first few begin in the turns that follow, in the order in which they were asked
 * for.
 */
import { eventBatches, nextTurn } from '../addon/events.js'
import { TURN_STARTS_MAX } from '../base/limits.js'

const waiting: (() => void)[] = []
let begun = 0
let batchesThen = 0

/** Gives null to a start that may begin at once, or what it has to wait for; to wait holds the event loop. */
export function startTurn(): Promise<void> | null {
  // Events tell that the loop has turned, and every start brings some: a callback a turn would cost each start more.
  if (batchesThen !== eventBatches() && waiting.length === 0) count(0)
  if (begun < TURN_STARTS_MAX) {
    begun++
    return null
  }
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) nextTurn(beginNext)
  })
}

function beginNext(): void {
  const next = waiting.splice(0, TURN_STARTS_MAX)
  count(next.length)
  for (const begin of next) begin()
  if (waiting.length > 0) nextTurn(beginNext)
}

function count(already: number): void {
  begun = already
  batchesThen = eventBatches()
}
