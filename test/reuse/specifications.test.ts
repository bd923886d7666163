/** What is the same for all of a specification, whichever worker serves it. */
import { expect, test } from 'vitest'
import { WorkerLanes } from '../../lib/reuse/worker-lanes.js'
import { attemptOf, localExecutor, ownerOf, partsOf, warmedAttempt, warmUpsOf } from '../support/owner.js'
import { rejection } from '../support/worker.js'

const otherSeed = { code: 'ERR_INVALID_SPEC', details: { field: 'implementationSeed', reason: 'is 7 for this specification' } }

test('a specification keeps its seed over other workers, failures and specifications between [R-27, R-28]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  const refused = async () => {
    const before = events.length
    for (const definition of ['reused', 'other']) {
      const worker = partsOf({}, { definition })
      expect(await rejection(owner.run(attemptOf({}, { implementationSeed: 8, worker })))).toMatchObject(otherSeed)
    }
    expect(events).toHaveLength(before)
  }
  await owner.run(attemptOf())
  await refused()
  await rejection(owner.run(attemptOf({ execute: ['crash'] })))
  await refused()
  await owner.run(attemptOf({}, { specification: 'two', implementationSeed: 9 }))
  await refused()
  expect((await owner.run(attemptOf())).value.seed).toBe(7)
})

test('an attempt that is refused, or never begins, gives its specification no seed [R-28]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const attempt = (implementationSeed: number) => attemptOf({}, { implementationSeed })
  await rejection(owner.run(attempt(3), { signal: AbortSignal.abort() }))
  const running = owner.run(attemptOf({}, { specification: 'two' }))
  expect(await rejection(owner.run(attempt(4)))).toMatchObject({ code: 'ERR_OWNER_BUSY' })
  await running
  expect((await owner.run(attempt(5))).value.seed).toBe(5)
})

test('a plan of warm-ups that changes within a specification is refused, and not passed over [R-22, R-27]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const planned = (datasets: string[]) => {
    return warmedAttempt(datasets.map(() => ({})), {}, warmUpsOf(datasets.map(() => ({})), { slots: datasets }))
  }
  await owner.run(planned(['a']))
  const error = await rejection(owner.run(planned(['b'])))
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'warmUps.slots' } })
  await owner.run(planned(['a']))
  // Another policy is another key, which may have another number of them.
  expect((await owner.run(planned(['a', 'b']))).evidence.context.worker_reuse.warmups_on_this_attempt).toHaveLength(2)
})

test('lanes share what they know of a specification, and a batch that contradicts itself runs none [R-02, R-28]', async () => {
  await using lanes = new WorkerLanes({ lanes: 2, executor: localExecutor() })
  const begun: string[] = []
  const noting = (id: string, implementationSeed: number) => {
    const { measure } = attemptOf()
    return attemptOf({}, { id, implementationSeed, measure: (session) => (begun.push(id), measure(session)) })
  }
  expect(await rejection(lanes.run([noting('a', 7), noting('b', 8)]))).toMatchObject(otherSeed)
  expect(begun).toEqual([])
  expect(await lanes.run([noting('a', 7)])).toMatchObject([{ status: 'fulfilled' }])
  // On the other lane.
  expect(await rejection(lanes.run([noting('b', 7), noting('c', 8)]))).toMatchObject(otherSeed)
  expect(begun).toEqual(['a'])
})
