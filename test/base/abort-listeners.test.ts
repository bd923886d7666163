import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from '../../lib/base/abort-listeners.js'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

/** Something that can be listened to as a signal and tells of a failing listener in the call itself. */
function plainSignal(): { signal: AbortSignal; abort: () => void } {
  let abort = () => {}
  const signal = {
    aborted: false,
    addEventListener: (_: string, listener: () => void) => void (abort = listener),
    removeEventListener: () => {},
  }
  return { signal: signal as unknown as AbortSignal, abort: () => abort() }
}

test('callbacks share one listener, which goes with the last of them [B090]', () => {
  const { signal } = new AbortController()
  const callback = () => expect.unreachable()
  const leave = [onAbort(signal, callback), onAbort(signal, callback)]
  expect(listeners(signal)).toBe(1)
  leave[0]?.()
  leave[0]?.()
  expect(listeners(signal)).toBe(1)
  leave[1]?.()
  expect(listeners(signal)).toBe(0)
})

test('an abort calls each callback once, but for one that was taken away meanwhile [B087]', () => {
  const abort = new AbortController()
  const told: number[] = []
  let leaveLast = () => {}
  onAbort(abort.signal, () => (told.push(1), leaveLast()))
  onAbort(abort.signal, () => told.push(2))
  leaveLast = onAbort(abort.signal, () => told.push(3))
  abort.abort()
  abort.abort()
  expect(told).toEqual([1, 2])
  expect(listeners(abort.signal)).toBe(0)
})

test('a callback that throws stops no other [P-5]', () => {
  const { signal, abort } = plainSignal()
  const told: number[] = []
  const first = new Error('first')
  onAbort(signal, () => {
    throw first
  })
  onAbort(signal, () => told.push(2))
  expect(abort).toThrow(first)
  expect(told).toEqual([2])
})
