/** What a slot may do with the session that is lent to it, and until when. */
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import type { SlotSession } from '../../lib/reuse/slot-session.js'
import type { Facts } from '../support/owner.js'
import { attemptOf, expectNothingRetained, ownerOf, told, work } from '../support/owner.js'
import { within } from '../support/until.js'
import { anyExecute, anyPrepare, rejection } from '../support/worker.js'

const { implementation_seed: _seed, ...fields } = anyPrepare
const sleeping = { ...fields, implementation_parameters: { execute: [['sleep', 30]] } }

test('the seed of a slot is its specification\'s, whatever a caller puts beside it [R-28]', async () => {
  await using held = ownerOf()
  const measure = async (session: SlotSession) => {
    await session.prepare({ ...anyPrepare, implementation_seed: 99 } as typeof fields)
    return (await session.execute(anyExecute)).statistics as unknown as Facts
  }
  expect((await held.owner.run(attemptOf({}, { measure }))).value.seed).toBe(7)
})

test('a request heeds the signal that it was given itself [R-08, P-5]', async () => {
  await using held = ownerOf()
  const measure = async (session: SlotSession): Promise<never> => {
    await session.prepare(sleeping)
    await session.execute(anyExecute, { signal: AbortSignal.timeout(100) })
    throw new Error('it slept on')
  }
  const error = await rejection(held.owner.run(attemptOf({}, { measure })))
  expect(error).toMatchObject({ code: 'ERR_ABORTED', cause: { name: 'TimeoutError' } })
  await expectNothingRetained(held.owner)
})

test('a request ends with its slot, also one that has a signal of its own [R-08, P-5]', async () => {
  await using held = ownerOf()
  const own = new AbortController()
  let request: Promise<{ code: string }> | undefined
  const measure = async (session: SlotSession): Promise<never> => {
    await session.prepare(sleeping)
    request = rejection(session.execute(anyExecute, { signal: own.signal }))
    await request
    return await new Promise<never>(() => {})
  }
  // Long enough for the request to be made.
  const error = await rejection(held.owner.run(attemptOf({}, { measure, timeoutMs: within(200) })))
  expect(error).toMatchObject({ code: 'ERR_SLOT_DEADLINE' })
  expect(await request).toMatchObject({ code: 'ERR_ABORTED', cause: error })
  expect(getEventListeners(own.signal, 'abort')).toEqual([])
})

test('at the very end of its slot a session begins no request any more [R-08, B122]', async () => {
  await using held = ownerOf()
  let late: Promise<unknown> | undefined
  const measure = async (session: SlotSession): Promise<never> => {
    session.signal.addEventListener('abort', () => (late = rejection(session.prepare(fields))))
    return await new Promise<never>(() => {})
  }
  await rejection(held.owner.run(attemptOf({}, { measure, timeoutMs: 100 })))
  expect(await late).toMatchObject({ code: 'ERR_SLOT_ENDED', details: { phase: 'prepare' } })
})

test('an abort at the end of the clean-up lets no slot begin [R-24]', async () => {
  const abort = new AbortController()
  await using held = ownerOf({
    onEvent: (event) => {
      events.push(event)
      if (event.type === 'cleaning' && event.step === 'check') abort.abort('enough')
    },
  })
  const { owner, events } = held
  await owner.run(attemptOf())
  events.length = 0
  let measured = 0
  const pending = attemptOf({}, { measure: (session) => (measured++, work(session)) })
  expect(await rejection(owner.run(pending, { signal: abort.signal }))).toMatchObject({ code: 'ERR_ABORTED', cause: 'enough' })
  expect(told(events)).toEqual(['begun', 'reset', 'directory', 'check', 'failed'])
  expect(measured).toBe(0)
})

test('a signal that bounds many attempts keeps nothing of those that have ended [R-24, B090]', async () => {
  await using held = ownerOf()
  const { signal } = new AbortController()
  for (let slot = 0; slot < 3; slot++) await held.owner.run(attemptOf(), { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
