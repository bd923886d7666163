/** A child that runs but cannot be watched: it is undone before the start fails. */
import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { hostSays } from '../../support/host.js'
import { hostTools } from './children.js'

// Nobody else's: the limit counts all processes of a user.
const LONELY_UID = 61_234

interface Undone {
  error: { code: string; details: Record<string, unknown> }
  left: string[]
  after: number
}

test('a child whose waiting thread cannot be made is undone before the start fails [M-47, P-2]', async () => {
  const [said] = await hostSays<Undone>(
    `${hostTools}
    const { spawnSync } = require('node:child_process');
    const limit = (value) => {
      const args = ['--pid', String(process.pid), '--nproc=' + value + ':'];
      return spawnSync('prlimit', args, { env }).status === 0;
    };
    const [, before] = fs.readFileSync('/proc/self/limits', 'latin1').match(/^Max processes +(\\S+)/m);
    addon().setTestHooks({ noPidfd: true });
    await (await shell('exit 0')).wait();
    const task = '/proc/self/task/';
    const nameOf = (tid) => { try { return fs.readFileSync(task + tid + '/comm', 'latin1').trim() } catch {} };
    const tasks = () => fs.readdirSync(task).map(nameOf).filter((name) => name);
    // The thread that waited ends after the wait: still counted, it would leave room for another one.
    await until('the end of the waiting thread', () => !tasks().includes('xs-waiter'));
    // getrlimit(2): threads count. There is room for the child and not for the thread that is to wait for it.
    if (!limit(tasks().length + 1)) throw new Error('prlimit failed');
    const error = await shell('exec sleep 60').catch(({ code, details }) => ({ code, details }));
    const left = childrenOfHost();
    // It is a process too, for which there may be no room at once.
    await until('the limit is raised', () => limit(before));
    const after = (await (await shell('exit 5')).wait()).code;
    say({ error, left, after });`,
    { uid: LONELY_UID, gid: LONELY_UID },
  )
  expect(said?.error).toMatchObject({
    code: 'ERR_SPAWN_FAILED',
    details: { stage: 'clone', syscall: 'pthread_create', errno: -constants.errno.EAGAIN },
  })
  expect(said?.left).toEqual([])
  expect(said?.after).toBe(5)
})

test('a child whose log cannot be watched is undone before the start fails [M-47, P-2]', async () => {
  const [said] = await hostSays<Undone>(`${hostTools}
    const pollers = () => fs.readdirSync('/proc/self/fd').filter((fd) => {
      try { return fs.readlinkSync('/proc/self/fd/' + fd) === 'anon_inode:[eventpoll]' } catch {}
    });
    const before = pollers();
    await (await shell('exit 0')).wait();
    // The reactor's own: taken away, nothing can be registered any more.
    const [reactor] = pollers().filter((fd) => !before.includes(fd));
    fs.closeSync(Number(reactor));
    const fds = { 1: capture({ headBytes: 9 }), 2: capture({ headBytes: 9 }) };
    const error = await shell('exec sleep 60', { fds, guard: true }).catch(({ code, details }) => ({ code, details }));
    say({ error, left: childrenOfHost(), after: 0 });
    process.exit(0);`)
  expect(said?.error).toMatchObject({
    code: 'ERR_LOG_DRAIN_START_FAILED',
    details: { stream: 1, errno: expect.any(Number), syscall: 'epoll_ctl' },
  })
  expect(said?.left).toEqual([])
})
