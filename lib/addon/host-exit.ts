/**
 * What happens to owned children when this environment ends: the first of three doors, the others being the addon's
 * clean-up hook and its libc exit handler. Clean-up hooks do not run on process.exit, an uncaught exception or an
 * unhandled rejection; this listener does.
 */
import { connectedAddon } from './events.js'
import { HOST_EXIT_WAIT_MS } from '../base/limits.js'

const duties = new Set<() => void>()
let children = 0

function onExit(): void {
  connectedAddon().endChildren(HOST_EXIT_WAIT_MS)
  for (const duty of duties) duty()
}

// One listener serves all, and only while there is something to do [B090].
function listenOnce(): void {
  if (children + duties.size === 0) process.on('exit', onExit)
}

function leaveLast(): void {
  if (children + duties.size === 0) process.off('exit', onExit)
}

/** One more child is to end with the host. Each is followed by one childHasEnded. */
export function endChildrenAtHostExit(): void {
  listenOnce()
  children++
}

export function childHasEnded(): void {
  children--
  leaveLast()
}

/** Adds something to do at exit, after the children are gone; gives the function that takes it back. */
export function atHostExit(duty: () => void): () => void {
  const entry = () => duty()
  listenOnce()
  duties.add(entry)
  return () => {
    if (duties.delete(entry)) leaveLast()
  }
}
