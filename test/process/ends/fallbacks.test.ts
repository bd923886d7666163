/** The same ends where the kernel offers less: calls denied by a filter, mechanisms taken away by a hook. */
import { expect, test } from 'vitest'
import { denysys } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { within } from '../../support/until.js'
import { hostTools, rounds } from './children.js'

interface Ends {
  codes: (number | null)[]
  slowestMs: number
  watched: string[]
  left: string[]
}

/** Waits that begin 0, 1 and 300 ms after the start of a child that ends at once. */
const ends = (hooks: object) => `${hostTools}
  addon().setTestHooks(${JSON.stringify(hooks)});
  const codes = new Set();
  const watched = new Set();
  let slowestMs = 0;
  const one = async (delayMs) => {
    const child = await spawn({ program: '/bin/true', env: {} });
    watched.add(child.receipt.controls.find(({ control }) => control === 'exit').value);
    if (delayMs > 0) await pause(delayMs);
    const start = performance.now();
    codes.add((await child.wait({ timeoutMs: ${within(10_000)} })).code);
    slowestMs = Math.max(slowestMs, performance.now() - start);
  };
  for (const delayMs of [0, 1, 300]) await Promise.all(Array.from({ length: ${rounds(30)} }, () => one(delayMs)));
  say({ codes: [...codes], slowestMs, watched: [...watched], left: childrenOfHost() });`

/** Everything that a group can be asked for, in the order of a record. */
const groups = (hooks: object) => `${hostTools}
  addon().setTestHooks(${JSON.stringify(hooks)});
  const start = (script, spec = {}) => shell(script, { fds: { 1: capture({ headBytes: 99 }) }, ...spec });
  const up = (child) => until('up', () => child.log(1).snapshot().totalBytes > 0);
  const left = await (await start('sleep 60 >/dev/null & echo up; exit 3')).wait();
  const ladder = await start('trap "" TERM; sleep 60 & echo up; while :; do sleep 60; done');
  await up(ladder);
  const escalated = await ladder.terminate({ graceMs: 50 });
  const signals = await start('trap "echo usr" USR1; echo up; while :; do sleep 0.01; done');
  await up(signals);
  const sent = signals.signal('SIGUSR1');
  await until('usr', () => signals.log(1).snapshot().text().includes('usr'));
  const interrupted = signals.interrupt();
  const interrupt = await signals.wait();
  const guarded = await start('sleep 60 & echo up; exec sleep 60', { guard: true });
  await up(guarded);
  const killed = guarded.kill();
  const kill = await guarded.wait();
  const after = [guarded.kill(), guarded.signal('SIGTERM'), guarded.interrupt()];
  say({
    left: [left.code, left.groupLeft],
    escalated: [escalated.signal, escalated.escalated, escalated.endedBy],
    calls: [sent, interrupted, killed],
    ends: [interrupt.signal, kill.signal],
    after,
    children: childrenOfHost(),
  });`

const groupAnswers = {
  left: [3, 1],
  escalated: ['SIGKILL', true, 'terminate'],
  calls: [true, true, true],
  ends: ['SIGINT', 'SIGKILL'],
  after: [false, false, false],
  children: [],
}

const denied = ['pidfd_open', 'waitid:P_PIDFD', 'pidfd_send_signal']

test('children that end before anyone watches are told without pidfds too [B067]', async () => {
  const offers = [
    ['noPidfd', { noPidfd: true }, [], 'watched by a thread'],
    ['ENOSYS', {}, [denysys(), ...denied.flatMap((call) => ['ENOSYS', call]), '--'], 'watched by a thread'],
    ['EPERM', {}, [denysys(), ...denied.flatMap((call) => ['EPERM', call]), '--'], 'watched by a thread'],
    ['pidfd_open alone', {}, [denysys(), 'ENOSYS', 'pidfd_open', '--'], 'watched by pidfd'],
  ] as const
  const checks = offers.map(async ([name, hooks, wrapper, watched]) => {
    const [said] = await hostSays<Ends>(ends(hooks), { wrapper })
    expect(said, name).toMatchObject({ codes: [0], watched: [watched], left: [] })
    expect(said?.slowestMs, name).toBeLessThan(within(1_000))
  })
  await Promise.all(checks)
})

test('groups are settled, signalled and guarded alike by every mechanism [B067, M-40, M-41, M-44, M-80]', async () => {
  const hooked = [{}, { noPidfd: true }, { noGroupPidfd: true }, { forceFork: true, noPidfd: true, noMemfdExec: true }]
  const byHook = hooked.map(async (hooks) => {
    expect(await hostSays(groups(hooks)), JSON.stringify(hooks)).toEqual([groupAnswers])
  })
  const byErrno = ['ENOSYS', 'EPERM'].map(async (errno) => {
    const wrapper = [denysys(), ...denied.flatMap((call) => [errno, call]), '--']
    expect(await hostSays(groups({}), { wrapper }), errno).toEqual([groupAnswers])
  })
  await Promise.all([...byHook, ...byErrno])
})
