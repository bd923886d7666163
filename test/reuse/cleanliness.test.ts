/** A slot proves its cleanliness: what it left in the worker replaces the worker, and is told. */
import { expect, test } from 'vitest'
import { checkedPid, endEscapee } from '../process/ends/children.js'
import { alive, processFacts } from '../support/process-table.js'
import { until } from '../support/until.js'
import type { Acts } from '../support/owner.js'
import { attemptOf, expectNothingRetained, heard, localExecutor, ownerOf, partsOf, told, warmedAttempt } from '../support/owner.js'
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
  // Before the reset, in its place, and as a beginning that makes nonsense of its answer.
  ['late_bytes', { execute: ['late'] }],
  ['late_bytes', { execute: ['late-half'] }],
  ['late_bytes', { reset: ['stray'] }],
  ['late_bytes', { reset: ['half-frame'] }],
  ['late_bytes', { reset: ['no-frame'] }],
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

test('a worker that stands in a directory it made, which is gone with the clean-up, has left another place [R-12]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const first = await owner.run(attemptOf({ execute: [['into', 'new']] }))
  const second = await owner.run(attemptOf())
  expect(second.value.pid).not.toBe(first.value.pid)
  expect(second.evidence.context.worker_reuse.replaced?.reasons).toEqual(['cwd_changed'])
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

test('what comes at any moment after a slot costs the next one nothing: it has its own reply [B122, R-24]', async () => {
  await using held = ownerOf()
  const { owner, events } = held
  for (let ms = 0; ms < 8; ms++) {
    // Its first slot, or another one's stray would be found by it.
    await owner.run(attemptOf({}, { specification: `${ms}`, worker: partsOf({}, { definition: ms }) }))
    const late = attemptOf({ execute: [['later', ms / 1_000]] }, { worker: partsOf({}, { definition: ms }) })
    // One that comes within its own slot is that slot's failure.
    if ((await owner.run(late).then(() => 'ended', () => 'failed')) === 'failed') continue
    events.length = 0
    const next = await owner.run(attemptOf({}, { worker: partsOf({}, { definition: ms }) })).catch((error: unknown) => error)
    // Found while the reset was under way or at the check; or it came only after that, in the slot itself.
    const reasons = events.flatMap((event) => (event.type === 'replaced' ? event.reasons : []))
    if (next instanceof Error) expect(told(events)).toContain('measuring')
    else if (reasons.length > 0) expect(reasons).toEqual(['late_bytes'])
    expect(next).not.toMatchObject({ code: 'ERR_RESET_FAILED' })
  }
})

test('a worker that dies between its reset and the check is replaced, and told as gone [R-12, R-24]', async () => {
  let pid = 0
  await using held = ownerOf({
    onEvent: (event) => {
      if (event.type !== 'cleaning' || event.step !== 'directory') return
      process.kill(pid, 'SIGKILL')
      // Here nothing else runs: it is dead before the directory is emptied.
      while (processFacts(pid)?.state !== 'Z');
    },
  })
  const { owner } = held
  pid = (await owner.run(attemptOf())).value.pid
  const second = await owner.run(attemptOf())
  expect(second.value.executes).toBe(1)
  expect(second.evidence.context.worker_reuse.replaced?.reasons).toEqual(['worker_ended'])
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
