/** Publishers that are slow, never done, or in each other's way. */
import { expect, test } from 'vitest'
import { DISPOSE_MS } from '../../lib/base/limits.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import { WorkerOwner } from '../../lib/reuse/worker-owner.js'
import { childrenOf } from '../support/process-table.js'
import { timed, until, within } from '../support/until.js'
import { attemptOf, expectNothingRetained, localExecutor, ownerOf, told } from '../support/owner.js'
import { rejection } from '../support/worker.js'

const never = () => new Promise<never>(() => {})

test('a publisher that is never done is waited for in its time, and then has failed [R-37, P-5]', async () => {
  await using held = ownerOf({ publish: never, publishTimeoutMs: 200 })
  const { owner, events } = held
  const { result, ms } = await timed(() => rejection(owner.run(attemptOf({}, { id: 'slow' }))))
  expect(result).toMatchObject({
    code: 'ERR_PUBLICATION_FAILED',
    details: { attempt: 'slow' },
    cause: { code: 'ERR_PUBLICATION_TIMEOUT', details: { limitMs: 200 } },
  })
  expect(ms).toBeGreaterThanOrEqual(200)
  expect(told(events).at(-1)).toBe('measuring')
  await expectNothingRetained(owner)
  // Of an attempt that had failed by itself, its own error is the one that is told.
  const failed = await rejection(owner.run(attemptOf({ execute: ['fail'] })))
  expect(failed).toMatchObject({ code: 'ERR_WORKER_FAILURE', suppressed: [{ code: 'ERR_PUBLICATION_FAILED' }] })
})

test('a time for publishing that is none is refused [R-37]', () => {
  const executor = localExecutor()
  for (const publishTimeoutMs of [-1, NaN]) expect(() => new WorkerOwner({ executor, publishTimeoutMs })).toThrow(RangeError)
  expect(() => new WorkerOwner({ executor, publishTimeoutMs: '5' as never })).toThrow(TypeError)
})

test('dispose waits for no publisher: the worker is killed at once, and the attempt is not accepted [R-37, R-43]', async () => {
  let publishing = false
  await using held = ownerOf({ publish: () => ((publishing = true), never()) })
  const { owner, events } = held
  const running = rejection(owner.run(attemptOf()))
  await until('the publisher', () => publishing)
  expect(childrenOf()).toHaveLength(1)
  const { ms } = await timed(() => owner[Symbol.asyncDispose]())
  expect(ms).toBeLessThan(within(1_000))
  expect(childrenOf()).toEqual([])
  expect(await running).toMatchObject({
    code: 'ERR_PUBLICATION_FAILED',
    cause: { code: 'ERR_ABORTED', cause: { code: 'ERR_OWNER_ENDED' } },
  })
  expect(told(events)).not.toContain('completed')
})

test.each([
  ['completed', {}, 'ERR_PUBLICATION_FAILED'],
  ['failed', { execute: ['fail'] }, 'ERR_WORKER_FAILURE'],
])('a publisher of a %s attempt may await the end of its owner [R-37, R-43, P-5]', async (_, acts, code) => {
  let ended = false
  const held = ownerOf({ publish: async () => void (await held.owner[Symbol.asyncDispose](), (ended = true)) })
  expect(await rejection(held.owner.run(attemptOf(acts)))).toMatchObject({ code })
  await until('the publisher', () => ended)
  await expectNothingRetained(held.owner)
})

test('an attempt that dispose has ended is published, and its end is told after that [R-37, R-43]', async () => {
  const order: string[] = []
  const published: AttemptEvidence[] = []
  let measuring = false
  const held = ownerOf({
    publish: async (evidence) => {
      await new Promise((resolve) => setTimeout(resolve, 50)) // waits: it stands for a disk that takes its time
      published.push(evidence)
      order.push('durable')
    },
    onEvent: ({ type }) => void (type === 'failed' && order.push(type)),
  })
  const running = rejection(held.owner.run(attemptOf({}, { measure: () => ((measuring = true), never()) })))
  await until('the measuring', () => measuring)
  await held.owner[Symbol.asyncDispose]()
  await expectNothingRetained(held.owner)
  expect(await running).toMatchObject({ code: 'ERR_ABORTED', cause: { code: 'ERR_OWNER_ENDED' } })
  expect(order).toEqual(['durable', 'failed'])
  expect(published).toMatchObject([{ outcome: 'failed', failure: { code: 'ERR_ABORTED' } }])
})

test('an attempt that dispose has ended waits for its publisher no longer than a dispose may take [R-43, P-5]', async () => {
  let measuring = false
  const held = ownerOf({ publish: never })
  const running = rejection(held.owner.run(attemptOf({}, { measure: () => ((measuring = true), never()) })))
  await until('the measuring', () => measuring)
  let ended = false
  void running.then(() => (ended = true))
  const { result, ms } = await timed(async () => {
    await held.owner[Symbol.asyncDispose]()
    // It waits for no publisher itself.
    expect(ended).toBe(false)
    return await running
  })
  expect(result).toMatchObject({ code: 'ERR_ABORTED', suppressed: [{ code: 'ERR_PUBLICATION_FAILED' }] })
  expect(ms).toBeGreaterThanOrEqual(DISPOSE_MS)
  expect(ms).toBeLessThan(within(2_000))
})

test('what was thrown frozen loses no later failure: it stands as a cause beside it [R-37, P-2]', async () => {
  const full = new Error('no space left')
  await using held = ownerOf({ publish: () => Promise.reject(full) })
  const thrown = Object.freeze(new Error('frozen'))
  const error = await rejection(held.owner.run(attemptOf({}, { measure: () => Promise.reject(thrown) })))
  expect(error).toMatchObject({ message: 'frozen', suppressed: [{ code: 'ERR_PUBLICATION_FAILED' }] })
  expect(error.cause).toBe(thrown)
})

test('from its terminal event on an owner is free: the next attempt can begin there [R-01, R-37]', async () => {
  const next: Promise<{ pid: number }>[] = []
  const ended: string[] = []
  await using held = ownerOf({
    onEvent: ({ type, attempt }) => {
      if (type !== 'completed' && type !== 'failed') return
      ended.push(`${attempt} ${type}`)
      const acts = attempt === 'first' ? { execute: ['fail'] } : {}
      const id = attempt === 'first' ? 'second' : 'third'
      if (attempt !== 'third') next.push(held.owner.run(attemptOf(acts, { id })).then(({ value }) => value))
    },
  })
  const first = await held.owner.run(attemptOf({}, { id: 'first' }))
  expect(await rejection(next[0] as Promise<unknown>)).toMatchObject({ code: 'ERR_WORKER_FAILURE' })
  expect((await next[1])?.pid).not.toBe(first.value.pid)
  expect(ended).toEqual(['first completed', 'second failed', 'third completed'])
})
