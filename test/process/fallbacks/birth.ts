/** One elaborate birth and end, told in a form that is equal wherever the same was done, by whichever mechanism. */
import { dirname, join } from 'node:path'
import type { NativeCapabilities } from '../../../lib/addon/addon-types.js'
import { denysys, dist } from '../../support/fixture.js'
import type { HostOptions } from '../../support/host.js'
import { hostSays } from '../../support/host.js'

export interface Told {
  capabilities: NativeCapabilities
  mechanism: string
  exitControl: string
  /** The fixture's audit without what is a child's own: numbers of processes and of inodes. */
  audit: Record<string, unknown>
  /** Threads that wait for one child each, while one lives and after it. */
  waiters: [during: number, after: number]
  outcomes: unknown
}

// The host has numbers open without close-on-exec that Node does not mark, so that closing them is our own work.
const strays = ['/bin/bash', '-c', 'exec 17</dev/null 40</dev/null; exec "$@"', 'bash']

const eventsModule = join(dirname(dist), 'addon', 'events.js')
const addonModule = join(dirname(dist), 'addon', 'addon.js')

const body = `
  const fs = require('node:fs');
  const { runTask } = require(${JSON.stringify(eventsModule)});
  require(${JSON.stringify(addonModule)}).addon().setTestHooks(JSON.parse(process.env.HOOKS));
  // One that ends meanwhile has no name any more.
  const nameOf = (task) => { try { return fs.readFileSync('/proc/self/task/' + task + '/comm', 'latin1') } catch {} };
  const waiters = () => fs.readdirSync('/proc/self/task').filter((task) => nameOf(task) === 'xs-waiter\\n').length;
  const settled = async (child) => { const { code, signal, endedBy, groupLeft, lost } = await child.wait(); return { code, signal, endedBy, groupLeft, lost } };

  const { child: end, host } = pipe('childWrites');
  const child = await spawn({
    program: fixture, argv0: 'named', args: ['audit', '9', '--', 'exit', '7'], env: { A: '1' }, cwd: '/', umask: 0o027,
    group: 'session', nice: 3, limits: { nofile: { soft: 77, hard: 99 }, core: 0 }, affinity: [0], noNewPrivs: true,
    fds: { 1: capture({ headBytes: 9 }), 4: 'null', 5: { sameAs: 1 }, 9: end },
  });
  let text = '';
  for await (const chunk of host.bytes()) text += chunk;
  const audit = JSON.parse(text);
  audit.leads = [audit.pid === audit.pgid, audit.pid === audit.sid, audit.ppid === process.pid];
  audit.fds = audit.fds.map(({ fd, fdflags, statusflags }) => [fd, fdflags, statusflags]);
  for (const key of ['pid', 'ppid', 'pgid', 'sid']) delete audit[key];
  const outcomes = [await settled(child)];
  // A thread outlives by a little the wait that it did.
  const noWaiter = async () => { while (waiters() > 0) await new Promise((turned) => setImmediate(turned)) };
  await noWaiter();

  const members = await spawn({ program: fixture, args: ['fork-pause', '3', '--', 'pause'], env: {}, fds: { 1: 'pipe' } });
  let lines = '';
  for await (const chunk of members.stdout) { lines += chunk; if (lines.split('\\n').length > 3) break; }
  // A thread names itself, once it runs.
  const watch = members.receipt.controls.find(({ control }) => control === 'exit').value;
  while (watch === 'watched by a thread' && waiters() === 0) await new Promise((turned) => setImmediate(turned));
  const during = waiters();
  await members.terminate({ graceMs: 5000 });
  outcomes.push(await settled(members));
  const pids = lines.match(/[0-9]+/g).map(Number);
  const living = (pid) => { try { return !/[)] [ZX]/.test(fs.readFileSync('/proc/' + pid + '/stat', 'latin1')) } catch { return false } };
  outcomes.push({ members: pids.length, living: pids.filter(living).length });

  const left = await spawn({ program: fixture, args: ['fork-pause', '1', '--', 'exit', '0'], env: {} });
  outcomes.push(await settled(left));
  const guarded = await spawn({ program: fixture, args: ['pause'], env: {}, guard: true });
  guarded.kill();
  outcomes.push(await settled(guarded));
  const timed = await spawn({ program: fixture, args: ['pause'], env: {}, lifetime: { timeoutMs: 20 } });
  outcomes.push(await settled(timed));
  for (const spec of [{ program: '/nowhere' }, { program: '/bin/true', cwd: '/nowhere' }]) {
    const { code, details } = await spawn({ env: {}, ...spec }).catch((error) => error);
    outcomes.push({ code, stage: details.stage, errno: details.errno });
  }
  await noWaiter();
  say({
    capabilities: await runTask((native) => native.capabilities()),
    mechanism: child.receipt.mechanism,
    exitControl: child.receipt.controls.find(({ control }) => control === 'exit').value,
    audit, waiters: [during, waiters()], outcomes,
  });
`

/** Runs it in a host of its own, from which `denied` is withheld, as denysys takes it, and hooks take more. */
export async function born(denied: readonly string[] = [], hooks: object = {}): Promise<Told> {
  // Nothing denied goes through denysys as well: it leaves marks of its own in an audit.
  const options: HostOptions = { wrapper: [...strays, denysys(), ...denied, '--'], env: { HOOKS: JSON.stringify(hooks) } }
  const [told] = await hostSays<Told>(body, options)
  return told as Told
}
