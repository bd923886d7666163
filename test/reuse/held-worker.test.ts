/** What an owner holds: a worker while a process may be there, and nothing that is not one. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LifecycleError } from '../../lib/base/errors.js'
import { LocalProcessExecutor } from '../../lib/executor.js'
import type { OwnerExecutor } from '../../lib/reuse/worker-start.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import type { PosixWorkerProcess } from '../../lib/worker.js'
import { alive, childrenOf } from '../support/process-table.js'
import { timed, until, within } from '../support/until.js'
import { attemptOf, expectNothingRetained, gate, localExecutor, logs, ownerOf, partsOf, told } from '../support/owner.js'
import { abuse, record, rejection } from '../support/worker.js'

const replacedIn = (evidence: AttemptEvidence | undefined) => evidence?.context.worker_reuse.replaced
const instanceIn = (evidence: AttemptEvidence) => evidence.context.worker_reuse.worker?.instance as string

interface MovableRoot {
  readonly executor: LocalProcessExecutor
  moveAway(): void
  moveBack(): void
}

/**
 * Runs a scenario with a private root that can be moved away: nothing beneath it can be removed then, whoever the host
 * is. All of it is gone when nothing holds what the scenario held: errors and their stacks hold what they came from.
 */
async function withMovableRoot(scenario: (root: MovableRoot) => Promise<void>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  const moved = `${root}-moved`
  onTestFinished(() => {
    rmSync(root, { recursive: true, force: true })
    rmSync(moved, { recursive: true, force: true })
    expect(childrenOf()).toEqual([])
  })
  const executor = new LocalProcessExecutor({ privateRoot: root, logs })
  await scenario({ executor, moveAway: () => renameSync(root, moved), moveBack: () => renameSync(moved, root) })
  // The handle of a directory that stays goes with its worker, and takes the directory along.
  await until('the last directory', () => (globalThis.gc?.(), readdirSync(root).length === 0))
}

test('a directory that cannot be removed is told once, and costs no later attempt its worker [R-24, R-31]', async () => {
  await withMovableRoot(async ({ executor, moveAway, moveBack }) => {
    await using held = ownerOf({ executor })
    const { owner, published } = held
    const first = await owner.run(attemptOf())
    const measure = async () => {
      moveAway()
      throw new Error('mine')
    }
    const error = await rejection(owner.run(attemptOf({}, { measure })))
    const stayed = { code: 'ERR_PRIVATE_ROOT_UNAVAILABLE' }
    expect(error).toMatchObject({ message: 'mine', suppressed: [stayed] })
    expect(published[1]).toMatchObject({ failure: { suppressed: [stayed] } })
    await expectNothingRetained(owner, first.value.pid)
    moveBack()
    const next = await owner.run(attemptOf())
    expect(next.value.executes).toBe(1)
    expect(replacedIn(next.evidence)).toMatchObject({ reasons: ['earlier_failure'] })
    expect(next.evidence).toMatchObject({ outcome: 'completed' })
  })
})

test('a worker that has to go and leaves its directory fails that attempt alone [R-06, R-24]', async () => {
  await withMovableRoot(async ({ executor, moveAway, moveBack }) => {
    await using held = ownerOf({ executor })
    const { owner, published } = held
    const first = await owner.run(attemptOf())
    const other = partsOf({}, { definition: 'other' })
    moveAway()
    expect(await rejection(owner.run(attemptOf({}, { worker: other })))).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE' })
    const changed = { instance: instanceIn(first.evidence), reasons: ['key_changed'], changed: ['definition'] }
    expect(replacedIn(published[1])).toEqual(changed)
    moveBack()
    // The worker that has gone was told already.
    expect(replacedIn((await owner.run(attemptOf({}, { worker: other }))).evidence)).toBe(undefined)
  })
})

test('dispose tells a directory that stays, and a second one has nothing to do [R-43]', async () => {
  await withMovableRoot(async ({ executor, moveAway, moveBack }) => {
    const { owner } = ownerOf({ executor })
    const { value } = await owner.run(attemptOf())
    moveAway()
    expect(await rejection(owner[Symbol.asyncDispose]())).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE' })
    expect(alive(value.pid)).toBe(false)
    await owner[Symbol.asyncDispose]()
    moveBack()
  })
})

/** Workers that cannot be ended for a while, as in uninterruptible sleep: the kill is held back. */
function unendable() {
  const executor = localExecutor()
  let stuck = true
  const spawn: OwnerExecutor['spawn'] = async (launched, options) => {
    const worker = await executor.spawn(launched, options)
    const end = worker[Symbol.asyncDispose].bind(worker)
    const dispose = async () => {
      if (stuck) throw new LifecycleError('ERR_TERMINATION_DEADLINE', { killDeadlineMs: 1_000 })
      await end()
    }
    return Object.defineProperty(worker, Symbol.asyncDispose, { value: dispose })
  }
  return { executor: { spawn }, release: () => (stuck = false) }
}

test('a worker that could not be ended is used no more, and none is started beside it [R-06, R-24]', async () => {
  const { executor, release } = unendable()
  await using held = ownerOf({ executor })
  const { owner, events, published } = held
  const first = await owner.run(attemptOf())
  const failing = attemptOf({}, { measure: () => Promise.reject(new Error('mine')) })
  const deadline = { code: 'ERR_TERMINATION_DEADLINE' }
  expect(await rejection(owner.run(failing))).toMatchObject({ message: 'mine', suppressed: [deadline] })
  expect(owner.retained).toBe(null)
  expect(await rejection(owner.run(attemptOf()))).toMatchObject(deadline)
  expect(events.filter(({ type }) => type === 'launching')).toHaveLength(1)
  expect(published[2]).not.toHaveProperty('logs')
  expect(await rejection(owner[Symbol.asyncDispose]())).toMatchObject(deadline)
  expect(alive(first.value.pid)).toBe(true)
  release()
  await owner[Symbol.asyncDispose]()
  await expectNothingRetained(owner, first.value.pid)
})

test('a worker that could be ended at last makes room for another, which tells it [R-06, R-31, R-33]', async () => {
  const { executor, release } = unendable()
  await using held = ownerOf({ executor })
  const { owner } = held
  const first = await owner.run(attemptOf())
  await rejection(owner.run(attemptOf({}, { measure: () => Promise.reject(new Error('mine')) })))
  release()
  const next = await owner.run(attemptOf())
  expect(replacedIn(next.evidence)).toEqual({ instance: instanceIn(first.evidence), reasons: ['earlier_failure'], changed: [] })
  expect(alive(first.value.pid)).toBe(false)
})

test('a worker that a failure cost is told by the next launch, and by no other [R-33]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const worker = partsOf({ workerReuse: false })
  await rejection(owner.run(attemptOf({ execute: ['fail'] }, { worker })))
  const tellings = []
  for (let slot = 0; slot < 3; slot++) tellings.push(replacedIn((await owner.run(attemptOf({}, { worker }))).evidence)?.reasons)
  expect(tellings).toEqual([['earlier_failure'], undefined, undefined])
  // Told by a launch that came to nothing, it is told.
  await rejection(owner.run(attemptOf({ execute: ['fail'] }, { worker })))
  const missing = partsOf({ workerReuse: false }, { launch: record('/no/such/program', []) })
  await rejection(owner.run(attemptOf({}, { worker: missing })))
  await owner.run(attemptOf({}, { worker }))
  expect(published.slice(-2).map((evidence) => replacedIn(evidence)?.reasons)).toEqual([['earlier_failure'], undefined])
})

test('a launch that fails in place of a worker that was not clean has neither its name nor its words [R-33]', async () => {
  const executor = localExecutor()
  let launches = 0
  const spawn: OwnerExecutor['spawn'] = async (launched, options) => {
    if (launches++ > 0) throw new Error('no more')
    return await executor.spawn(launched, options)
  }
  await using held = ownerOf({ executor: { spawn } })
  const { owner, published } = held
  const first = await owner.run(attemptOf({ execute: ['member'] }))
  expect(await rejection(owner.run(attemptOf()))).toMatchObject({ message: 'no more' })
  expect(published[1]?.context.worker_reuse).toEqual({
    cache_policy: 'no_persistent_caches',
    replaced: { instance: instanceIn(first.evidence), reasons: ['processes_left'], changed: [] },
    warmups_on_this_attempt: [],
  })
  expect(published[1]).not.toHaveProperty('logs')
})

test('a worker that has died is none that is retained [R-24]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const { value } = await owner.run(attemptOf())
  expect(owner.retained).toMatchObject({ pid: value.pid })
  process.kill(value.pid, 'SIGKILL')
  await until('its end', () => owner.retained === null)
})

test.each(['abort', 'dispose'])('%s ends a worker that hangs in its shutdown [R-24, R-43, P-5]', async (how) => {
  await using held = ownerOf()
  const { owner, published } = held
  const abort = new AbortController()
  const worker = partsOf({ workerReuse: false }, { launch: abuse('sleeps', 'shutdown') })
  let pid = 0
  const measure = async ({ pid: own }: { pid: number }) => ((pid = own), null as never)
  const running = rejection(owner.run(attemptOf({}, { worker, measure }), { signal: abort.signal }))
  await until('the measuring', () => pid !== 0)
  await new Promise((resolve) => setTimeout(resolve, 50)) // waits: nobody tells that the request of the shutdown is written
  const { ms } = await timed(async () => {
    if (how === 'abort') abort.abort('enough')
    else await owner[Symbol.asyncDispose]()
    expect(await running).toMatchObject({ code: 'ERR_ABORTED' })
  })
  expect(ms).toBeLessThan(within(2_000))
  expect(published).toMatchObject([{ outcome: 'failed', failure: { code: 'ERR_ABORTED' } }])
  await expectNothingRetained(owner, pid)
})

test('dispose waits for the attempt that runs: a start that is under way is taken back first [R-43]', async () => {
  const executor = localExecutor()
  const { open, opened } = gate()
  const order: string[] = []
  const spawn: OwnerExecutor['spawn'] = async (launched, options) => {
    open()
    const start = executor.spawn(launched, options)
    await start.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 100)) // waits: it stands for an executor that takes its time
    order.push('started or taken back')
    return await start
  }
  const { owner } = ownerOf({ executor: { spawn } })
  const running = rejection(owner.run(attemptOf()))
  await opened
  await owner[Symbol.asyncDispose]()
  order.push('disposed')
  expect(order).toEqual(['started or taken back', 'disposed'])
  expect(await running).toMatchObject({ code: 'ERR_ABORTED' })
  await expectNothingRetained(owner)
})

test('an executor gets the signal of its attempt, and its requirements and controls [R-05, R-24, R-44]', async () => {
  const { open, opened } = gate()
  const asked: unknown[] = []
  const spawn: OwnerExecutor['spawn'] = (_, { signal, requirements, controls } = {}) => {
    asked.push({ requirements, controls })
    open()
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  await using held = ownerOf({ executor: { spawn } })
  const { owner } = held
  const abort = new AbortController()
  const worker = partsOf({ requirements: { processGroups: 'required' }, controls: { nice: 1 } })
  const running = rejection(owner.run(attemptOf({}, { worker }), { signal: abort.signal }))
  await opened
  const reason = new Error('enough')
  abort.abort(reason)
  expect(await running).toBe(reason)
  expect(asked).toEqual([{ requirements: { processGroups: 'required' }, controls: { nice: 1 } }])
})

test('the limits of a policy are those of its worker [R-05, R-44]', async () => {
  await using held = ownerOf()
  const launch = record('/bin/sh', ['-c', 'ulimit -n; ulimit -n >&2'])
  const worker = partsOf({ controls: { limits: { nofile: 77 } } }, { launch })
  await rejection(held.owner.run(attemptOf({}, { worker })))
  const { stdout } = held.published[0]?.logs as { stdout: { bytes_base64: string } }
  expect(Buffer.from(stdout.bytes_base64, 'base64').toString()).toBe('77\n')
})

test('an abort ends a worker that has not greeted yet [R-24, R-43]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const abort = new AbortController()
  const worker = partsOf({}, { launch: abuse('sleeps', 'hello') })
  const running = rejection(owner.run(attemptOf({}, { worker }), { signal: abort.signal }))
  await until('the process', () => childrenOf().length === 1)
  abort.abort('enough')
  expect(await running).toMatchObject({ code: 'ERR_ABORTED', cause: 'enough' })
  await expectNothingRetained(owner)
})

test('an executor that heeds no abort is left behind, and a worker that it gives later is ended [R-24, P-5]', async () => {
  const executor = localExecutor()
  const { open, opened } = gate()
  const asked = gate()
  const late: PosixWorkerProcess[] = []
  const spawn: OwnerExecutor['spawn'] = async (launched, { signal: _signal, ...options } = {}) => {
    asked.open()
    await opened
    const worker = await executor.spawn(launched, options)
    late.push(worker)
    return worker
  }
  const { owner } = ownerOf({ executor: { spawn } })
  const running = rejection(owner.run(attemptOf()))
  await asked.opened
  await owner[Symbol.asyncDispose]()
  expect(await running).toMatchObject({ code: 'ERR_ABORTED' })
  open()
  await until('the end of the late worker', () => late[0]?.tryWait())
})

test('what an executor gives and is no worker is refused by name [R-24]', async () => {
  for (const given of [undefined, {}, { pid: 1 }]) {
    await using held = ownerOf({ executor: { spawn: async () => given as never } })
    const error = await rejection(held.owner.run(attemptOf()))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'executor.spawn()' } })
    expect(told(held.events)).toEqual(['begun', 'launching', 'failed'])
  }
})
