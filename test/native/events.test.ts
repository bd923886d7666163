/** Batches of native events on their way to those who listen. */
import { expect, test, vi } from 'vitest'
import type { NativeAddon } from '../../lib/addon/addon-types.js'
import { EVENT, EVENT_STRIDE } from '../../lib/addon/addon-types.js'

test('a listener that throws keeps no event of its batch from the others, and no batch from coming [P-5]', async () => {
  let deliver = (_: number) => {}
  let batch: Float64Array = new Float64Array(0)
  const attach = (given: Float64Array, onEvents: typeof deliver) => {
    batch = given
    deliver = onEvents
  }
  const turned = vi.fn()
  // The leak check has the module already, attached to the real addon.
  vi.resetModules()
  vi.doMock('../../lib/addon/addon.js', () => ({ addon: () => ({ attach, turned }) as unknown as NativeAddon }))
  const { connectedAddon, onChild, onPipe } = await import('../../lib/addon/events.js')
  vi.doUnmock('../../lib/addon/addon.js')
  connectedAddon()
  const told: number[] = []
  const failing = (error: Error) => () => {
    throw error
  }
  const first = new Error('first')
  onChild(1, () => told.push(1))
  onChild(2, failing(first))
  onPipe(3, failing(new Error('second')))
  onChild(4, (_, fields) => told.push(fields[0] as number))
  const events = [
    [EVENT.exited, 1],
    [EVENT.exited, 2],
    [EVENT.pipeReady, 3],
    [EVENT.settled, 4, 40],
  ]
  events.forEach((event, index) => batch.set(event, index * EVENT_STRIDE))
  expect(() => deliver(events.length)).toThrow(first)
  expect(told).toEqual([1, 40])
  // The next batch is asked for once the loop has turned, and not before.
  expect(turned).not.toHaveBeenCalled()
  await new Promise((resolve) => setImmediate(resolve))
  expect(turned).toHaveBeenCalledOnce()
})
