/** Unmeasured slots before the first measured one on a worker. */
import { expect, test } from 'vitest'
import type { PlannedWarmUp, WarmUps } from '../../lib/reuse/attempt.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import type { Facts } from '../support/owner.js'
import {
  attemptOf,
  expectNothingRetained,
  ownerOf,
  partsOf,
  phaseLimits,
  told,
  warmedAttempt,
  warmUpsOf,
  work,
} from '../support/owner.js'
import { rejection } from '../support/worker.js'

const warmUpsIn = (evidence: AttemptEvidence) => evidence.context.worker_reuse.warmups_on_this_attempt

test('a new process warms up before it measures; one that stays does not again [R-19, R-21, R-22]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  const first = await owner.run(warmedAttempt([{ execute: ['litter'] }, { execute: ['litter'] }]))
  const cleaning = ['reset', 'directory', 'check']
  const warming = ['warm-up 0', ...cleaning, 'warm-up 1', ...cleaning]
  expect(told(events)).toEqual(['begun', 'launching', 'launched', ...warming, 'measuring', 'completed'])
  // The third slot of its process; and what the second left is gone, as what the first left was from the second.
  expect(first.value).toMatchObject({ executes: 3, found: [] })
  expect(warmUpsIn(first.evidence).map(({ result }) => (result as unknown as Facts).found)).toEqual([[], []])
  expect(first.evidence.context.worker_reuse.worker?.slot_ordinal).toBe(3)
  events.length = 0
  const second = await owner.run(warmedAttempt([{}, {}]))
  expect(second.value).toMatchObject({ pid: first.value.pid, executes: 4 })
  expect(told(events)).toEqual(['begun', ...cleaning, 'kept', 'measuring', 'completed'])
  expect(warmUpsIn(second.evidence)).toEqual([])
})

test('the caller executes and judges each by the index of the plan, with one seed for all [R-20, R-27, R-28]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const calls: [string, PlannedWarmUp][] = []
  const seeds: number[] = []
  const plan = warmUpsOf([{}, {}, {}])
  const warmUps: WarmUps = {
    ...plan,
    run: async (session, planned) => {
      calls.push(['run', planned])
      expect(session.implementationSeed).toBe(planned.implementationSeed)
      const given = await plan.run(session, planned)
      seeds.push((given.result as unknown as Facts).seed)
      return given
    },
    validate: async (execution, planned) => {
      calls.push(['validate', planned])
      expect(execution.measurements).toEqual({ executes: expect.any(Number) as number })
      return { valid: true }
    },
  }
  for (const [specification, implementationSeed] of [['one', 41], ['two', 42]] as const) {
    const outcome = await owner.run(warmedAttempt([{}, {}, {}], { specification, implementationSeed }, warmUps))
    expect(outcome.value.seed).toBe(implementationSeed)
    expect(warmUpsIn(outcome.evidence).map((entry) => entry.implementation_seed)).toEqual(Array(3).fill(implementationSeed))
  }
  const each = [0, 1, 2].flatMap((index) => ['run', 'validate'].map((call) => [call, index]))
  expect(calls.map(([call, { index }]) => [call, index])).toEqual([...each, ...each])
  expect(calls[2]?.[1]).toEqual({ index: 1, slot: { dataset: 'warm-1' }, implementationSeed: 41 })
  expect(seeds).toEqual([41, 41, 41, 42, 42, 42])
})

test('a new specification warms up on the worker that stays, a replacement on its own, from 0 [R-23, R-27]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const indices = async (specification: string) => {
    const { evidence, value } = await owner.run(warmedAttempt([{}, {}], { specification }))
    return { pid: value.pid, indices: warmUpsIn(evidence).map(({ index }) => index) }
  }
  const first = await indices('one')
  expect(first.indices).toEqual([0, 1])
  expect(await indices('two')).toEqual({ pid: first.pid, indices: [0, 1] })
  expect(await indices('two')).toEqual({ pid: first.pid, indices: [] })
  // What was warm for one specification is not for another, whichever came first.
  expect(await indices('one')).toEqual({ pid: first.pid, indices: [0, 1] })
  await rejection(owner.run(warmedAttempt([{}, {}], { specification: 'one', measure: () => Promise.reject(new Error('no')) })))
  const replaced = await indices('one')
  expect(replaced.indices).toEqual([0, 1])
  expect(replaced.pid).not.toBe(first.pid)
})

test('a warm-up that fails fails the attempt before it measures, and the next has a new worker [R-30, R-31]', async () => {
  await using held = ownerOf()
  const { owner, published, events } = held
  let measured = 0
  const measure: typeof work = (session) => (measured++, work(session))
  const error = await rejection(owner.run(warmedAttempt([{}, { execute: ['fail'] }, {}], { measure })))
  expect(error).toMatchObject({
    name: 'ReuseError',
    code: 'ERR_WARM_UP_FAILED',
    details: { warmUpIndex: 1 },
    cause: { code: 'ERR_WORKER_FAILURE', details: { phase: 'execute' } },
  })
  expect(measured).toBe(0)
  expect(told(events)).not.toContain('measuring')
  await expectNothingRetained(owner)
  expect(published[0]).toMatchObject({ outcome: 'failed', failure: { code: 'ERR_WARM_UP_FAILED' } })
  expect(warmUpsIn(published[0] as AttemptEvidence)).toMatchObject([
    { index: 0, validation: 'valid', metrics: { score: 1 } },
    { index: 1, validation: 'not_validated', failure: { code: 'ERR_WORKER_FAILURE' } },
  ])
  const next = await owner.run(warmedAttempt([{}, {}, {}], { measure }))
  expect(next.value.executes).toBe(4)
  expect(measured).toBe(1)
})

test('a verdict holds: what is not valid fails the attempt, whatever the worker says [R-29, R-30]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const judged: unknown[] = []
  const validate: WarmUps['validate'] = async ({ result }, { index }) => {
    judged.push([index, (result as unknown as Facts).executes])
    return index === 0 ? { valid: true } : { valid: false, reason: 'not sorted', metrics: { errors: 3 } }
  }
  const error = await rejection(owner.run(warmedAttempt([{}, {}], {}, warmUpsOf([{}, {}], { validate }))))
  expect(error).toMatchObject({
    code: 'ERR_WARM_UP_FAILED',
    cause: { code: 'ERR_WARM_UP_INVALID', details: { warmUpIndex: 1, reason: 'not sorted' } },
  })
  expect(judged).toEqual([[0, 1], [1, 2]])
  const [, invalid] = warmUpsIn(published[0] as AttemptEvidence)
  expect(invalid).toMatchObject({ validation: 'invalid', metrics: { errors: 3 }, failure: { code: 'ERR_WARM_UP_INVALID' } })
  await expectNothingRetained(owner)
})

test.each<[what: string, changes: Partial<WarmUps>, cause: object]>([
  ['a verdict that is none', { validate: async () => ({ valid: 'yes' }) as never }, { code: 'ERR_INVALID_SPEC' }],
  ['no verdict', { validate: async () => undefined as never }, { code: 'ERR_INVALID_SPEC' }],
  ['a validation that throws', { validate: () => Promise.reject(new Error('evaluator')) }, { message: 'evaluator' }],
  ['an execution that throws', { run: () => Promise.reject(new Error('mine')) }, { message: 'mine' }],
  ['a result that is no JSON', { run: async () => ({ measurements: {}, result: NaN }) }, { code: 'ERR_INVALID_SPEC' }],
  ['no measurements', { run: async () => ({ result: 1 }) as never }, { code: 'ERR_INVALID_SPEC' }],
])('%s is a warm-up that failed [R-24, R-29]', async (_, changes, cause) => {
  await using held = ownerOf()
  const { owner } = held
  const error = await rejection(owner.run(warmedAttempt([{}], {}, warmUpsOf([{}], changes))))
  expect(error).toMatchObject({ code: 'ERR_WARM_UP_FAILED', details: { warmUpIndex: 0 }, cause })
  await expectNothingRetained(owner)
})

test('the clean-up after a warm-up is a part of it [R-21, R-24, R-30]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const worker = partsOf({ warmUps: 1, timeouts: phaseLimits({ reset: 200 }) })
  const error = await rejection(owner.run(warmedAttempt([{ reset: [['sleep', 30]] }], { worker })))
  const cause = { code: 'ERR_RESET_FAILED', cause: { code: 'ERR_PHASE_TIMEOUT', details: { phase: 'reset' } } }
  expect(error).toMatchObject({ code: 'ERR_WARM_UP_FAILED', cause })
  expect(warmUpsIn(published[0] as AttemptEvidence)).toMatchObject([
    { validation: 'valid', metrics: { score: 1 }, failure: { code: 'ERR_RESET_FAILED' } },
  ])
  await expectNothingRetained(owner)
})

test('a warm-up has the time of a slot, and an abort of the attempt is no failure of its own [R-24, R-30]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const slow = [{ execute: [['sleep', 30]] }]
  expect(await rejection(owner.run(warmedAttempt(slow, { timeoutMs: 300 })))).toMatchObject({
    code: 'ERR_WARM_UP_FAILED',
    cause: { code: 'ERR_SLOT_DEADLINE', details: { limitMs: 300 } },
  })
  await expectNothingRetained(owner)
  const hanging = warmUpsOf([{}], { validate: () => new Promise(() => {}) })
  const signal = AbortSignal.timeout(300)
  expect(await rejection(owner.run(warmedAttempt([{}], {}, hanging), { signal }))).toMatchObject({ code: 'ERR_ABORTED' })
  await expectNothingRetained(owner)
})

test('a policy without warm-ups measures at once [R-19]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  expect(warmUpsIn((await owner.run(attemptOf())).evidence)).toEqual([])
  expect(told(events)).toEqual(['begun', 'launching', 'launched', 'measuring', 'completed'])
})
