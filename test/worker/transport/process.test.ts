/** One worker over POSIX pipes: its start, its signals, its end. */
import { readdirSync, readFileSync, renameSync } from 'node:fs'
import { createPrivateDirectory } from 'exactspawn'
import { expect, test } from 'vitest'
import { PosixWorkerProcess, WorkerCommand } from '../../../lib/worker.js'
import { escapee, gone } from '../../process/ends/children.js'
import { fixtureChild } from '../../support/fixture.js'
import { alive, childrenOf, groupMembers, openFds, processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import { expectGone, launch, logText, privateRoot, record, rejection } from '../../support/worker.js'

const logs = { stdoutBytes: 4_096, stderrBytes: 4_096 }
const fixture = (verbs: string) => record(fixtureChild(), ['--ready-fd', '1', ...verbs.split(' ')])

const announced = (worker: PosixWorkerProcess, count: number) =>
  until(`${count} members`, () => {
    const pids = [...logText(worker).matchAll(/^(?:member|held) (\d+)$/gm)].map(([, pid]) => Number(pid))
    return pids.length === count && pids.every((pid) => Number.isSafeInteger(pid) && pid > 1) && pids
  })

test('a command is for one start, also for one that fails [M-09, M-12, M-47]', async () => {
  for (const program of ['/bin/true', '/nowhere/none']) {
    const command = new WorkerCommand({ program, env: {}, logs })
    expect(command.consumed).toBe(false)
    const before = openFds().size
    const started = PosixWorkerProcess.spawn(command).catch((error: unknown) => error)
    expect(command.consumed).toBe(true)
    expect(await rejection(PosixWorkerProcess.spawn(command))).toMatchObject({ code: 'ERR_COMMAND_CONSUMED' })
    const worker = await started
    if (worker instanceof PosixWorkerProcess) await worker.wait()
    else expect(worker).toMatchObject({ code: 'ERR_SPAWN_FAILED', details: { stage: 'exec' } })
    await until('no descriptor left', () => openFds().size <= before)
    expect(childrenOf()).toEqual([])
  }
})

test('a worker has a number, protocol ends, logs and a status [M-01, M-02, M-05, M-06]', async () => {
  const script = 'cat <&$METEWAND_PROTOCOL_READ_FD >&$METEWAND_PROTOCOL_WRITE_FD; echo {}'
  const worker = await launch({ ...record('/bin/sh', ['-c', script]), environment: { PATH: '/usr/bin:/bin' } })
  expect(processFacts(worker.pid)).toMatchObject({ ppid: process.pid, pgid: worker.pid })
  expect(worker.tryWait()).toBe(null)
  await worker.protocolWriter().write(Buffer.from('{"a":1}\n{"b":2}\n'))
  const reader = worker.protocolReader()
  expect([await reader.read(), await reader.read()]).toEqual([{ a: 1 }, { b: 2 }])
  // M-29: nothing but the closed request pipe ends cat.
  const { exit, stdout } = await worker.wait()
  expect(exit.code).toBe(0)
  expect(Buffer.from(stdout.bytes).toString()).toBe('{}\n')
})

test('names and numbers of the descriptors can be moved, and replace what the command says [M-05, M-11]', async () => {
  const env = { IN: '99', METEWAND_PROTOCOL_READ_FD: '99', PATH: '/usr/bin:/bin' }
  const command = new WorkerCommand({
    program: '/bin/sh',
    args: ['-c', 'echo "$IN $OUT $METEWAND_PROTOCOL_READ_FD"; cat'],
    env,
    fds: { 0: { bytes: Buffer.from('stdin of the command') }, 1: 'null' },
    protocolFds: { read: 8, write: 6 },
    protocolVariables: { read: 'IN', write: 'OUT' },
    logs,
  })
  await using worker = await PosixWorkerProcess.spawn(command)
  const { stdout } = await worker.wait()
  expect(Buffer.from(stdout.bytes).toString()).toBe('8 6 99\n')
  const usual = new WorkerCommand({ program: '/bin/sh', args: ['-c', 'echo $METEWAND_PROTOCOL_READ_FD'], env, logs })
  await using replaced = await PosixWorkerProcess.spawn(usual)
  expect(Buffer.from((await replaced.wait()).stdout.bytes).toString()).toBe('3\n')
})

test('wait closes both protocol ends first, and a later use of them says so [M-29, M-33, M-34]', async () => {
  const worker = await launch(fixture('read-to-eof 3 -- write-until-error 4 -- exit 5'))
  const writer = worker.protocolWriter()
  const first = worker.wait()
  const second = worker.wait()
  expect(await rejection(writer.write(Buffer.from('x')))).toMatchObject({ code: 'ERR_PROTOCOL_CLOSED' })
  expect(() => worker.protocolReader()).toThrow(expect.objectContaining({ code: 'ERR_PROTOCOL_CLOSED' }))
  const { exit, stdout } = await first
  expect(await second).toBe(await first)
  // The response end has gone too: the write ends by SIGPIPE.
  expect(exit).toMatchObject({ code: null, signal: 'SIGPIPE', endedBy: 'self' })
  expect(Buffer.from(stdout.bytes).toString()).toContain('eof 0\n')
  expect(Object.isFrozen(await worker.wait())).toBe(true)
  expectGone(worker)
})

test('wait kills what the leader left before it waits for the logs [M-44]', async () => {
  const worker = await launch(fixture('fork-pause 2 -- exit 0'))
  const { result, ms } = await timed(() => worker.wait())
  expect(result.exit).toMatchObject({ code: 0, groupLeft: 2 })
  expect(result.stdout.complete).toBe(true)
  expect(ms).toBeLessThan(within(900))
  await gone(...(await announced(worker, 2)))
})

test('escapees with both logs cost one shared second and the record [M-30, M-31, M-32, M-90]', async () => {
  const worker = await launch(fixture('setsid-and-hold 1 30000 -- setsid-and-hold 2 30000 -- exit 4'))
  const held = await announced(worker, 2)
  for (const pid of held) escapee(pid)
  const { result: error, ms } = await timed(() => rejection(worker.wait()))
  expect(ms).toBeGreaterThanOrEqual(990)
  expect(ms).toBeLessThan(within(1_900))
  expect(error).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE', details: { streams: [1, 2], deadlineMs: 1_000 } })
  expect(error.details).toMatchObject({ exit: { code: 4 } })
  expect(worker.logSnapshot().complete).toBe(false)
  expect(worker.receipt.containment.completeProcessTree).toBe('unsupported')
  // Neither found nor killed, as is said.
  expect(held.filter(alive)).toEqual(held)
  expect(await rejection(worker.wait())).toBe(error)
  expectGone(worker)
})

test('a directory that cannot be removed does not hide how the worker ended [M-32, M-56]', async () => {
  const root = privateRoot()
  const worker = await launch(fixture('setsid-and-hold 1 30000 -- exit 0'), { privateRoot: root })
  for (const pid of await announced(worker, 1)) escapee(pid)
  renameSync(root, `${root}-moved`)
  const error = await rejection(worker.wait())
  renameSync(`${root}-moved`, root)
  expect(error).toMatchObject({
    code: 'ERR_LOG_DRAIN_DEADLINE',
    suppressed: [{ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE' }],
  })
  await worker[Symbol.asyncDispose]()
  expectGone(worker)
})

test('a wait can be given up, and a later one gives all [M-29, P-5]', async () => {
  const worker = await launch(record('/bin/sh', ['-c', 'cat <&3; echo end']))
  const busy = await launch(record('/bin/sleep', ['60']))
  const late = { code: 'ERR_WAIT_TIMEOUT', details: { timeoutMs: 40 } }
  expect(await rejection(busy.wait({ timeoutMs: 40 }))).toMatchObject(late)
  expect(await rejection(busy.wait({ signal: AbortSignal.abort() }))).toMatchObject({ code: 'ERR_ABORTED' })
  busy.kill()
  expect((await busy.wait()).exit).toMatchObject({ signal: 'SIGKILL' })
  expect((await worker.wait({ timeoutMs: within(10_000) })).exit.code).toBe(0)
})

test('a directory that could not be removed costs no output: the next wait tries again [M-32, M-56]', async () => {
  const root = privateRoot()
  const worker = await launch(fixture('text done -- exit 3'), { privateRoot: root })
  renameSync(root, `${root}-moved`)
  expect(await rejection(worker.wait())).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE' })
  renameSync(`${root}-moved`, root)
  const { exit, stdout } = await worker.wait()
  expect(exit.code).toBe(3)
  expect(Buffer.from(stdout.bytes).toString()).toContain('done')
  expectGone(worker)
})

test('names of variables that are none or one are refused before a start [M-05, P-2]', () => {
  for (const wrong of [null, { read: 'R' }, { read: 'X', write: 'X' }, { read: '1X', write: 'Y' }, { read: 'A=B', write: 'Y' }]) {
    const make = () => new WorkerCommand({ program: '/bin/true', env: {}, logs, protocolVariables: wrong as never })
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_INVALID_SPEC', field: 'protocolVariables' }))
  }
})

test('a start that fails takes its directory with it [M-56, M-47]', async () => {
  const root = privateRoot()
  const directory = await createPrivateDirectory(root)
  const command = new WorkerCommand({ program: '/nowhere/none', env: {}, logs })
  expect(await rejection(PosixWorkerProcess.spawn(command, { directory }))).toMatchObject({ code: 'ERR_SPAWN_FAILED' })
  expect(readdirSync(root)).toEqual([])
})

test('an interrupt and a kill reach the group, and the status can be looked at [M-39, M-40, M-41]', async () => {
  const script = 'trap "echo int" INT; sleep 60 & sleep 60 & echo up; while :; do wait; done'
  const trapping = await launch({ ...record('/bin/sh', ['-c', script]), environment: { PATH: '/usr/bin:/bin' } })
  await until('up', () => logText(trapping) === 'up\n' && groupMembers(trapping.pid).length === 3)
  expect(trapping.tryWait()).toBe(null)
  expect(trapping.interrupt()).toBe(true)
  await until('int', () => logText(trapping).includes('int'))
  expect(trapping.tryWait()).toBe(null)
  expect(readFileSync(`/proc/${trapping.pid}/comm`, 'utf8')).toBe('sh\n')
  expect(trapping.kill()).toBe(true)
  const seen = await until('the exit', () => trapping.tryWait())
  expect(seen).toMatchObject({ signal: 'SIGKILL' })
  expect((await trapping.wait()).exit).toMatchObject({ signal: 'SIGKILL', endedBy: 'kill' })
  expect(groupMembers(trapping.pid)).toEqual([])
  expect(trapping.kill()).toBe(false)
})

test('a scope that is left by a throw takes the group and the directory with it [M-45, M-89]', async () => {
  let left: PosixWorkerProcess | undefined
  let members: number[] = []
  const scope = async () => {
    await using worker = await launch(fixture('fork-pause 2 -- pause'))
    left = worker
    members = await announced(worker, 2)
    throw new Error('left')
  }
  await expect(scope()).rejects.toThrow('left')
  expect(members.filter(alive)).toEqual([])
  expectGone(left as PosixWorkerProcess)
})
