/** Which worker serves a slot: the one that is there, or a new one. */
import { expect, test } from 'vitest'
import type { Attempt } from '../../lib/reuse/attempt.js'
import type { JsonValue } from '../../lib/reuse/json.js'
import { WorkerLanes } from '../../lib/reuse/worker-lanes.js'
import { WorkerOwner } from '../../lib/reuse/worker-owner.js'
import { alive, childrenOf } from '../support/process-table.js'
import { hostSays } from '../support/host.js'
import { until } from '../support/until.js'
import type { Facts } from '../support/owner.js'
import { attemptOf, expectNothingRetained, localExecutor, ownerOf, partsOf, policyOf, told, work } from '../support/owner.js'
import { rejection, reused } from '../support/worker.js'

test('an owner that cannot be meant is refused [R-01]', () => {
  const executor = localExecutor()
  const cases: [options: unknown, field: string][] = [
    [{}, 'executor'],
    [{ executor: {} }, 'executor'],
    [{ executor, lane: -1 }, 'lane'],
    [{ executor, lane: 0.5 }, 'lane'],
    [{ executor, publish: true }, 'publish'],
    [{ executor, onEvent: 'log' }, 'onEvent'],
    [{ executor, retries: 1 }, 'options.retries'],
  ]
  for (const [options, field] of cases) {
    let error: unknown
    try {
      new WorkerOwner(options as never)
    } catch (thrown) {
      error = thrown
    }
    expect(error, field).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field } })
  }
})

test('an attempt that cannot be meant is refused by its field, and no worker is started or lost [R-01]', async () => {
  await using held = ownerOf()
  const { owner, events, published } = held
  const { value } = await owner.run(attemptOf())
  const before = events.length
  const cases: [changes: object, field: string][] = [
    [{ id: '' }, 'id'],
    [{ specification: 3 }, 'specification'],
    [{ workerId: 'x' }, 'workerId'],
    [{ implementationSeed: -1 }, 'implementationSeed'],
    // Another seed than this specification has.
    [{ implementationSeed: 8 }, 'implementationSeed'],
    [{ slot: undefined }, 'slot'],
    [{ measure: 'now' }, 'measure'],
    [{ retries: 1 }, 'retries'],
    [{ worker: partsOf({ warmUps: 1 }) }, 'warmUps'],
    [{ warmUps: { slots: [1], run: () => {}, validate: () => {} } }, 'warmUps.slots'],
    [{ warmUps: { slots: [], run: () => {} } }, 'warmUps.validate'],
    [{ warmUps: { slots: [], run: () => {}, validate: () => {}, retry: 1 } }, 'options.retry'],
    [{ worker: { ...partsOf(), policy: { ...policyOf(), workerReuse: 1 } } }, 'worker.policy.workerReuse'],
  ]
  for (const [changes, field] of cases) {
    const error = await rejection(owner.run({ ...attemptOf(), ...changes } as Attempt<Facts>))
    expect(error, field).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field } })
  }
  await expect(owner.run({ ...attemptOf(), timeoutMs: -1 })).rejects.toBeInstanceOf(RangeError)
  await expect(owner.run(attemptOf(), { signal: {} as AbortSignal })).rejects.toBeInstanceOf(TypeError)
  expect(await rejection(owner.run(attemptOf(), { signal: AbortSignal.abort(1) }))).toMatchObject({
    code: 'ERR_ABORTED',
    cause: 1,
  })
  expect(events.length).toBe(before)
  expect(published).toHaveLength(1)
  expect(owner.retained?.pid).toBe(value.pid)
})

test('secrets, controls and depths that no start could take cost no worker, in a batch neither [R-01, R-05]', async () => {
  await using held = ownerOf()
  const { owner, events, published } = held
  const { value } = await owner.run(attemptOf())
  const before = events.length
  const channel = { name: 'token', by: 'variable', variable: 'TOKEN' } as const
  const secret = partsOf({}, { launch: { ...reused(), secretChannels: [channel] } })
  const nested = (levels: number) => Array.from({ length: levels }).reduce((inner) => [inner], 1) as JsonValue
  const warm = { worker: partsOf({ warmUps: 1 }), warmUps: { slots: [nested(101)], run: work, validate: work } }
  const long = reused()
  const cases: [changes: object, facts: object][] = [
    [{ secrets: { token: 'barbar' } }, { channel: 'token' }],
    [{ worker: secret }, { field: 'secrets.token' }],
    [{ worker: secret, secrets: { token: 'x' } }, { field: 'secrets.token' }],
    [{ worker: secret, secrets: { token: 7 } }, { field: 'secrets.token' }],
    [{ worker: secret, secrets: { token: 'abcd\0e' } }, { field: 'secrets.token' }],
    [{ worker: partsOf({ controls: { foo: 1 } as never }) }, { control: 'foo' }],
    [{ worker: partsOf({ controls: { nice: 'x' as never } }) }, { field: 'worker.policy.controls.nice' }],
    [{ worker: partsOf({ controls: { limits: { core: -5 } } }) }, { field: 'worker.policy.controls.limits.core.soft' }],
    [{ worker: partsOf({ controls: { limits: new Map() as never } }) }, { field: 'worker.policy.controls.limits' }],
    [{ worker: partsOf({ requirements: { foo: 'required' } as never }) }, { field: 'worker.policy.requirements.foo' }],
    [
      { worker: partsOf({ requirements: { processGroups: 'maybe' as never } }) },
      { field: 'worker.policy.requirements.processGroups' },
    ],
    [{ worker: partsOf({}, { launch: { ...long, args: ['x'.repeat(200_000)] } }) }, { field: 'args[0]' }],
    [{ slot: nested(101) }, { field: expect.stringMatching(/^slot\[0\]/) as string }],
    [warm, { field: expect.stringMatching(/^warmUps\.slots\[0\]/) as string }],
  ]
  await using lanes = new WorkerLanes({ lanes: 1, executor: localExecutor() })
  for (const [changes, facts] of cases) {
    const bad = { ...attemptOf(), ...changes } as Attempt<Facts>
    expect(await rejection(owner.run(bad)), JSON.stringify(facts)).toMatchObject({ details: facts })
    expect(await rejection(lanes.run([attemptOf(), bad]))).toMatchObject({ details: facts })
  }
  expect(events.length).toBe(before)
  expect(published).toHaveLength(1)
  expect(owner.retained?.pid).toBe(value.pid)
  expect((await owner.run(attemptOf({}, { slot: nested(100) }))).evidence.slot).toEqual(nested(100))
})

test('a second attempt beside a running one is refused and harms it not [R-01]', async () => {
  await using held = ownerOf({ lane: 3 })
  const { owner } = held
  let refused: unknown
  const first = owner.run(
    attemptOf({}, {
      measure: async (session) => {
        refused = await rejection(owner.run(attemptOf({}, { id: 'second' })))
        return await work(session)
      },
    }),
  )
  const { value } = await first
  expect(refused).toMatchObject({ code: 'ERR_OWNER_BUSY', details: { attempt: 'second', lane: 3 } })
  expect((await owner.run(attemptOf())).value.pid).toBe(value.pid)
})

test('an owner keeps its worker while the key is the same, over configurations and batches [R-03, R-26]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  const first = await owner.run(attemptOf())
  expect(owner.retained).toMatchObject({ pid: first.value.pid, slots: 1 })
  for (const specification of ['one', 'one', 'two', 'one']) {
    const { value } = await owner.run(attemptOf({}, { specification, implementationSeed: specification === 'one' ? 7 : 8 }))
    expect(value.pid).toBe(first.value.pid)
  }
  expect(owner.retained).toMatchObject({ pid: first.value.pid, slots: 5 })
  expect(events.filter(({ type }) => type === 'launched')).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'kept')).toHaveLength(4)
})

test('a changed key replaces the worker: the old one is dead before the new one starts [R-06]', async () => {
  const pids: number[] = []
  const executor = localExecutor()
  await using held = ownerOf({
    executor: {
      spawn: async (record, options) => {
        expect(pids.filter(alive)).toEqual([])
        expect(childrenOf()).toEqual([])
        const worker = await executor.spawn(record, options)
        pids.push(worker.pid)
        return worker
      },
    },
  })
  const { owner, events, published } = held
  const first = await owner.run(attemptOf())
  const changed = { worker: partsOf({ settings: { compiler: 'O3' } }, { definition: { name: 'other' } }) }
  const second = await owner.run(attemptOf({}, changed))
  expect(pids).toEqual([first.value.pid, second.value.pid])
  expect(alive(first.value.pid)).toBe(false)
  const { context } = published[1] as { context: { worker_reuse: { replaced: unknown } } }
  const reasons = ['key_changed']
  expect(context.worker_reuse.replaced).toMatchObject({ reasons, changed: ['definition', 'policy'] })
  expect(told(events).slice(-6)).toEqual(['begun', 'replaced', 'launching', 'launched', 'measuring', 'completed'])
})

test('a secret that changed replaces the worker that has the old one [R-06, M-63]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const channel = { name: 'token', by: 'variable', variable: 'TOKEN' } as const
  const worker = partsOf({}, { launch: { ...reused(), secretChannels: [channel] } })
  const withToken = (token: string | Uint8Array) => attemptOf({}, { worker, secrets: { token } })
  const first = await owner.run(withToken('first-secret'))
  expect((await owner.run(withToken(Buffer.from('first-secret')))).value.pid).toBe(first.value.pid)
  const other = await owner.run(withToken('other-secret'))
  expect(other.value.pid).not.toBe(first.value.pid)
  expect(published[2]?.context.worker_reuse.replaced?.reasons).toEqual(['secrets_changed'])
  expect(JSON.stringify(published)).not.toMatch(/first-secret|other-secret/)
})

test('a policy without reuse has a new process for each slot, and none between them [R-07]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const pids = new Set<number>()
  for (let slot = 0; slot < 3; slot++) {
    const { value } = await owner.run(attemptOf({}, { worker: partsOf({ workerReuse: false }) }))
    pids.add(value.pid)
    await expectNothingRetained(owner, value.pid)
  }
  expect(pids.size).toBe(3)
  for (const { context } of published) {
    expect(context.worker_reuse).toMatchObject({ worker: { fresh: true } })
    expect(context.worker_reuse).not.toHaveProperty('replaced')
  }
})

test('an evaluator and a materializer are owned too, fresh for each slot [R-07]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const fresh = { policy: policyOf({ workerReuse: false }), launch: reused() }
  const evaluator = { ...partsOf(), ...fresh, role: 'problem_evaluator' as const }
  const code = async (call: Promise<unknown>) => (await rejection(call)).code
  const { value } = await owner.run({
    ...attemptOf(),
    worker: evaluator,
    measure: async (session) => [
      await code(session.materialize({ source_dir: '/', dataset_parameters: {}, dataset_seed: 1, output_dir: '/' })),
      await code(session.evaluate({ ...evaluation, result_dir: '/nowhere', metrics_path: '/dev/null' })),
    ],
  })
  expect(value).toEqual(['ERR_INVALID_ROLE', 'ERR_WORKER_FAILURE'])
})

const evaluation = { dataset_dir: '/nowhere', problem_contract_id: 'any', problem_parameters: {} }

test('a worker that went while nobody used it is replaced, and costs no attempt [R-24, R-31]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const first = await owner.run(attemptOf())
  process.kill(first.value.pid, 'SIGKILL')
  await until('the exit', () => !alive(first.value.pid))
  const second = await owner.run(attemptOf())
  expect(second.value).toMatchObject({ executes: 1 })
  expect(published[1]?.context.worker_reuse.replaced?.reasons).toEqual(['worker_ended'])
})

test('dispose ends the retained worker, and nothing is run after it [R-43]', async () => {
  await using held = ownerOf({ lane: 1 })
  const { owner } = held
  const { value } = await owner.run(attemptOf())
  await Promise.all([owner[Symbol.asyncDispose](), owner[Symbol.asyncDispose]()])
  await expectNothingRetained(owner, value.pid)
  expect(await rejection(owner.run(attemptOf()))).toMatchObject({ code: 'ERR_OWNER_ENDED', details: { lane: 1 } })
})

test('a scope that is left by a throw ends the retained worker [R-43]', async () => {
  const executor = localExecutor()
  let pid = 0
  const scope = async () => {
    await using owner = new WorkerOwner({ executor })
    pid = (await owner.run(attemptOf())).value.pid
    expect(alive(pid)).toBe(true)
    throw new Error('of the scope')
  }
  await expect(scope()).rejects.toThrow('of the scope')
  expect(alive(pid)).toBe(false)
})

test('dispose ends an attempt that runs, also one whose measure never returns [R-43, P-5]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  let begun = () => {}
  const measuring = new Promise<void>((resolve) => (begun = resolve))
  const running = rejection(owner.run(attemptOf({}, { measure: () => (begun(), new Promise<never>(() => {})) })))
  await measuring
  await owner[Symbol.asyncDispose]()
  expect(await running).toMatchObject({ code: 'ERR_ABORTED', cause: { code: 'ERR_OWNER_ENDED' } })
  expect(published).toMatchObject([{ outcome: 'failed', failure: { code: 'ERR_ABORTED' } }])
  await expectNothingRetained(owner)
})

test('an owner that nobody holds any more takes its worker along [R-43, P-7]', async () => {
  const executor = localExecutor()
  const forgotten = async () => (await new WorkerOwner({ executor }).run(attemptOf())).value.pid
  const pid = await forgotten()
  await until('the end of a forgotten worker', () => {
    globalThis.gc?.()
    return !alive(pid) && childrenOf().length === 0
  })
})

test('the host\'s end is the retained worker\'s [R-43]', async () => {
  const [{ pid }] = (await hostSays(`
    const { WorkerOwner } = require(${JSON.stringify(dist('reuse/worker-owner.js'))})
    const { LocalProcessExecutor } = require(${JSON.stringify(dist('executor.js'))})
    const privateRoot = require('node:fs').mkdtempSync(require('node:os').tmpdir() + '/exactspawn-root-')
    const executor = new LocalProcessExecutor({ privateRoot, logs: { stdoutBytes: 9, stderrBytes: 9 } })
    const owner = new WorkerOwner({ executor })
    const attempt = ${JSON.stringify({ ...attemptOf(), measure: undefined })}
    await owner.run({ ...attempt, measure: async (session) => null })
    say({ pid: owner.retained.pid })
    process.on('exit', () => require('node:fs').rmSync(privateRoot, { recursive: true }))
    process.exit()`)) as [{ pid: number }]
  await until('the end of the worker', () => !alive(pid))
})

function dist(file: string): string {
  return new URL(`../../dist/${file}`, `file://${__filename}`).pathname
}
