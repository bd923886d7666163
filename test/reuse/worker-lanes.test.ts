/** One owner a lane: what happens on one lane is no other lane's. */
import { expect, test } from 'vitest'
import type { Attempt } from '../../lib/reuse/attempt.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import type { OwnerEvent } from '../../lib/reuse/owner-events.js'
import type { SlotSession } from '../../lib/reuse/slot-session.js'
import type { WorkerLanesOptions } from '../../lib/reuse/worker-lanes.js'
import { WorkerLanes } from '../../lib/reuse/worker-lanes.js'
import type { AttemptOutcome } from '../../lib/reuse/worker-owner.js'
import { alive, childrenOf } from '../support/process-table.js'
import { until } from '../support/until.js'
import type { Facts } from '../support/owner.js'
import { attemptOf, localExecutor, partsOf, warmedAttempt } from '../support/owner.js'
import { rejection } from '../support/worker.js'

function lanesOf(count: number, options: Partial<WorkerLanesOptions> = {}) {
  const events: OwnerEvent[] = []
  const published: AttemptEvidence[] = []
  const lanes = new WorkerLanes({
    lanes: count,
    executor: localExecutor(),
    publish: (evidence) => void published.push(evidence),
    onEvent: (event) => void events.push(event),
    ...options,
  })
  return { lanes, events, published, [Symbol.asyncDispose]: () => lanes[Symbol.asyncDispose]() }
}

type Settled = PromiseSettledResult<AttemptOutcome<Facts>>

const pidOf = (result: Settled | undefined): number | undefined => {
  return result?.status === 'fulfilled' ? result.value.value.pid : undefined
}

test('lanes that cannot be meant are refused, and a batch with one bad attempt runs none [R-02]', async () => {
  for (const count of [0, -1, 1.5, '3', Infinity, 1025, 2 ** 33]) {
    expect(() => new WorkerLanes({ lanes: count as number, executor: localExecutor() })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_SPEC', details: { field: 'lanes', reason: expect.any(String) as string } }),
    )
  }
  await using held = lanesOf(2)
  const bad = { ...attemptOf(), implementationSeed: 1.5 } as Attempt<Facts>
  expect(await rejection(held.lanes.run([attemptOf(), bad]))).toMatchObject({ details: { field: 'implementationSeed' } })
  expect(await rejection(held.lanes.run('batch' as never))).toMatchObject({ details: { field: 'batch' } })
  // A hole is no attempt, and a signal that is none would bound nothing.
  const holed = [attemptOf(), attemptOf()]
  delete holed[0]
  expect(await rejection(held.lanes.run(holed))).toMatchObject({ details: { field: 'attempt' } })
  await expect(held.lanes.run([attemptOf()], { signal: 5 as never })).rejects.toBeInstanceOf(TypeError)
  expect(held.events).toEqual([])
})

test('what the caller changes in a batch while it runs is none of it [R-02]', async () => {
  await using held = lanesOf(1)
  const changed = { ...attemptOf() }
  const batch = [attemptOf(), changed, attemptOf()]
  const running = held.lanes.run(batch)
  batch.length = 1
  Object.assign(changed, { measure: 'now' })
  expect((await running).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
})

test('three lanes are three processes, and each lane keeps its own over the batches [R-02, R-03]', async () => {
  await using held = lanesOf(3)
  const batch = () => [attemptOf(), attemptOf(), attemptOf()]
  const first = (await held.lanes.run(batch())).map(pidOf)
  expect(new Set(first).size).toBe(3)
  expect(first).not.toContain(undefined)
  expect((await held.lanes.run(batch())).map(pidOf)).toEqual(first)
  expect(held.lanes.owners.map(({ retained }) => retained?.pid)).toEqual(first)
  expect(held.published.map(({ lane }) => lane).toSorted()).toEqual([0, 0, 1, 1, 2, 2])
})

test('a batch longer than the lanes runs as many at once as there are lanes, each in its order [R-02]', async () => {
  await using held = lanesOf(2)
  let running = 0
  let most = 0
  const order: string[] = []
  const batch = ['a', 'b', 'c', 'd', 'e'].map((id) => {
    const { measure } = attemptOf()
    return attemptOf({}, {
      id,
      measure: async (session) => {
        most = Math.max(most, ++running)
        order.push(id)
        try {
          await until('both lanes at work', () => most >= 2)
          return await measure(session)
        } finally {
          running--
        }
      },
    })
  })
  const pids = (await held.lanes.run(batch)).map(pidOf)
  expect(most).toBe(2)
  expect(childrenOf()).toHaveLength(2)
  expect([pids[0], pids[1]]).toEqual([pids[2], pids[3]])
  expect(pids[4]).toBe(pids[0])
  for (const lane of [['a', 'c', 'e'], ['b', 'd']]) expect(order.filter((id) => lane.includes(id))).toEqual(lane)
})

test('a failure on lane 2 costs lanes 1 and 3 nothing: they keep their workers and their warmth [R-04]', async () => {
  await using held = lanesOf(3)
  const warm = (changes: Partial<Attempt<Facts>> = {}) => warmedAttempt([{}, {}], changes)
  const crash = () => warm({ measure: attemptOf({ execute: ['crash'] }).measure })
  const first = (await held.lanes.run([warm(), warm(), warm()])).map(pidOf)
  const second = await held.lanes.run([warm(), crash(), warm()])
  expect(second.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(second[1]).toMatchObject({ reason: { code: 'ERR_PROTOCOL_CLOSED' } })
  expect(held.lanes.owners[1]?.retained).toBe(null)
  const third = await held.lanes.run([warm(), warm(), warm()])
  const pids = third.map(pidOf)
  expect([pids[0], pids[2]]).toEqual([first[0], first[2]])
  expect(pids[1]).not.toBe(first[1])
  const warmUps = (third as PromiseFulfilledResult<AttemptOutcome<Facts>>[]).map(
    ({ value }) => value.evidence.context.worker_reuse.warmups_on_this_attempt.length,
  )
  expect(warmUps).toEqual([0, 2, 0])
})

test('resets, clean-ups and replacements are each lane\'s own [R-04]', async () => {
  await using held = lanesOf(3)
  await held.lanes.run([attemptOf({ reset: ['fail'] }), attemptOf({ execute: ['member'] }), attemptOf({ execute: ['litter'] })])
  const before = held.lanes.owners.map(({ retained }) => retained?.pid)
  const results = await held.lanes.run([attemptOf(), attemptOf(), attemptOf()])
  expect(results[0]).toMatchObject({ status: 'rejected', reason: { code: 'ERR_RESET_FAILED' } })
  expect(pidOf(results[1])).not.toBe(before[1])
  expect(results[2]).toMatchObject({ value: { value: { pid: before[2], found: [] } } })
})

test('a slow lane does not hold up another one\'s next attempt [R-04]', async () => {
  await using held = lanesOf(2)
  const order: string[] = []
  const noting = (id: string, first: () => Promise<unknown> = async () => {}) => {
    const { measure } = attemptOf()
    const all = async (session: SlotSession) => (await first(), await measure(session))
    return attemptOf({}, { id, measure: (session) => all(session).finally(() => order.push(id)) })
  }
  const slow = noting('slow', () => until('both attempts of the other lane', () => order.length === 2))
  await held.lanes.run([slow, noting('fast'), noting('last'), noting('fast too')])
  expect(order).toEqual(['fast', 'fast too', 'slow', 'last'])
})

test('two batches at once are one too many [R-01, R-02]', async () => {
  await using held = lanesOf(1)
  const running = held.lanes.run([attemptOf({ execute: [['sleep', 0.2]] })])
  expect(await rejection(held.lanes.run([attemptOf({}, { id: 'other' })]))).toMatchObject({
    code: 'ERR_OWNER_BUSY',
    details: { attempt: 'other' },
  })
  expect(await running).toMatchObject([{ status: 'fulfilled' }])
})

test('an abort ends what runs, begins nothing more, and each attempt says so [R-24, R-43]', async () => {
  await using held = lanesOf(2)
  const abort = new AbortController()
  const sleeping = () => attemptOf({ execute: [['sleep', 30]] })
  const running = held.lanes.run([sleeping(), sleeping(), sleeping(), sleeping()], { signal: abort.signal })
  await until('both at work', () => held.events.filter(({ type }) => type === 'measuring').length === 2)
  abort.abort('enough')
  const error = { code: 'ERR_ABORTED', cause: 'enough' }
  expect(await running).toMatchObject(Array(4).fill({ status: 'rejected', reason: error }))
  expect(held.events.filter(({ type }) => type === 'begun')).toHaveLength(2)
  expect(childrenOf()).toEqual([])
})

test('dispose ends every lane [R-43]', async () => {
  const held = lanesOf(3)
  const pids = (await held.lanes.run([attemptOf(), attemptOf(), attemptOf({}, { worker: partsOf({ workerReuse: false }) })])).map(pidOf)
  expect(childrenOf()).toHaveLength(2)
  await Promise.all([held.lanes[Symbol.asyncDispose](), held.lanes[Symbol.asyncDispose]()])
  expect(pids.filter((pid) => alive(pid as number))).toEqual([])
  expect(await held.lanes.run([attemptOf()])).toMatchObject([{ status: 'rejected', reason: { code: 'ERR_OWNER_ENDED' } }])
})
