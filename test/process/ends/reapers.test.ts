/** Other code in the host that reaps children: Node's own, and code that takes whatever it gets. */
import { expect, test } from 'vitest'
import { dist, reaperAddon } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { within } from '../../support/until.js'
import { env, hostTools, rounds } from './children.js'

const count = rounds(40)

/** Ends of ours and of node:child_process, interleaved; each list holds only the values that came. */
const interleaved = `
  const ours = async () => {
    const child = await spawn({ program: '/bin/sh', args: ['-c', 'exit 19'], env });
    return (await child.wait()).code;
  };
  const theirs = () => new Promise((resolve) => {
    require('node:child_process').spawn('/bin/sh', ['-c', 'exit 23'], { env, stdio: 'ignore' }).on('exit', resolve);
  });
  const ends = { ours: new Set(), theirs: new Set(), count: 0 };
  for (let round = 0; round < ${count}; round++) {
    const [a, b] = await Promise.all([ours(), theirs()]);
    ends.ours.add(a);
    ends.theirs.add(b);
    ends.count++;
  }
  const told = { ours: [...ends.ours], theirs: [...ends.theirs], count: ends.count };
`

test('children of ours and of node:child_process keep their codes in five threads [B065]', async () => {
  const said = await hostSays(`${hostTools}
    const { Worker } = require('node:worker_threads');
    const body = ${JSON.stringify(`
      const { parentPort, workerData } = require('node:worker_threads');
      const { spawn } = require(workerData);
      const env = ${JSON.stringify(env)};
      (async () => { ${interleaved} parentPort.postMessage(told) })()`)};
    const inWorker = () => new Promise((resolve, reject) => {
      new Worker(body, { eval: true, workerData: ${JSON.stringify(dist)} }).on('message', resolve).on('error', reject);
    });
    const workers = Array.from({ length: 4 }, inWorker);
    ${interleaved}
    for (const end of [told, ...await Promise.all(workers)]) say(end);
    say(process.listenerCount('SIGCHLD'));`)
  expect(said.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => ({ ours: [19], theirs: [23], count })))
  expect(said[5]).toBe(0)
})

test('a host that never uses node:child_process has no SIGCHLD handler from us [B065, P-10]', async () => {
  const [said] = await hostSays(`${hostTools}
    await (await shell('exit 0')).wait();
    const caught = BigInt('0x' + fs.readFileSync('/proc/self/status', 'latin1').match(/^SigCgt:\\s*(\\w+)/m)[1]);
    say(Number(caught >> 16n & 1n));`)
  expect(said).toBe(0)
})

const thief = (hooks: object, children: number, mustLose = false) => `${hostTools}
  addon().setTestHooks(${JSON.stringify(hooks)});
  const module_ = { exports: {} };
  process.dlopen(module_, ${JSON.stringify(reaperAddon())});
  await (await shell('exit 0')).wait();
  const batch = () => Promise.all(Array.from({ length: ${children} }, async () => {
    const child = await shell('sleep 0.02; exit 19');
    const { code, signal, lost, endedBy, usage } = await child.wait({ timeoutMs: ${within(10_000)} });
    const called = [child.kill(), child.signal('SIGTERM')].join();
    return { code, signal, lost, endedBy, usage: usage !== null, called };
  }));
  let taken = 0;
  const ends = [];
  const enough = () => taken > 0 && (!${mustLose} || ends.some(({ lost }) => lost));
  // On a busy machine the thief can be late for a whole batch.
  for (let more = 20; more > 0 && !enough(); more--) {
    module_.exports.start(0);
    ends.push(...await batch());
    taken += module_.exports.stop();
  }
  say({ taken, ends: [...new Set(ends.map((end) => JSON.stringify(end)))].map(JSON.parse) });`

interface Stolen {
  taken: number
  ends: { code: number | null; signal: null; lost: boolean; endedBy: string; usage: boolean; called: string }[]
}

test('a status that another reaper took is had from the kernel\'s own record [B065]', async () => {
  const [said] = await hostSays<Stolen>(thief({}, count))
  expect(said?.taken).toBeGreaterThan(0)
  for (const { code, signal, lost, endedBy, called } of said?.ends ?? []) {
    expect({ code, signal, lost, endedBy, called }).toEqual({
      code: 19,
      signal: null,
      lost: false,
      endedBy: 'self',
      called: 'false,false',
    })
  }
})

test('a status that no one kept is lost, never a success, and the wait ends all the same [B065, P-5]', async () => {
  for (const hooks of [{ noExitInfo: true }, { noPidfd: true }]) {
    const [said] = await hostSays<Stolen>(thief(hooks, count, true))
    expect(said?.taken).toBeGreaterThan(0)
    const lost = said?.ends.filter((end) => end.lost) ?? []
    expect(lost, JSON.stringify(hooks)).toEqual([
      { code: null, signal: null, lost: true, endedBy: 'unknown', usage: false, called: 'false,false' },
    ])
    for (const end of said?.ends ?? []) if (!end.lost) expect(end.code).toBe(19)
  }
})
