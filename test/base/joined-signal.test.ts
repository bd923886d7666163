import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { joinSignals } from '../../lib/base/joined-signal.js'

test('a joined signal aborts with the first of its own, with its reason, and leaves them all [B090]', () => {
  const [one, two] = [new AbortController(), new AbortController()]
  const { signal } = joinSignals([undefined, one.signal, two.signal])
  const reason = { why: 'enough' }
  two.abort(reason)
  expect(signal.reason).toBe(reason)
  expect(getEventListeners(one.signal, 'abort')).toEqual([])
  one.abort('later')
  expect(signal.reason).toBe(reason)
  expect(joinSignals([one.signal, two.signal]).signal).toMatchObject({ aborted: true, reason: 'later' })
})

test('a joined signal that was left hears nothing more, and leaves nothing in those it was made of [B090]', () => {
  const own = new AbortController()
  const { signal, leave } = joinSignals([own.signal])
  leave()
  expect(getEventListeners(own.signal, 'abort')).toEqual([])
  own.abort()
  expect(signal.aborted).toBe(false)
})

test('a signal that outlives a hundred thousand joins keeps none of them [B090]', async () => {
  const lasting = new AbortController().signal
  const join = async (times: number) => {
    for (let round = 0; round < times; round++) {
      joinSignals([lasting]).leave()
      if (round % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  await join(10_000)
  const before = await join(1_000)
  // AbortSignal.any keeps 100 bytes of each, so 10 MB.
  expect((await join(100_000)) - before).toBeLessThan(3_000_000)
})
