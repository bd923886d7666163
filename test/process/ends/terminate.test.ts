/** terminate: a first signal, a grace for the whole group, SIGKILL, a last deadline. */
import type { Child } from 'exactspawn'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { alive, groupMembers, processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import { announced, fixture, gone, logged, logText, shell, signalGroup } from './children.js'

const stopped = (child: Child) => until('stopped', () => processFacts(child.pid)?.state === 'T')

test('a plan that is none is refused, and nothing is sent [M-78]', async () => {
  await using child = await shell('exec sleep 60')
  const plans = [{ graceMs: -1 }, { graceMs: Number.NaN }, { killDeadlineMs: -1 }, { killDeadlineMs: 0.5 }]
  for (const plan of plans) await expect(child.terminate(plan)).rejects.toMatchObject({ code: 'ERR_INVALID_SPEC' })
  expect(child.tryWait()).toBeNull()
})

test('terminate sends its first signal to the whole group [M-78]', async () => {
  const child = await fixture('trap INT int; 0 -- fork-pause 2 -- pause')
  const members = await announced(child, 2)
  await logged(child, 'ready')
  const exit = await child.terminate({ firstSignal: 'SIGINT', graceMs: 10_000 })
  expect(exit.logs[1]?.text().split('int;')).toHaveLength(4)
  expect(members.filter(alive)).toEqual([])
  expect(exit).toMatchObject({ code: 0, signal: null, endedBy: 'terminate', escalated: false, groupLeft: 0 })
})

test('SIGTERM comes first unless another signal is named [M-78]', async () => {
  const child = await shell('exec sleep 60')
  expect(await child.terminate()).toMatchObject({ signal: 'SIGTERM', endedBy: 'terminate', escalated: false })
})

test('terminate ends as soon as all are gone, not when the grace is over [M-79]', async () => {
  const child = await fixture('fork-pause 2 -- pause')
  await announced(child, 2)
  const { result, ms } = await timed(() => child.terminate({ graceMs: 20_000 }))
  expect(result.escalated).toBe(false)
  expect(ms).toBeLessThan(within(2_000))
})

test('a child that ignores the first signal has all of its grace and dies by SIGKILL [M-79, M-81, B069]', async () => {
  const child = await shell('trap "" TERM; echo up; while :; do sleep 1; done')
  await logged(child, 'up')
  const { result, ms } = await timed(() => child.terminate({ graceMs: 300 }))
  expect(result).toMatchObject({ code: null, signal: 'SIGKILL', endedBy: 'terminate', escalated: true })
  expect(ms).toBeGreaterThanOrEqual(300)
  expect(ms).toBeLessThan(within(1_300))
  expect(groupMembers(child.pid)).toEqual([])
  expect(child.kill()).toBe(false)
  expect(child.signal('SIGTERM')).toBe(false)
})

test('a grace of nothing is a kill right after the first signal [M-79]', async () => {
  const child = await fixture('ignore TERM -- pause')
  await logged(child, 'ready')
  const { result, ms } = await timed(() => child.terminate({ graceMs: 0 }))
  expect(result).toMatchObject({ signal: 'SIGKILL', escalated: true })
  expect(ms).toBeLessThan(within(500))
})

test('a member that ignores the first signal has its grace and dies, though the leader has gone [M-80]', async () => {
  const child = await fixture('fork-ignore TERM 60000 -- pause')
  const [member] = (await announced(child, 1)) as [number]
  // A wait settles a group at once; while a ladder runs the group is the ladder's.
  const waited = child.wait()
  // Long enough for the leader to end by the first signal.
  const graceMs = within(150)
  const { result, ms } = await timed(() => child.terminate({ graceMs }))
  expect(ms).toBeGreaterThanOrEqual(graceMs)
  expect(alive(member)).toBe(false)
  expect(result).toMatchObject({ signal: 'SIGTERM', endedBy: 'terminate', escalated: true })
  expect(await waited).toBe(result)
})

test('a member that needs its grace after the leader has gone is not cut short [M-79, M-80]', async () => {
  const member = 'trap "sleep 0.15; echo late; exit 0" TERM; echo in; while :; do sleep 0.02; done'
  // The leader's trap before the fork: the member's word must not come before it.
  const child = await shell(`trap "exit 5" TERM; (${member}) & wait`)
  await logged(child, 'in')
  const waited = child.wait()
  const exit = await child.terminate({ graceMs: 10_000 })
  expect(exit).toMatchObject({ code: 5, endedBy: 'terminate', escalated: false, groupLeft: 0 })
  expect(exit.logs[1]?.text()).toBe('in\nlate\n')
  expect(await waited).toBe(exit)
})

test('terminate after the leader\'s own exit ends the members that are left [M-80]', async () => {
  const child = await fixture('fork-ignore TERM 60000 -- exit 9')
  const [member] = (await announced(child, 1)) as [number]
  await until('the exit', () => child.tryWait())
  const exit = await child.terminate({ graceMs: 100 })
  expect(alive(member)).toBe(false)
  expect(exit).toMatchObject({ code: 9, signal: null, endedBy: 'self', escalated: true })
})

test('a terminate whose last deadline passes says so and can be tried again [M-81, M-82]', async () => {
  const child = await fixture('ignore TERM -- pause')
  await logged(child, 'ready')
  // Nobody can have been seen to end within no time.
  const given = { graceMs: 0, killDeadlineMs: 0 }
  await expect(child.terminate(given)).rejects.toMatchObject({
    name: 'LifecycleError',
    code: 'ERR_TERMINATION_DEADLINE',
    details: { killDeadlineMs: 0 },
  })
  const exit = await child.terminate()
  expect(exit).toMatchObject({ signal: 'SIGKILL', endedBy: 'terminate', escalated: true })
  expect(await child.terminate()).toBe(exit)
})

test('the logs of a terminated child are whole in every wait that follows [M-83]', async () => {
  const child = await shell('trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.02; done')
  await logged(child, 'up')
  const terminated = await child.terminate({ graceMs: 5_000 })
  const exit = await child.wait()
  expect(exit).toBe(terminated)
  expect(exit.logs[1]).toMatchObject({ complete: true, truncated: false })
  expect(exit.logs[1]?.text()).toBe('up\nbye\n')
})

test('a second terminate shortens the grace and never lengthens it [X-02]', async () => {
  const child = await fixture('ignore TERM -- pause')
  await logged(child, 'ready')
  const start = performance.now()
  const first = child.terminate({ graceMs: 60_000 })
  const second = child.terminate({ graceMs: 100 })
  const third = child.terminate({ graceMs: 30_000 })
  const exit = await first
  expect(performance.now() - start).toBeGreaterThanOrEqual(100)
  expect(performance.now() - start).toBeLessThan(within(2_000))
  expect(await second).toBe(exit)
  expect(await third).toBe(exit)
  expect(exit).toMatchObject({ signal: 'SIGKILL', escalated: true })
})

test('a bound on the call ends the call, and the plan goes on [X-02, P-5]', async () => {
  const child = await fixture('ignore TERM -- pause')
  await logged(child, 'ready')
  const call = child.terminate({ graceMs: within(200), timeoutMs: 20 })
  await expect(call).rejects.toMatchObject({ code: 'ERR_WAIT_TIMEOUT', details: { timeoutMs: 20 } })
  expect(child.tryWait()).toBeNull()
  expect(await child.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'terminate', escalated: true })
})

test('a kill during the grace ends it at once [X-02, M-41]', async () => {
  const child = await fixture('ignore TERM -- fork-pause 1 -- pause')
  await logged(child, 'ready')
  const terminated = child.terminate({ graceMs: 60_000 })
  expect(child.kill()).toBe(true)
  expect(await terminated).toMatchObject({ signal: 'SIGKILL', endedBy: 'terminate' })
  expect(groupMembers(child.pid)).toEqual([])
})

// No shell: one that is waiting for the exec of a command is not stopped with it, vfork(2), and nothing tells of that.
const saysBye = 'trap TERM bye 0 -- pause'

test('a stopped child is told first and then continued, so that it can say goodbye [B058]', async () => {
  const child = await fixture(saysBye)
  await logged(child, 'ready')
  signalGroup(child, 'SIGSTOP')
  await stopped(child)
  const { result, ms } = await timed(() => child.terminate({ graceMs: 10_000 }))
  expect(result).toMatchObject({ code: 0, signal: null, endedBy: 'terminate', escalated: false })
  expect(logText(child)).toBe('ready\nbye')
  expect(ms).toBeLessThan(within(1_000))
})

test('a child that is stopped after the first signal is continued too [B058]', async () => {
  const child = await fixture(saysBye)
  await logged(child, 'ready')
  // One that ends nothing, so that it can be stopped after it.
  const terminated = child.terminate({ firstSignal: 'SIGWINCH', graceMs: 10_000 })
  await pause(10) // the case: stopped so long after the first signal
  signalGroup(child, 'SIGSTOP')
  await until('continued', () => processFacts(child.pid)?.state !== 'T')
  child.signal('SIGTERM')
  expect(await terminated).toMatchObject({ code: 0, endedBy: 'terminate', escalated: false })
  expect(logText(child)).toBe('ready\nbye')
})

test('a child that is stopped in the middle of a start of its own is continued too [B058]', async () => {
  const child = await fixture('trap TERM bye 4 -- vfork-sleep 1500 -- pause')
  const [member] = (await announced(child, 1)) as [number]
  const terminated = child.terminate({ firstSignal: 'SIGWINCH', graceMs: 10_000 })
  await pause(10) // the case: stopped so long after the first signal
  signalGroup(child, 'SIGSTOP')
  await until('continued', () => processFacts(member)?.state !== 'T')
  child.signal('SIGTERM')
  expect(await terminated).toMatchObject({ code: 4, endedBy: 'terminate', escalated: false })
})

test('members end with the group whoever their parent is by then [M-80, B071]', async () => {
  const child = await fixture('fork-tree 3 60000 -- exit 0')
  const members = await announced(child, 3)
  await child.terminate({ graceMs: 5_000 })
  await gone(...members)
})
