/** What happens to a worker between two slots, and in which order. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PRIVATE_PLACES } from '../../lib/worker/worker-environment.js'
import type { PosixWorkerProcess } from '../../lib/worker.js'
import { tmpFolder } from '../support/tmp.js'
import { timed, until, within } from '../support/until.js'
import type { Acts } from '../support/owner.js'
import { attemptOf, expectNothingRetained, localExecutor, ownerOf, partsOf, phaseLimits, told, work } from '../support/owner.js'
import { rejection } from '../support/worker.js'

/** An owner whose workers can be looked at from outside. */
function watched() {
  const workers: PosixWorkerProcess[] = []
  const executor = localExecutor()
  const spawn: typeof executor.spawn = async (record, options) => {
    const worker = await executor.spawn(record, options)
    workers.push(worker)
    return worker
  }
  const directory = () => workers.at(-1)?.workingDirectory as string
  return { ...ownerOf({ executor: { spawn } }), directory }
}

test('a slot that waits longer than the last one was given is not ended by that one\'s deadline [R-08]', async () => {
  await using held = ownerOf()
  const { owner } = held
  // Long enough for a slot that does nothing.
  const limitMs = within(200)
  const first = await owner.run(attemptOf({}, { timeoutMs: limitMs }))
  const { result, ms } = await timed(() => owner.run(attemptOf({ execute: [['sleep', (2 * limitMs) / 1000]] })))
  expect(ms).toBeGreaterThan(2 * limitMs)
  expect(result.value).toMatchObject({ pid: first.value.pid, executes: 2 })
})

test('a deadline of a slot that is over does not reach into the reset [R-08]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const timeoutMs = within(200)
  const first = await owner.run(attemptOf({ reset: [['sleep', (timeoutMs + 100) / 1000]] }, { timeoutMs }))
  expect((await owner.run(attemptOf({}, { timeoutMs }))).value.pid).toBe(first.value.pid)
})

test('a slot that is not done at its deadline is ended with its worker [R-08, R-24]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const limitMs = 300
  const attempt = attemptOf({ execute: [['sleep', 30]] }, { timeoutMs: limitMs })
  const { result, ms } = await timed(() => rejection(owner.run(attempt)))
  expect(result).toMatchObject({ code: 'ERR_SLOT_DEADLINE', details: { limitMs } })
  expect(ms).toBeGreaterThanOrEqual(limitMs)
  expect(ms).toBeLessThan(within(2_000))
  expect(published).toMatchObject([{ outcome: 'failed', failure: { code: 'ERR_SLOT_DEADLINE' } }])
  await expectNothingRetained(owner)
})

test('a reset has its own limit, whatever time the slot has [R-09, R-32]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const worker = partsOf({ timeouts: phaseLimits({ reset: 200 }) })
  const { value } = await owner.run(attemptOf({ reset: [['sleep', 30]] }, { worker, timeoutMs: 60_000 }))
  const error = await rejection(owner.run(attemptOf({}, { worker, timeoutMs: 60_000 })))
  expect(error).toMatchObject({
    code: 'ERR_RESET_FAILED',
    details: { pid: value.pid },
    cause: { code: 'ERR_PHASE_TIMEOUT', details: { phase: 'reset', limitMs: 200 } },
  })
  await expectNothingRetained(owner, value.pid)
})

test('reset, directory and check come in that order, before the next slot and not after the last [R-08, R-12]', async () => {
  const { owner, events, directory, ...scope } = watched()
  await using _ended = scope
  await owner.run(attemptOf({ execute: ['litter'] }))
  expect(told(events)).toEqual(['begun', 'launching', 'launched', 'measuring', 'completed'])
  expect(readdirSync(directory())).toContain('marker')
  events.length = 0
  // The worker sees its files still there at its reset, and gone in the next slot.
  const { value } = await owner.run(attemptOf())
  expect(value.found).toEqual([])
  expect(told(events)).toEqual(['begun', 'reset', 'directory', 'check', 'kept', 'measuring', 'completed'])
})

test('a worker finds its files at its reset: they go after it [R-12]', async () => {
  const { owner, directory, ...scope } = watched()
  await using _ended = scope
  const outside = join(tmpFolder(), 'seen')
  await owner.run(attemptOf({ execute: ['litter'], reset: [['list', outside]] }))
  await owner.run(attemptOf())
  expect(readFileSync(outside, 'utf8')).toContain('marker')
  expect(readdirSync(directory())).not.toContain('marker')
})

test('nothing that can be written stays from slot to slot: not in the home, nor in any cache [R-10, R-11, R-16]', async () => {
  const { owner, directory, ...scope } = watched()
  await using _ended = scope
  const first = await owner.run(attemptOf({ execute: ['litter'] }))
  for (const place of Object.values(PRIVATE_PLACES)) writeFileSync(join(directory(), place, 'of-the-host'), '')
  const inode = statSync(directory()).ino
  const second = await owner.run(attemptOf())
  expect(second.value).toMatchObject({ pid: first.value.pid, found: [] })
  expect(statSync(directory()).ino).toBe(inode)
  for (const place of Object.values(PRIVATE_PLACES)) {
    const path = join(directory(), place)
    expect([place, statSync(path).mode & 0o7777]).toEqual([place, 0o700])
    expect(readdirSync(path)).not.toContain('of-the-host')
  }
})

test.each([0o777, 0o000, 0o7777, 0o1700])('a directory that the worker made %i is its owner\'s alone again [R-13]', async (mode) => {
  const { owner, directory, ...scope } = watched()
  await using _ended = scope
  await owner.run(attemptOf({ execute: [['chmod', mode]] }))
  expect(statSync(directory()).mode & 0o7777).toBe(mode)
  await owner.run(attemptOf())
  expect(statSync(directory()).mode & 0o7777).toBe(0o700)
})

test('what a worker\'s link leads to is not touched [R-14]', async () => {
  const canary = tmpFolder()
  writeFileSync(join(canary, 'stays'), '')
  const { owner, directory, ...scope } = watched()
  await using _ended = scope
  await owner.run(attemptOf({ execute: [['link', canary], ['link', '/']] }))
  expect(readdirSync(directory()).filter((name) => name.startsWith('link-'))).toHaveLength(2)
  await owner.run(attemptOf())
  expect(readdirSync(directory()).filter((name) => name.startsWith('link-'))).toEqual([])
  expect(readdirSync(canary)).toEqual(['stays'])
})

test('a directory that cannot be cleaned fails the pending attempt, and no slot starts [R-10, R-12, R-24]', async () => {
  const { owner, directory, events, ...scope } = watched()
  await using _ended = scope
  const first = await owner.run(attemptOf({ execute: ['move'] }))
  const moved = `${directory()}-moved`
  events.length = 0
  let measured = 0
  const pending = attemptOf({}, { measure: (session) => (measured++, work(session)) })
  expect(await rejection(owner.run(pending))).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { path: directory(), failures: [{ errno: 'ESTALE' }] },
  })
  expect(measured).toBe(0)
  expect(told(events)).toEqual(['begun', 'reset', 'directory', 'failed'])
  await expectNothingRetained(owner, first.value.pid)
  expect(dirname(moved)).toBe(dirname(directory()))
  rmSync(moved, { recursive: true })
})

test('a failed reset fails the pending attempt, once, and the next one has a new worker [R-24, R-31, R-32]', async () => {
  await using held = ownerOf()
  const { owner, published, events } = held
  const first = await owner.run(attemptOf({ reset: ['fail'] }))
  let measured = 0
  const pending = attemptOf({}, { measure: (session) => (measured++, work(session)) })
  expect(await rejection(owner.run(pending))).toMatchObject({
    code: 'ERR_RESET_FAILED',
    cause: { code: 'ERR_WORKER_FAILURE', details: { phase: 'reset', workerCode: 'operation_failed' } },
  })
  expect(measured).toBe(0)
  await expectNothingRetained(owner, first.value.pid)
  expect(events.filter(({ type }) => type === 'launching')).toHaveLength(1)
  const third = await owner.run(attemptOf())
  expect(third.value.pid).not.toBe(first.value.pid)
  expect(published.map(({ outcome }) => outcome)).toEqual(['completed', 'failed', 'completed'])
  // It says which worker failed it, and what that one said.
  const { instance } = first.evidence.context.worker_reuse.worker as { instance: string }
  expect(published[1]?.context.worker_reuse.worker).toEqual({ instance, fresh: false, slot_ordinal: 0 })
  expect(published[1]).toHaveProperty('logs.scope', 'worker_lifetime_to_snapshot')
  expect(published[2]?.context.worker_reuse.replaced).toEqual({ instance, reasons: ['earlier_failure'], changed: [] })
})

test.each<[string, Acts['reset']]>([
  ['dies in', ['crash']],
  ['leaves in', [['exit', 0]]],
])('a worker that %s its reset fails the pending attempt [R-24, R-32]', async (_, reset) => {
  await using held = ownerOf()
  const { owner } = held
  const first = await owner.run(attemptOf({ reset: reset as unknown[] }))
  expect(await rejection(owner.run(attemptOf()))).toMatchObject({ code: 'ERR_RESET_FAILED' })
  await expectNothingRetained(owner, first.value.pid)
})

test('what the interpreter remembers is cleared by the worker\'s own reset, and only by that [R-17]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const remembered = async (acts: Acts) => (await owner.run(attemptOf(acts))).value.remembered
  expect([await remembered({ keep: true }), await remembered({ keep: true }), await remembered({})]).toEqual([1, 2, 3])
  expect(await remembered({})).toBe(1)
})

test('an abort during the clean-up is an abort, and costs the worker [R-24, R-43]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  const first = await owner.run(attemptOf({ reset: [['sleep', 30]] }))
  const abort = new AbortController()
  const running = rejection(owner.run(attemptOf(), { signal: abort.signal }))
  await until('the reset', () => told(events).at(-1) === 'reset')
  abort.abort('enough')
  expect(await running).toMatchObject({ code: 'ERR_ABORTED', cause: 'enough' })
  await expectNothingRetained(owner, first.value.pid)
})
