/** The executor's ladder: SIGINT to the group, the grace, SIGKILL to the group, the leader's exit or an error. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { chmodSync, copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LocalProcessExecutor } from '../../lib/executor.js'
import type { PosixWorkerProcess } from '../../lib/worker.js'
import { escapee } from '../process/ends/children.js'
import { dist, fixtureChild } from '../support/fixture.js'
import { hostSays } from '../support/host.js'
import { alive, groupMembers } from '../support/process-table.js'
import { tmpFolder } from '../support/tmp.js'
import { timed, until, within } from '../support/until.js'
import { logText, privateRoot, record, rejection } from '../support/worker.js'

const NOBODY = 65_534
const logs = { stdoutBytes: 4_096, stderrBytes: 4_096 }
const environment = { PATH: '/usr/bin:/bin' }

function executorOf(options: object = {}): LocalProcessExecutor {
  return new LocalProcessExecutor({ privateRoot: privateRoot(), logs, ...options })
}

async function shell(executor: LocalProcessExecutor, script: string): Promise<PosixWorkerProcess> {
  const worker = await executor.spawn({ ...record('/bin/sh', ['-c', script]), environment })
  onTestFinished(() => worker[Symbol.asyncDispose]())
  await until('up', () => logText(worker).includes('up'))
  return worker
}

test('the interrupt reaches three members, and the grace ends when all are gone [M-78, M-79, M-83]', async () => {
  const executor = executorOf()
  // A pipeline: of a command behind & a shell has the interrupt ignored, and no trap can undo that.
  const member = `(trap 'echo int >&2; exit 0' INT; echo ready >&2; while :; do sleep 0.02; done)`
  const worker = await shell(executor, `trap : INT; echo up; ${member} | ${member} | ${member}`)
  await until('three traps', () => logText(worker, 'stderr').split('ready').length === 4)
  const { result, ms } = await timed(() => executor.terminate(worker, { graceMs: 20_000 }))
  expect(result).toMatchObject({ code: 0, signal: null })
  expect(ms).toBeLessThan(within(5_000))
  expect(groupMembers(worker.pid)).toEqual([])
  expect(existsSync(worker.workingDirectory as string)).toBe(true)
  const { stderr, exit } = await worker.wait()
  expect(Buffer.from(stderr.bytes).toString().split('int')).toHaveLength(4)
  expect(exit).toMatchObject({ endedBy: 'terminate', escalated: false })
  expect(existsSync(worker.workingDirectory as string)).toBe(false)
})

test('members that ignore the interrupt die after the grace, also without the leader [M-79, M-80]', async () => {
  const executor = executorOf()
  const member = `(trap '' INT; echo deaf >&2; exec sleep 60)`
  const worker = await shell(executor, `${member} & trap 'exit 3' INT; echo up; while :; do sleep 0.02; done`)
  await until('a member that ignores it', () => logText(worker, 'stderr').includes('deaf'))
  // Long enough for the leader to end by its trap.
  const graceMs = within(200)
  const { result, ms } = await timed(() => executor.terminate(worker, { graceMs }))
  expect(result).toMatchObject({ code: 3 })
  expect(ms).toBeGreaterThanOrEqual(graceMs)
  expect(ms).toBeLessThan(within(1_200))
  expect(groupMembers(worker.pid)).toEqual([])
  expect((await worker.wait()).exit).toMatchObject({ code: 3, escalated: true })
})

test('a worker that cannot be killed is told in time, and a later try succeeds [B073, M-81, M-82]', async () => {
  const folder = tmpFolder()
  const rise = join(folder, 'rise')
  copyFileSync('/usr/bin/setpriv', rise)
  chmodSync(folder, 0o777)
  chmodSync(rise, 0o4755)
  const [said] = await hostSays<Record<string, never>>(
    `const { LocalProcessExecutor } = require(${JSON.stringify(join(dirname(dist), 'executor.js'))});
    const fs = require('node:fs');
    const root = fs.mkdtempSync(${JSON.stringify(join(folder, 'root-'))});
    const end = ${JSON.stringify(join(folder, 'end'))};
    const executor = new LocalProcessExecutor({ privateRoot: root, logs: { stdoutBytes: 99, stderrBytes: 99 } });
    const verbs = ['ignore', 'INT', '--', 'wait-for-file', end, '--', 'exit', '7'];
    const args = ['--reuid', '0', '--regid', '0', '--clear-groups', fixture, '--ready-fd', '1', ...verbs];
    const worker = await executor.spawn({ program: ${JSON.stringify(rise)}, args });
    while (worker.logSnapshot().stdout.totalBytes < 6) await new Promise(setImmediate);
    const start = performance.now();
    const first = await executor.terminate(worker, { graceMs: 50, killDeadlineMs: 100 }).catch(({ code }) => code);
    const ms = performance.now() - start;
    const running = worker.tryWait() === null;
    fs.writeFileSync(end, '');
    const { code } = await executor.terminate(worker, { graceMs: 0, killDeadlineMs: 10000 });
    const { stdout } = await worker.wait();
    say({ first, ms, running, code, stdout: stdout.totalBytes, left: fs.readdirSync(root) });`,
    { uid: NOBODY, gid: NOBODY },
  )
  expect(said).toMatchObject({ first: 'ERR_TERMINATION_DEADLINE', running: true, code: 7, stdout: 6, left: [] })
  expect(said?.['ms']).toBeGreaterThanOrEqual(150)
  expect(said?.['ms']).toBeLessThan(within(1_000))
})

/** A cgroup of this test's own, where the second hierarchy is mounted. */
function cgroupParent(): string {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const mount = lines.find((line) => / - cgroup2 /.test(line))?.split(' ')[4]
  if (mount === undefined) throw new Error('no cgroup2 is mounted here')
  const parent = join(mount, `exactspawn-executor-${process.pid}`)
  mkdirSync(parent)
  onTestFinished(async () => {
    await until('an empty cgroup', () => !readdirSync(parent, { withFileTypes: true }).some((one) => one.isDirectory()))
    rmdirSync(parent)
  })
  return parent
}

test('an escapee dies with a cgroup that is given, and lives on without one [M-74, M-90]', async () => {
  const held = async (worker: PosixWorkerProcess) => {
    const pid = await until('an escapee', () => /^held (\d+)$/m.exec(logText(worker))?.[1])
    if (!(Number(pid) > 1)) throw new Error(`${pid} is no process`)
    return escapee(Number(pid))
  }
  const escaping = record(fixtureChild(), ['--ready-fd', 'none', 'setsid-and-hold', '0', '600000', '--', 'pause'])
  const requirements = { cgroupContainment: 'required' } as const
  const contained = executorOf({ cgroup: { parent: cgroupParent() } })
  expect((await contained.preflight()).capabilities).toMatchObject({
    cgroupContainment: 'supported',
    completeProcessTreeContainment: 'unsupported',
  })
  const worker = await contained.spawn(escaping, { requirements })
  const inside = await held(worker)
  await contained.terminate(worker, { graceMs: 20 })
  await worker.wait()
  await until('its end', () => !alive(inside), 1_000)
  const plain = executorOf()
  const other = await plain.spawn(escaping)
  const outside = await held(other)
  await plain.terminate(other, { graceMs: 20 })
  await other.wait()
  expect(alive(outside)).toBe(true)
})

test('a cgroup that cannot be used is no support, and its reason says which [M-74]', async () => {
  const root = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const executor = new LocalProcessExecutor({ privateRoot: root, logs, cgroup: { parent: join(root, 'none') } })
  const { lines } = await executor.preflight()
  const line = lines.find(({ capability }) => capability === 'cgroupContainment')
  expect(line).toMatchObject({ status: 'unsupported', reason: expect.stringContaining(join(root, 'none')) as string })
  const requirements = { cgroupContainment: 'required' } as const
  const error = await rejection(executor.spawn(record('/bin/true', []), { requirements }))
  expect(error).toMatchObject({ code: 'ERR_PREFLIGHT_FAILED', details: { requirement: 'cgroupContainment' } })
  expect(readdirSync(root)).toEqual([])
})
