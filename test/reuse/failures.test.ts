/** Whatever fails, no worker is retained, nothing is tried again, and the first error is the one that is told. */
import { expect, test } from 'vitest'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import type { SlotSession } from '../../lib/reuse/slot-session.js'
import { checkedPid, escapee } from '../process/ends/children.js'
import { schemaOf } from '../support/json-schema.js'
import { until } from '../support/until.js'
import { attemptOf, expectNothingRetained, ownerOf, partsOf, phaseLimits, told, work } from '../support/owner.js'
import { abuse, anyExecute, anyPrepare, record, rejection, reused, workerId } from '../support/worker.js'

const accepts = schemaOf('attempt-evidence.schema.json')

test('a program that is missing fails the launch, and leaves nothing [R-24]', async () => {
  await using held = ownerOf()
  const { owner, published, events } = held
  const worker = partsOf({}, { launch: record('/no/such/program', []) })
  expect(await rejection(owner.run(attemptOf({}, { worker })))).toMatchObject({ code: 'ERR_SPAWN_FAILED' })
  await expectNothingRetained(owner)
  expect(told(events)).toEqual(['begun', 'launching', 'failed'])
  expect(published).toMatchObject([{ outcome: 'failed', failure: { code: 'ERR_SPAWN_FAILED' } }])
  expect(published[0]).not.toHaveProperty('logs')
  const nothing = { cache_policy: 'no_persistent_caches', warmups_on_this_attempt: [] }
  expect(published[0]?.context.worker_reuse).toEqual(nothing)
  // There was no process, so none was lost.
  const next = await owner.run(attemptOf())
  expect(next.evidence.context.worker_reuse).not.toHaveProperty('replaced')
})

test.each([
  ['ends at hello', abuse('early-eof', 'hello'), 'ERR_FRAME_EARLY_EOF'],
  ['refuses hello', abuse('fails', 'hello'), 'ERR_WORKER_FAILURE'],
])('a worker that %s fails the launch, and is told with its words and without a startup [R-24, R-33]', async (_, launch, code) => {
  await using held = ownerOf()
  const { owner, published, events } = held
  expect(await rejection(owner.run(attemptOf({}, { worker: partsOf({}, { launch }) })))).toMatchObject({ code })
  await expectNothingRetained(owner)
  expect(told(events)).toEqual(['begun', 'launching', 'failed'])
  const [evidence] = published as [AttemptEvidence]
  expect(accepts(evidence)).toBe(true)
  expect(evidence).toMatchObject({ outcome: 'failed', failure: { code }, logs: { complete: false } })
  expect(evidence.context.worker_reuse).toEqual({
    cache_policy: 'no_persistent_caches',
    worker: { instance: expect.any(String) as string, fresh: true, slot_ordinal: 0 },
    warmups_on_this_attempt: [],
  })
  const next = await owner.run(attemptOf())
  const { instance } = evidence.context.worker_reuse.worker as { instance: string }
  expect(next.value.executes).toBe(1)
  expect(next.evidence.context.worker_reuse.replaced).toEqual({ instance, reasons: ['earlier_failure'], changed: [] })
})

test('a worker that dies before its greeting has said why, and the evidence has it, without its secret [R-24, R-42]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const token = 'sesame-open-0123456789'
  const dying = record('/bin/sh', ['-c', 'echo "no module for $TOKEN" >&2; exit 3'])
  const secretChannels = [{ name: 'token', by: 'variable', variable: 'TOKEN' }] as const
  const worker = partsOf({}, { launch: { ...dying, secretChannels } })
  await rejection(owner.run(attemptOf({}, { worker, secrets: { token } })))
  const { stderr } = published[0]?.logs as NonNullable<AttemptEvidence['logs']>
  expect(Buffer.from(stderr.bytes_base64, 'base64').toString()).toBe('no module for [redacted]\n')
})

test('a launch that fails in another one\'s place tells whose, and no worker of its own [R-24, R-33]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const first = await owner.run(attemptOf())
  const worker = partsOf({}, { launch: record('/no/such/program', []) })
  await rejection(owner.run(attemptOf({}, { worker })))
  const { instance } = first.evidence.context.worker_reuse.worker as { instance: string }
  const replaced = { instance, reasons: ['key_changed'], changed: ['launch'] }
  const cache = { cache_policy: 'no_persistent_caches' }
  expect(published[1]?.context.worker_reuse).toEqual({ ...cache, replaced, warmups_on_this_attempt: [] })
  expect(published[1]).not.toHaveProperty('logs')
  await expectNothingRetained(owner, first.value.pid)
})

test.each<[string, unknown, string]>([
  ['a crash', 'crash', 'ERR_PROTOCOL_CLOSED'],
  ['an exit', ['exit', 0], 'ERR_PROTOCOL_CLOSED'],
  ['a failure that the worker tells', 'fail', 'ERR_WORKER_FAILURE'],
  ['bytes that are no frame', 'no-frame', 'ERR_FRAME_MALFORMED_JSON'],
])('%s in the measured slot: called once, the worker gone, the error its own [R-24, R-25]', async (_, act, code) => {
  await using held = ownerOf()
  const { owner, published } = held
  await owner.run(attemptOf())
  let calls = 0
  let pid = 0
  const measure = (session: SlotSession) => {
    calls++
    pid = session.pid
    return work(session, { execute: [act] })
  }
  const error = await rejection(owner.run(attemptOf({}, { measure })))
  expect(error).toMatchObject({ code })
  expect(calls).toBe(1)
  await expectNothingRetained(owner, pid)
  expect(published[1]).toMatchObject({ outcome: 'failed', failure: { code } })
  expect((await owner.run(attemptOf())).value.executes).toBe(1)
})

test('a phase that takes too long ends the slot with its worker [R-24, R-25]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const worker = partsOf({ timeouts: phaseLimits({ execute: 200 }) })
  const error = await rejection(owner.run(attemptOf({ execute: [['sleep', 30]] }, { worker })))
  expect(error).toMatchObject({ code: 'ERR_PHASE_TIMEOUT', details: { phase: 'execute', limitMs: 200 } })
  await expectNothingRetained(owner)
})

test('what measure throws is what the attempt rejects with, the same object [R-24, R-25]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const thrown = new RangeError('my own')
  const measure = async (session: SlotSession): Promise<never> => {
    await work(session)
    throw thrown
  }
  expect(await rejection(owner.run(attemptOf({}, { measure })))).toBe(thrown)
  expect(published).toMatchObject([{ outcome: 'failed', failure: { name: 'RangeError', message: 'my own' } }])
  await expectNothingRetained(owner)
})

test('an observation that is no JSON is a failed slot [R-24]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const error = await rejection(owner.run({ ...attemptOf(), measure: async () => ({ mean: NaN }) }))
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'measure().mean' } })
  expect(published).toMatchObject([{ outcome: 'failed' }])
  await expectNothingRetained(owner)
})

test('execute without a prepare of the same slot is refused, and sent to no worker [R-18]', async () => {
  await using held = ownerOf()
  const { owner } = held
  await owner.run(attemptOf())
  let usable: unknown
  const measure = async (session: SlotSession) => {
    const error = await rejection(session.execute(anyExecute))
    usable = await work(session)
    throw error
  }
  expect(await rejection(owner.run(attemptOf({}, { measure })))).toMatchObject({
    code: 'ERR_PREPARE_REQUIRED',
    details: { phase: 'execute' },
  })
  expect(usable).toMatchObject({ executes: 2 })
})

test('a prepare that failed has prepared nothing [R-18]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const worker = partsOf({}, { launch: abuse('fails', 'prepare') })
  const measure = async (session: SlotSession) => {
    await rejection(work(session))
    return await session.execute(anyExecute).then(() => null as never)
  }
  expect(await rejection(owner.run(attemptOf({}, { worker, measure })))).toMatchObject({ code: 'ERR_PREPARE_REQUIRED' })
})

test('a prepare that is refused takes an earlier one back: the worker may have thrown half of it away [R-18]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const measure = async (session: SlotSession) => {
    await work(session)
    expect(await rejection(work(session, { prepare: ['fail'] }))).toMatchObject({ code: 'ERR_WORKER_FAILURE' })
    return await session.execute(anyExecute).then(() => null as never)
  }
  expect(await rejection(owner.run(attemptOf({}, { measure })))).toMatchObject({ code: 'ERR_PREPARE_REQUIRED' })
})

test('who keeps the session of a slot beyond its end reaches nobody with it [R-01, R-18, B122]', async () => {
  await using held = ownerOf()
  const { owner } = held
  let kept: SlotSession | undefined
  await owner.run(attemptOf({}, { measure: (session) => work((kept = session)) }))
  expect(kept?.signal.aborted).toBe(true)
  const during = async (session: SlotSession) => {
    expect(await rejection(work(kept as SlotSession))).toMatchObject({ code: 'ERR_SLOT_ENDED', details: { phase: 'prepare' } })
    expect(await rejection((kept as SlotSession).execute(anyExecute))).toMatchObject({ code: 'ERR_SLOT_ENDED' })
    return await work(session)
  }
  expect((await owner.run(attemptOf({}, { measure: during }))).value.executes).toBe(2)
})

test('a slot lasts until its last request is answered, and begins no other then [R-08, B122]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const order: string[] = []
  const { implementation_seed: _seed, ...fields } = anyPrepare
  const measure = async (session: SlotSession) => {
    await session.prepare({ ...fields, implementation_parameters: { execute: [['sleep', 0.3]] } })
    void session.execute(anyExecute).then(async () => {
      order.push('answered')
      const late = await rejection(session.execute(anyExecute))
      order.push(late.code)
    })
    return null as never
  }
  await owner.run(attemptOf({}, { measure })).then(() => order.push('completed'))
  await until('the refusal', () => order.length === 3)
  expect(order.toSorted()).toEqual(['ERR_SLOT_ENDED', 'answered', 'completed'])
  expect(order.indexOf('answered')).toBeLessThan(order.indexOf('completed'))
  expect((await owner.run(attemptOf())).value.executes).toBe(2)
})

test('an escapee that holds the logs makes a measured result one to reject [M-88, R-38, R-24]', async () => {
  await using held = ownerOf()
  const { owner, published, events } = held
  for (const role of ['implementation', 'dataset_materializer', 'problem_evaluator'] as const) {
    const worker = partsOf({ workerReuse: false }, { role, launch: abuse('escapes', 'shutdown') })
    let pid = 0
    const measure = async (session: SlotSession) => {
      pid = session.pid
      return 'a valid result' as never
    }
    const error = await rejection(owner.run(attemptOf({}, { worker, measure })))
    const { logs } = published.at(-1) as { logs: { stdout: { bytes_base64: string } } }
    const text = Buffer.from(logs.stdout.bytes_base64, 'base64').toString()
    escapee(checkedPid(Number(/escapee (\d+)/.exec(text)?.[1])), 'abuse.py')
    expect(error).toMatchObject({
      code: 'ERR_CONTROL_ENFORCEMENT_LOST',
      details: { role },
      cause: { code: 'ERR_LOG_DRAIN_DEADLINE' },
    })
    expect(published.at(-1)).toMatchObject({ outcome: 'failed', logs: { complete: false } })
    expect(published.at(-1)).not.toHaveProperty('observation')
    await expectNothingRetained(owner, pid)
  }
  expect(told(events)).not.toContain('completed')
})

test('a worker that leaves badly after its slot makes the result one to reject [R-24, R-38]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const worker = partsOf({ workerReuse: false }, { launch: abuse('acks-then-exits', 'shutdown', '3') })
  const error = await rejection(owner.run(attemptOf({}, { worker })))
  expect(error).toMatchObject({ code: 'ERR_UNSUCCESSFUL_EXIT' })
  // Facts of the exit, and not once more the logs.
  expect(published[0]).toMatchObject({ outcome: 'failed', failure: { details: { exit: { code: 3, signal: null } } } })
  expect(JSON.stringify((published[0] as { failure: object }).failure)).not.toContain('logs')
  await expectNothingRetained(owner)
})

test('a worker of another identity than the attempt names is none of its [R-24]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const worker = partsOf({}, { launch: abuse('wrong-identity', 'hello') })
  expect(await rejection(owner.run(attemptOf({}, { worker, workerId })))).toMatchObject({ code: 'ERR_HANDSHAKE_FAILED' })
  await expectNothingRetained(owner)
  expect((await owner.run(attemptOf({}, { worker: partsOf({}, { launch: reused() }) }))).value.executes).toBe(1)
})
