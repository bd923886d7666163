/** No stranger is signalled, whatever number it has and however it looks. */
import { spawn as spawnStranger } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { alive } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { checkedPid, env, hostTools, rounds, shell } from './children.js'

// A namespace of its own, where the next number can be chosen: ns_last_pid, proc_sys_kernel(5).
const ownNumbers = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']

/** `bystander(pid)`: a process of that number, leader of its own group; `spared(it)`: it got no signal but this one. */
const bystanders = `${hostTools}
  const { spawn: spawnStranger } = require('node:child_process');
  const bystander = async (pid) => {
    for (let attempt = 0; attempt < 50; attempt++) {
      fs.writeFileSync('/proc/sys/kernel/ns_last_pid', String(pid - 1));
      const args = ['--ready-fd', '1', 'trap', 'USR1', 'usr;', '--', 'pause'];
      const stranger = spawnStranger(fixture, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
      let said = '';
      stranger.stdout.setEncoding('utf8').on('data', (text) => (said += text));
      await until('ready', () => said.startsWith('ready'));
      if (stranger.pid === pid) return { stranger, said: () => said };
      stranger.kill('SIGKILL');
    }
    throw new Error('the number ' + pid + ' is not to be had');
  };
  const spared = async ({ stranger, said }) => {
    stranger.kill('SIGUSR1');
    await until('usr', () => said().endsWith('usr;'));
    const { exitCode, signalCode } = stranger;
    stranger.kill('SIGKILL');
    return said() === 'ready\\nusr;' && exitCode === null && signalCode === null;
  };
`

test('a process with the number of a child that was reaped gets none of its signals [B060, M-46, P-6]', async () => {
  for (const hooks of [{}, { noGroupPidfd: true }, { noPidfd: true }]) {
    const [said] = await hostSays<Record<string, unknown>>(
      `${bystanders}
      addon().setTestHooks(${JSON.stringify(hooks)});
      const child = await shell('exit 0');
      const exit = await child.wait();
      const stranger = await bystander(child.pid);
      const calls = [child.kill(), child.interrupt(), child.signal('SIGTERM')];
      const same = await child.terminate({ graceMs: 0 }) === exit && await child.wait() === exit;
      await child[Symbol.asyncDispose]();
      say({ calls, same, spared: await spared(stranger) });`,
      { wrapper: ownNumbers },
    )
    expect(said, JSON.stringify(hooks)).toEqual({ calls: [false, false, false], same: true, spared: true })
  }
})

test('a child that was reaped for an exact answer still names no other\'s group [B060, M-46, P-6]', async () => {
  const [said] = await hostSays<Record<string, unknown>>(
    `${bystanders}
    const child = await shell('exit 3');
    await until('the exit', () => child.tryWait());
    // The kernel that signals groups through pidfds lets the leader be reaped first.
    const alone = child.interrupt();
    const stranger = await bystander(child.pid).catch(() => null);
    const calls = [child.kill(), child.interrupt(), child.signal('SIGTERM')];
    const { code, groupLeft } = await child.terminate({ graceMs: 0 });
    say({ alone, calls, code, groupLeft, spared: stranger === null || await spared(stranger) });`,
    { wrapper: ownNumbers },
  )
  expect(said).toEqual({ alone: false, calls: [false, false, false], code: 3, groupLeft: 0, spared: true })
})

test('a member keeps the group\'s number from strangers until it is signalled [M-46, P-6]', async () => {
  const [said] = await hostSays<Record<string, unknown>>(
    `${bystanders}
    const results = [];
    for (let round = 0; round < ${rounds(12)}; round++) {
      const child = await shell('sleep 60 & exit 0');
      await until('the exit', () => child.tryWait());
      fs.writeFileSync('/proc/sys/kernel/ns_last_pid', String(child.pid - 1));
      // Starts of strangers, at the very number, while the group is being settled.
      const ways = [() => child.wait(), () => child.terminate({ graceMs: 0 }), () => child[Symbol.asyncDispose]()];
      const settled = ways[round % 3]();
      const strangers = [1, 2, 3].map(() => spawnStranger('/bin/sleep', ['60'], { detached: true, stdio: 'ignore' }));
      await settled;
      child.kill();
      // A signal acts later than it is sent: what ended each of them tells whether ours was the first.
      const ended = strangers.map((it) => new Promise((resolve) => it.once('exit', (_, signal) => resolve(signal))));
      for (const it of strangers) it.kill('SIGHUP');
      results.push(...await Promise.all(ended));
    }
    say({ signals: [...new Set(results)], count: results.length });`,
    { wrapper: ownNumbers },
  )
  expect(said).toEqual({ signals: ['SIGHUP'], count: 3 * rounds(12) })
})

test('strangers that look like our child are left alone [B074, P-6]', async () => {
  const folder = tmpFolder()
  const apart = { env, stdio: 'ignore', detached: true } as const
  const strangers = [
    spawnStranger('/bin/sleep', ['7777'], apart),
    spawnStranger('/bin/sh', ['-c', 'sleep 7777; :'], apart),
    spawnStranger(fixtureChild(), ['pause', '--', 'argv', 'exactspawn', folder], { ...apart, cwd: folder }),
  ]
  const pids = strangers.map(({ pid }) => checkedPid(pid as number))
  try {
    const ours = () => shell('exec sleep 7777', { cwd: folder })
    await (await ours()).terminate({ graceMs: 100 })
    await (await ours())[Symbol.asyncDispose]()
    const killed = await ours()
    killed.kill()
    await killed.wait()
    const [code] = await hostSays<number>(`${hostTools}
      await shell('exec sleep 7777', { cwd: ${JSON.stringify(folder)} });
      say(0);
      process.exit(0);`)
    expect(code).toBe(0)
    expect(pids.map(alive)).toEqual([true, true, true])
  } finally {
    for (const pid of pids.filter(alive)) process.kill(-pid, 'SIGKILL')
    await Promise.all(strangers.filter(({ signalCode }) => signalCode === null).map((it) => once(it, 'exit')))
  }
})
