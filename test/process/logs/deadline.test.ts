import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Child, LifecycleError, SpawnSpec } from 'exactspawn'
import { KiB, capture, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { openFds } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, until, within } from '../../support/until.js'

const HOLD_MS = 5_000
const hold = (...fds: number[]) => fds.flatMap((fd) => ['setsid-and-hold', String(fd), String(HOLD_MS), '--'])
const start = (args: string[], spec: Partial<SpawnSpec> = {}) => {
  // 3 is where members are announced, so that the logs have nothing but what the test writes.
  const fds = { 1: capture({ headBytes: KiB }), 2: capture({ headBytes: KiB }), 3: 'null' } as const
  return spawn({ program: fixtureChild(), args: ['--member-fd', '3', ...args], env: {}, fds, ...spec })
}

type DrainError = LifecycleError & { streams: number[]; deadlineMs: number; exit: ReturnType<Child['tryWait']> }

async function failureOf(child: Child): Promise<DrainError> {
  const error: unknown = await child.wait().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE' })
  return error as DrainError
}

test('a stream held by an escaped process ends the wait with the exit and that number [M-32, M-30]', async () => {
  const before = openFds().size
  const child = await start([...hold(1), 'text', 'said', '1', '--', 'exit', '3'], { drainMs: 200 })
  const error = await failureOf(child)
  expect(error).toMatchObject({ streams: [1], deadlineMs: 200, exit: { code: 3, signal: null, endedBy: 'self' } })
  expect(error.exit).toMatchObject({
    logs: { 1: { complete: false, truncated: false, totalBytes: 4 }, 2: { complete: true, totalBytes: 0 } },
  })
  expect(child.log(1).snapshot().text()).toBe('said')
  // Both ends of ours are closed, though the holder goes on.
  await until('the descriptors as before', () => openFds().size === before)
})

test('every wait meets the same error with the same exit, which tryWait gives too [M-32]', async () => {
  const child = await start([...hold(2), 'exit', '4'], { drainMs: 50 })
  const errors = await Promise.all([failureOf(child), failureOf(child)])
  errors.push(await failureOf(child))
  expect(new Set(errors).size).toBe(1)
  expect(child.tryWait()).toBe(errors[0]?.exit)
  expect(Object.isFrozen(errors[0]?.exit)).toBe(true)
  await expect(child.terminate()).rejects.toBe(errors[0])
  await child[Symbol.asyncDispose]()
})

test('held streams share one deadline: all take no longer than one [M-30]', async () => {
  const drainMs = 400
  // So many that their deadlines in a row would take four times what a busy machine may need for one.
  const held = Array.from({ length: 16 }, (_, index) => 10 + index)
  const fds = Object.fromEntries(held.map((fd) => [fd, capture({ headBytes: KiB })]))
  const child = await start([...hold(...held), 'exit'], { drainMs, fds: { ...fds, 3: 'null' } })
  const { result, ms } = await timed(() => failureOf(child))
  expect(result.streams).toEqual(held)
  expect(ms).toBeGreaterThanOrEqual(drainMs)
  expect(ms).toBeLessThan((held.length * drainMs) / 4)
})

test('the deadline is one second unless another is given [M-30]', async () => {
  const child = await start([...hold(1, 2), 'exit'])
  const { result, ms } = await timed(() => failureOf(child))
  expect(result.deadlineMs).toBe(1_000)
  expect(ms).toBeGreaterThanOrEqual(1_000)
  expect(ms).toBeLessThan(within(1_500))
})

test('a deadline of 0 ends the wait as soon as the exit is settled, and whole logs still pass [M-30]', async () => {
  const held = await start([...hold(1), 'exit'], { drainMs: 0 })
  const { result, ms } = await timed(() => failureOf(held))
  expect(result).toMatchObject({ streams: [1], deadlineMs: 0 })
  expect(ms).toBeLessThan(within(500))
  const silent = await start(['exit', '6'], { drainMs: 0, fds: { 1: 'null' } })
  expect((await silent.wait()).code).toBe(6)
})

test('a holder that goes before the deadline makes the logs whole [M-33]', async () => {
  const args = ['setsid-and-hold', '1', '150', '--', 'text', 'all', '1', '--', 'exit', '5']
  // From before the start: the holder may be about to go when that is told.
  const { result, ms } = await timed(async () => (await start(args, { drainMs: 20_000 })).wait())
  expect(result.code).toBe(5)
  expect(result.logs[1]).toMatchObject({ complete: true, totalBytes: 3 })
  expect(ms).toBeGreaterThanOrEqual(100)
  expect(ms).toBeLessThan(within(10_000))
})

test('the exit is known at once while a held stream keeps the wait [M-30, P-8]', async () => {
  const child = await start([...hold(1), 'exit', '9'], { drainMs: within(300) })
  const failing = failureOf(child)
  const seen = await until('the exit', () => child.tryWait())
  expect(seen).toMatchObject({ code: 9, lost: false })
  expect(seen).not.toHaveProperty('logs')
  expect(child.log(1).snapshot().complete).toBe(false)
  await failing
})

test('a wait with a bound of its own ends before the drains do, and a later one knows it all [P-5]', async () => {
  const child = await start([...hold(1), 'exit', '2'], { drainMs: within(300) })
  await expect(child.wait({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'ERR_WAIT_TIMEOUT' })
  expect((await failureOf(child)).exit).toMatchObject({ code: 2 })
})

test('a member of the group that holds a stream is killed, and the logs are whole [M-33]', async () => {
  const child = await start(['fork-and-hold', '1', '60000', '--', 'fork-and-hold', '2', '60000', '--', 'exit', '1'])
  const { result, ms } = await timed(() => child.wait())
  expect(result).toMatchObject({ code: 1, groupLeft: 2, logs: { 1: { complete: true }, 2: { complete: true } } })
  expect(ms).toBeLessThan(within(1_000))
})

test('an escaped writer is told once its reader has given up: its next write is EPIPE [M-31]', async () => {
  const folder = tmpFolder()
  const [ready, go, answer] = ['ready', 'go', 'answer'].map((name) => join(folder, name)) as [string, string, string]
  const script =
    'setsid timeout 20 "$0" --ready-fd none ignore PIPE -- marker "$1" -- wait-for-file "$2" ' +
    '-- write-until-error 1 2>"$3" & ' +
    'while [ ! -e "$1" ]; do sleep 0.01; done'
  const child = await spawn({
    program: '/bin/sh',
    args: ['-c', script, fixtureChild(), ready, go, answer],
    env: { PATH: '/usr/bin:/bin' },
    fds: { 1: capture({ headBytes: KiB }) },
    drainMs: 50,
  })
  expect((await failureOf(child)).streams).toEqual([1])
  writeFileSync(go, '')
  await until('the answer', () => existsSync(answer) && readFileSync(answer, 'utf8') !== '')
  expect(readFileSync(answer, 'utf8')).toBe('errno EPIPE\n')
})

test('a child that is disposed of ends without its held streams being waited for [M-31]', async () => {
  const before = openFds().size
  const child = await start([...hold(1), 'pause'], { drainMs: 20_000 })
  await until('the holder', () => child.log(2).snapshot().text() === 'ready\n')
  const { ms } = await timed(() => child[Symbol.asyncDispose]())
  expect(ms).toBeLessThan(within(900))
  await until('the descriptors as before', () => openFds().size === before)
})
