/** A child that the host may not signal: every call ends in time, and says why it could not do more. */
import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostSays } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, within } from '../../support/until.js'
import { hostTools } from './children.js'

const NOBODY = 65_534

/** A copy of setpriv(1) that takes its caller to the superuser: from then on kill(2) by the caller is EPERM. */
function rise(folder: string): string {
  const path = join(folder, 'rise')
  copyFileSync('/usr/bin/setpriv', path)
  chmodSync(folder, 0o777)
  chmodSync(path, 0o4755)
  return path
}

const unkillable = (folder: string) => `${hostTools}
  const end = ${JSON.stringify(join(folder, 'end'))};
  const verbs = ['ignore', 'TERM', 'INT', '--', 'wait-for-file', end, '--', 'exit', '7'];
  const args = ['--reuid', '0', '--regid', '0', '--clear-groups', fixture, '--ready-fd', '1', ...verbs];
  const fds = { 1: capture({ headBytes: 99 }) };
  const child = await spawn({ program: ${JSON.stringify(rise(folder))}, args, env, fds });
  await until('ready', () => child.log(1).snapshot().totalBytes === 6);
  const timed = async (run) => {
    const start = performance.now();
    const error = await run().then(() => 'none', ({ code, details }) => ({ code, details }));
    return { error, ms: performance.now() - start };
  };
`

const asNobody = { uid: NOBODY, gid: NOBODY }

interface Said {
  first: { error: object; ms: number }
  retried: { error: object; ms: number }
  disposed: { error: object; ms: number }
  calls: object[]
  running: boolean
  exit: object
  pdeathsig: string
}

test('a child that may not be killed holds up no call, and its own end is still told [B073, M-81, M-82]', async () => {
  const folder = tmpFolder()
  const [said] = await hostSays<Said>(
    `${unkillable(folder)}
    const call = (run) => { try { return run() } catch ({ code, details }) { return { code, details } } };
    const first = await timed(() => child.terminate({ graceMs: 100, killDeadlineMs: 150 }));
    const running = child.tryWait() === null;
    const calls = [call(() => child.kill()), call(() => child.signal('SIGTERM')), call(() => child.interrupt())];
    const retried = await timed(() => child.terminate({ graceMs: 0, killDeadlineMs: 50 }));
    const disposed = await timed(() => child[Symbol.asyncDispose]());
    fs.writeFileSync(end, '');
    const { code, signal, lost } = await child.terminate({ killDeadlineMs: 10000 });
    const pdeathsig = child.receipt.controls.find(({ control }) => control === 'parent-death signal').status;
    say({ first, running, calls, retried, disposed, exit: { code, signal, lost }, pdeathsig });`,
    asNobody,
  )
  const tooLate = (killDeadlineMs: number) => ({
    code: 'ERR_TERMINATION_DEADLINE',
    details: { killDeadlineMs, lastError: 'EPERM' },
  })
  expect(said?.first.error).toEqual(tooLate(150))
  expect(said?.first.ms).toBeGreaterThanOrEqual(250)
  expect(said?.first.ms).toBeLessThan(within(1_000))
  expect(said?.running).toBe(true)
  for (const [index, signal] of ['SIGKILL', 'SIGTERM', 'SIGINT'].entries()) {
    expect(said?.calls[index]).toEqual({ code: 'ERR_SIGNAL_FAILED', details: { signal, errno: -1, syscall: 'kill' } })
  }
  expect(said?.retried.error).toEqual(tooLate(50))
  expect(said?.disposed.error).toMatchObject({ code: 'ERR_TERMINATION_DEADLINE', details: { killDeadlineMs: 1_000 } })
  expect(said?.disposed.ms).toBeLessThan(within(1_500))
  expect(said?.exit).toEqual({ code: 7, signal: null, lost: false })
  expect(said?.pdeathsig).toBe('best-effort')
})

test('a host ends in time under a child that it may not kill [B073, P-5]', async () => {
  const folder = tmpFolder()
  const { result } = await timed(() =>
    hostSays<{ ms: number }>(
      `${unkillable(folder)}
      const start = performance.now();
      process.on('exit', () => {
        say({ ms: performance.now() - start });
        fs.writeFileSync(end, '');
      });
      process.exit(0);`,
      asNobody,
    ),
  )
  expect(result[0]?.ms).toBeGreaterThanOrEqual(190)
  expect(result[0]?.ms).toBeLessThan(within(600))
})

test('a second terminate leaves the first one\'s deadline, and both errors name that one [M-81]', async () => {
  const folder = tmpFolder()
  const [said] = await hostSays<{ errors: object[] }>(
    `${unkillable(folder)}
    const deadlines = [120, 60000];
    const ends = deadlines.map((killDeadlineMs) => timed(() => child.terminate({ graceMs: 0, killDeadlineMs })));
    const errors = (await Promise.all(ends)).map(({ error }) => error);
    fs.writeFileSync(end, '');
    await child.terminate({ killDeadlineMs: 10000 });
    say({ errors });`,
    asNobody,
  )
  const tooLate = { code: 'ERR_TERMINATION_DEADLINE', details: { killDeadlineMs: 120, lastError: 'EPERM' } }
  expect(said?.errors).toEqual([tooLate, tooLate])
})
