/** Workers of a session under an executor's ladder: interrupt, grace, kill, and what wait then collects. */
import { chmodSync, copyFileSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalProcessExecutor } from '../../../lib/executor.js'
import type { LaunchRecord } from '../../../lib/worker.js'
import { WorkerSession } from '../../../lib/worker.js'
import { dist } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { alive } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, within } from '../../support/until.js'
import {
  abuse,
  begin,
  expectGone,
  logText,
  privateRoot,
  rejection,
  said,
  sortingWorker,
  timeouts,
  workerId,
} from '../../support/worker.js'
import { gone, hostTools } from '../../process/ends/children.js'

const logs = { stdoutBytes: 4_096, stderrBytes: 4_096 }
/** Long enough for a leader to end by the interrupt. */
const GRACE_MS = within(200)

async function start(launched: LaunchRecord) {
  const executor = new LocalProcessExecutor({ privateRoot: privateRoot(), logs })
  const process = await executor.spawn(launched)
  const session = await WorkerSession.connect(process, { role: 'implementation', workerId, timeouts })
  return { executor, process, session }
}

test('a grace period has no default [M-78, M-79]', async () => {
  const { executor, process, session } = await start(sortingWorker())
  const refused = rejection(executor.terminate(process, {} as never))
  expect(await refused).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'graceMs' } })
  expect(session.usable).toBe(true)
  await session.shutdown()
})

test('a group that ignores the interrupt, its leader too, is killed after the grace [M-78, M-79, M-80]', async () => {
  const { executor, process, session } = await start(abuse('ignores-interrupt'))
  await begin(session, 'execute')
  const member = await said(process, 'member')
  const { result, ms } = await timed(() => executor.terminate(process, { graceMs: 150 }))
  expect(result).toMatchObject({ code: null, signal: 'SIGKILL' })
  expect(ms).toBeGreaterThanOrEqual(150)
  expect(ms).toBeLessThan(within(1_200))
  await gone(member)
  await process.wait()
  expectGone(process)
})

test('a member that ignores the interrupt dies also when the leader has gone by it [M-80]', async () => {
  const { executor, process, session } = await start(abuse('leaves-member'))
  await begin(session, 'execute')
  const member = await said(process, 'member')
  expect(alive(member)).toBe(true)
  expect(await executor.terminate(process, { graceMs: GRACE_MS })).toMatchObject({ code: null, signal: 'SIGINT' })
  await gone(member)
  await process.wait()
})

test('after a terminate the directory stays until wait has collected the logs [M-83]', async () => {
  const { executor, process, session } = await start(abuse('leaves-member'))
  await begin(session, 'execute')
  const member = await said(process, 'member')
  await executor.terminate(process, { graceMs: GRACE_MS })
  expect(existsSync(process.workingDirectory as string)).toBe(true)
  const output = await process.wait()
  expect(output.stdout).toMatchObject({ complete: true, truncated: false })
  expect(Buffer.from(output.stdout.bytes).toString()).toBe(`member ${member}\n`)
  expect(output.exit).toMatchObject({ signal: 'SIGINT', endedBy: 'terminate', escalated: true })
  expectGone(process)
})

test('a terminate under a pending call ends it: the worker closed before it answered [M-84, MP-14]', async () => {
  const { executor, process, session } = await start(abuse('sleeps'))
  const call = rejection(begin(session, 'execute'))
  await executor.terminate(process, { graceMs: 5_000 })
  const error = await call
  expect(error).toMatchObject({ code: 'ERR_PROTOCOL_CLOSED', details: { phase: 'execute', by: 'worker' } })
  expect((await rejection(begin(session, 'reset'))).cause).toBe(error)
  expect(logText(process, 'stderr')).toContain('KeyboardInterrupt')
  expectGone(process)
})

test('a terminate can be repeated, and gives the same end [M-82]', async () => {
  const { executor, process } = await start(abuse('none'))
  const [first, second] = await Promise.all([20, 0].map((graceMs) => executor.terminate(process, { graceMs })))
  const third = await executor.terminate(process, { graceMs: 0 })
  expect(first).toMatchObject({ code: null })
  for (const other of [second, third]) expect(other).toEqual(first)
  await process.wait()
  expect(await executor.terminate(process, { graceMs: 0 })).toMatchObject({ signal: first?.signal })
})

test('a terminate whose call is given up leaves the ladder running and the handle good [M-82]', async () => {
  const { executor, process, session } = await start(abuse('ignores-interrupt'))
  await begin(session, 'execute')
  const bounded = rejection(executor.terminate(process, { graceMs: 60_000, timeoutMs: 30 }))
  expect(await bounded).toMatchObject({ code: 'ERR_WAIT_TIMEOUT', details: { timeoutMs: 30 } })
  expect(process.tryWait()).toBe(null)
  expect(readFileSync(`/proc/${process.pid}/cmdline`, 'utf8')).toContain('abuse.py')
  expect(await executor.terminate(process, { graceMs: 0 })).toMatchObject({ signal: 'SIGKILL' })
  await process.wait()
  expectGone(process)
})

test('a worker that may not be killed is an error in time, and can be ended later [M-81, M-82, M-83]', async () => {
  const folder = tmpFolder()
  // A copy of setpriv(1) that takes its caller to the superuser: from then on kill(2) by the caller is EPERM.
  const rise = join(folder, 'rise')
  copyFileSync('/usr/bin/setpriv', rise)
  chmodSync(folder, 0o777)
  chmodSync(rise, 0o4755)
  const [said] = await hostSays(
    `${hostTools}
    const [folder, rise, lib] = ${JSON.stringify([folder, rise, dirname(dist)])};
    const { LocalProcessExecutor } = require(lib + '/executor.js');
    const [privateRoot, end] = [folder + '/root', folder + '/end'];
    fs.mkdirSync(privateRoot);
    const verbs = ['ignore', 'INT', '--', 'wait-for-file', end, '--', 'exit', '7'];
    const args = ['--reuid', '0', '--regid', '0', '--clear-groups', fixture, '--ready-fd', '1', ...verbs];
    const executor = new LocalProcessExecutor({ privateRoot, logs: { stdoutBytes: 99, stderrBytes: 99 } });
    const worker = await executor.spawn({ program: rise, args, environment: {}, secretChannels: [] });
    await until('ready', () => worker.logSnapshot().stdout.totalBytes === 6);
    const tooLate = (graceMs) => executor.terminate(worker, { graceMs, killDeadlineMs: 60 }).then(
      () => 'ended',
      ({ code, details }) => ({ code, details }),
    );
    const errors = [await tooLate(50), await tooLate(0)];
    const running = worker.tryWait() === null;
    fs.writeFileSync(end, '');
    const { code } = await executor.terminate(worker, { graceMs: 0, killDeadlineMs: 10000 });
    const kept = fs.existsSync(worker.workingDirectory);
    const { stdout } = await worker.wait();
    const left = fs.readdirSync(privateRoot);
    say({ errors, running, code, kept, stdout: Buffer.from(stdout.bytes).toString(), left });`,
    { uid: 65_534, gid: 65_534 },
  )
  const error = { code: 'ERR_TERMINATION_DEADLINE', details: { killDeadlineMs: 60, lastError: 'EPERM' } }
  expect(said).toEqual({ errors: [error, error], running: true, code: 7, kept: true, stdout: 'ready\n', left: [] })
})
