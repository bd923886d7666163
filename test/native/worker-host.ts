/** Hosts whose worker threads use the package: bodies for `hostSays`, with what they need at hand. */
import { dirname, join } from 'node:path'
import { dist } from '../support/fixture.js'

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
  const end = performance.now() + 10000 * Number(process.env.EXACTSPAWN_SLOWNESS ?? 1);
  for (;;) {
    const fact = await look();
    if (fact) return fact;
    if (performance.now() > end) throw new Error('not seen: ' + name);
    await pause(5);
  }
};
`
