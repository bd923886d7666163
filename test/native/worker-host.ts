/** Hosts whose worker threads use the package: bodies for `hostSays`, with what they need at hand. */
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { dist } from '../support/fixture.js'
import { hostSays } from '../support/host.js'

/** The compiled module that loads the addon, for its test hooks. */
export const addonModule = join(dirname(dist), 'addon', 'addon.js')

/** Rounds of the random tests; more of them by EXACTSPAWN_ROUNDS. */
export const rounds = (normally: number): number => Number(process.env['EXACTSPAWN_ROUNDS'] ?? normally)

/**
 * Defines, for the body of a host:
 * - `inWorker(body, data)`: a worker that has `xs`, `fixture`, `hooks(wanted)`, `data` and `tell(value)`
 * - `told(worker)`: the next value that it tells; rejects when it fails
 * - `childrenOfHost()`: pids, zombies included
 * - `resources()`: descriptors by number and threads that are not the package's own
 * - `until(name, look)` and `pause(ms)`
 */
export const workerHost = `
const { Worker } = require('node:worker_threads');
const { once } = require('node:events');
const fs = require('node:fs');
const pause = require('node:timers/promises').setTimeout;
const workerPrelude = ${JSON.stringify(`
const { parentPort, workerData } = require('node:worker_threads');
const { fixture, data } = workerData;
const tell = (value) => parentPort.postMessage(value);
const xs = require(${JSON.stringify(dist)});
const hooks = (wanted) => require(${JSON.stringify(addonModule)}).addon().setTestHooks(wanted);
`)};
const inWorker = (body, data) =>
  new Worker(workerPrelude + ';(async () => {' + body + '\\n})()', { eval: true, workerData: { fixture, data } });
const told = (worker) =>
  new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
const read = (path) => { try { return fs.readFileSync(path, 'latin1') } catch { return '' } };
const childrenOfHost = () =>
  fs.readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((pid) => read('/proc/' + pid + '/stat').replace(/^.*[)] . /s, '').startsWith(process.pid + ' '))
    .map(Number);
const resources = () => {
  const threads = fs.readdirSync('/proc/self/task').map((task) => read('/proc/self/task/' + task + '/comm').trim());
  return { fds: fs.readdirSync('/proc/self/fd').length, threads: threads.filter((name) => !name.startsWith('xs-')).length };
};
const until = async (name, look) => {
  const end = performance.now() + 10000 * Number(process.env.EXACTSPAWN_SLOWNESS ?? 4);
  for (;;) {
    const fact = await look();
    if (fact) return fact;
    if (performance.now() > end) throw new Error('not seen: ' + name);
    await pause(5);
  }
};
`

/** What happens before a worker is ended: it says `busy`, or it merely runs; then up to `belowMs` pass. */
export interface RandomEnds {
  readonly rounds: number
  readonly once: 'busy' | 'online'
  readonly belowMs: number
}

/** Ends one worker with this body after another, each at a random moment, and expects that they leave nothing. */
export async function expectNothingOfEndedWorkers(body: string, ends: RandomEnds): Promise<void> {
  const seed = Date.now() % 2 ** 31
  const [said] = await hostSays<{ failed: number; moreFds: number; moreThreads: number }>(
    `${workerHost}
    let seed = ${seed};
    const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
    await once(inWorker("await (await xs.spawn({ program: '/bin/true', env: {} })).wait()"), 'exit');
    const before = resources();
    let failed = 0;
    for (let round = 0; round < ${ends.rounds}; round++) {
      const worker = inWorker(${JSON.stringify(body)});
      worker.on('error', () => failed++);
      await ${ends.once === 'busy' ? 'told(worker)' : "once(worker, 'online')"};
      await pause(random(${ends.belowMs}));
      await worker.terminate();
    }
    await until('no child', () => childrenOfHost().length === 0);
    const more = (what) => Math.max(0, resources()[what] - before[what]);
    await until('as before', () => more('fds') + more('threads') === 0).catch(() => {});
    say({ failed, moreFds: more('fds'), moreThreads: more('threads') });`,
  )
  expect(said, `seed ${seed}`).toEqual({ failed: 0, moreFds: 0, moreThreads: 0 })
}
