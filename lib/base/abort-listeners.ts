/** One listener on each AbortSignal, however many operations it bounds: Node takes more than ten for a leak [B090]. */

interface Listener {
  readonly callbacks: Set<() => void>
  readonly tell: () => void
}

// Held by the signal alone, so that neither keeps the other.
const listeners = new WeakMap<AbortSignal, Listener>()

/**
 * Calls back once when the signal aborts; gives the function that takes the callback away. A signal that has aborted
 * already never calls.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const listener = listeners.get(signal) ?? listen(signal)
  // Of its own: the same function may be given twice.
  const own = () => callback()
  listener.callbacks.add(own)
  return () => {
    if (listener.callbacks.delete(own) && listener.callbacks.size === 0) leave(signal, listener)
  }
}

function listen(signal: AbortSignal): Listener {
  const callbacks = new Set<() => void>()
  const tell = () => {
    leave(signal, listener)
    tellAll(callbacks)
  }
  const listener = { callbacks, tell }
  signal.addEventListener('abort', tell, { once: true })
  listeners.set(signal, listener)
  return listener
}

function leave(signal: AbortSignal, listener: Listener): void {
  if (listeners.get(signal) !== listener) return
  listeners.delete(signal)
  signal.removeEventListener('abort', listener.tell)
}

// As an EventTarget does: one that is taken away meanwhile is not called, and one that throws stops no other.
function tellAll(callbacks: Set<() => void>): void {
  const failures: unknown[] = []
  for (const callback of [...callbacks]) {
    if (!callbacks.delete(callback)) continue
    try {
      callback()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
