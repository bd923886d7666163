/** A slot proves its cleanliness: what it left in the worker replaces the worker, and is told. */
import { expect, test } from 'vitest'
import { checkedPid, endEscapee } from '../process/ends/children.js'
import { alive } from '../support/process-table.js'
import { until } from '../support/until.js'
import type { Acts } from '../support/owner.js'
import { attemptOf, expectNothingRetained, heard, localExecutor, ownerOf, warmedAttempt } from '../support/owner.js'
import { rejection } from '../support/worker.js'

const memberIn = (bytes: Uint8Array): number => {
  return checkedPid(Number(/^member (\d+)$/m.exec(Buffer.from(bytes).toString())?.[1]))
}

test.each<[reason: string, acts: Acts]>([
  ['processes_left', { execute: ['member'] }],
  ['processes_left', { reset: ['member'] }],
  ['cwd_changed', { execute: [['chdir', '/usr']] }],
  ['descriptors_left', { execute: [['open', '/etc/passwd']] }],
  ['descriptors_left', { reset: [['open', '/dev/null']] }],
  ['late_bytes', { reset: ['late'] }],
])('%s by %o: the next slot has another worker, and says why [R-12, B053, B122]', async (reason, acts) => {
  await using held = ownerOf()
  const { owner, events, published } = held
  const first = await owner.run(attemptOf(acts))
  const second = await owner.run(attemptOf())
  expect(second.value).toMatchObject({ executes: 1 })
  expect(second.value.pid).not.toBe(first.value.pid)
  expect(alive(first.value.pid)).toBe(false)
  const { replaced, startup, worker } = second.evidence.context.worker_reuse
  const { instance } = first.evidence.context.worker_reuse.worker as { instance: string }
  expect(replaced).toEqual({ instance, reasons: [reason], changed: [] })
  expect(startup).toBeDefined()
  expect(worker).toMatchObject({ fresh: true, slot_ordinal: 1 })
  expect(events.find(({ type }) => type === 'replaced')).toMatchObject({ reasons: [reason] })
  expect(published).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }])
})

test('all that was left is told together, and a member dies with the worker it belonged to [R-12, B053]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const acts = { execute: ['member', ['chdir', '/'], ['open', '/dev/null']], reset: ['late'] }
  const first = await owner.run(attemptOf({}, { measure: heard(acts, /^member \d+\n/m) }))
  const member = memberIn(first.logs.stdout.bytes)
  expect(alive(member)).toBe(true)
  const second = await owner.run(attemptOf())
  await until('the end of the member', () => !alive(member))
  const reasons = ['processes_left', 'cwd_changed', 'descriptors_left', 'late_bytes']
  expect(second.evidence.context.worker_reuse.replaced?.reasons).toEqual(reasons)
  expect(published).toHaveLength(2)
})

test('a worker that was replaced is warmed up anew, from index 0 [R-23]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const indices = (evidence: { context: { worker_reuse: { warmups_on_this_attempt: readonly { index: number }[] } } }) =>
    evidence.context.worker_reuse.warmups_on_this_attempt.map(({ index }) => index)
  const attempt = warmedAttempt([{}, {}])
  const leaving = { ...attempt, measure: attemptOf({ execute: ['member'] }).measure }
  expect(indices((await owner.run(leaving)).evidence)).toEqual([0, 1])
  expect(indices((await owner.run({ ...attempt, id: 'b' })).evidence)).toEqual([0, 1])
  expect(indices((await owner.run({ ...attempt, id: 'c' })).evidence)).toEqual([])
})

test('a warm-up that leaves something fails its attempt: another worker would be no cleaner [R-21, R-30]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  const error = await rejection(owner.run(warmedAttempt([{}, { execute: ['member'] }])))
  expect(error).toMatchObject({
    code: 'ERR_WARM_UP_FAILED',
    details: { warmUpIndex: 1 },
    cause: { code: 'ERR_SLOT_NOT_CLEAN', details: { left: ['processes_left'] } },
  })
  expect(events.filter(({ type }) => type === 'launching')).toHaveLength(1)
  await expectNothingRetained(owner)
})

test('what comes too late belongs to no other slot: the request that finds it ends the worker [B122, R-24]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const first = await owner.run(attemptOf({ execute: ['late'] }))
  const error = await rejection(owner.run(attemptOf()))
  expect(error).toMatchObject({ code: 'ERR_RESET_FAILED', cause: { code: 'ERR_RESPONSE_EXTRA', details: { id: '77' } } })
  await expectNothingRetained(owner, first.value.pid)
})

test('a job that was aborted answers nobody: the next one has its own worker and its own words [B122]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const signal = AbortSignal.timeout(100)
  const late = { execute: [['sleep', 0.5], ['say', 'of the first job']] }
  expect(await rejection(owner.run(attemptOf(late), { signal }))).toMatchObject({ code: 'ERR_ABORTED' })
  const second = await owner.run(attemptOf({ execute: [['sleep', 0.6]] }))
  expect(second.value.executes).toBe(1)
  expect(Buffer.from(second.logs.stdout.bytes).toString()).not.toContain('first job')
})

test('a process that has left the group is neither found nor ended here: that is said, not hidden [R-15]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const first = await owner.run(attemptOf({}, { measure: heard({ execute: ['escape'] }, /^escapee \d+\n/m) }))
  const pid = checkedPid(Number(/escapee (\d+)/.exec(Buffer.from(first.logs.stdout.bytes).toString())?.[1]))
  try {
    expect((await owner.run(attemptOf())).value.pid).toBe(first.value.pid)
    expect(alive(pid)).toBe(true)
  } finally {
    endEscapee(pid, 'reused.py')
  }
})

test('the executor of local workers says that it isolates none from the host [R-15]', async () => {
  const { lines } = await localExecutor().preflight()
  const said = Object.fromEntries(lines.map(({ capability, status, reason }) => [capability, { status, reason }]))
  expect(said['filesystemIsolation']).toMatchObject({ status: 'unsupported' })
  expect(said['completeProcessTreeContainment']).toMatchObject({ status: 'unsupported' })
  expect(said['filesystemIsolation']?.reason).toContain('restricts no access')
})
