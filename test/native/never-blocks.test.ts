/** The JS thread goes on, whatever becomes of a start. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hostSays } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'
import { within } from '../support/until.js'
import { addonModule, workerHost } from './worker-host.js'

const slowHost = `${workerHost}
  const slowExec = (ms) => require(${JSON.stringify(addonModule)}).addon().setTestHooks({ delayBeforeExecMs: ms });
  // The longest time the loop did not turn while the work was under way.
  const longestGap = async (work) => {
    let done = false, gap = 0, last = performance.now();
    const turn = () => {
      const now = performance.now();
      gap = Math.max(gap, now - last);
      last = now;
      if (!done) setImmediate(turn);
    };
    setImmediate(turn);
    await work();
    await new Promise((turned) => setImmediate(turned));
    done = true;
    return gap;
  };
  await (await spawn({ program: '/bin/true', env: {} })).wait();
`

test('a start in an exec of half a second holds up the loop by a small part of that [P-3]', async () => {
  // Longer on a slower machine, on which the loop has to wait for a processor too.
  const slowMs = within(500)
  const [said] = await hostSays<{ gap: number; control: number }>(
    `${slowHost}
    const { spawnSync } = require('node:child_process');
    slowExec(${slowMs});
    const begun = performance.now();
    const gap = await longestGap(async () => (await spawn({ program: '/bin/true', env: {} })).wait());
    if (performance.now() - begun < ${slowMs}) throw new Error('the exec was not slow');
    const control = await longestGap(async () => spawnSync(fixture, ['--ready-fd', 'none', 'sleep', '${slowMs}']));
    say({ gap, control });`,
  )
  expect(said?.control).toBeGreaterThanOrEqual(slowMs)
  expect((said?.gap ?? Infinity) / (said?.control ?? 0)).toBeLessThan(0.2)
})

test('asking for two hundred starts at once takes none of the time that their execs take [P-3]', async () => {
  const [said] = await hostSays<{ asking: number; codes: number[] }>(
    `${slowHost}
    slowExec(20);
    const begun = performance.now();
    const started = Array.from({ length: 200 }, () => spawn({ program: '/bin/true', env: {} }));
    const asking = performance.now() - begun;
    const exits = await Promise.all(started.map(async (start) => (await start).wait()));
    say({ asking, codes: [...new Set(exits.map(({ code }) => code))] });`,
  )
  expect(said?.codes).toEqual([0])
  const execs = 200 * 20
  expect((said?.asking ?? Infinity) / execs).toBeLessThan(0.2)
})

test('a start that hangs in exec rejects on abort, and its child is killed when it appears [P-3, P-5]', async () => {
  const [said] = await hostSays(
    `${slowHost}
    slowExec(${within(400)});
    const cancel = new AbortController();
    const start = spawn({ program: fixture, args: ['pause'], env: {} }, { signal: cancel.signal });
    await until('born', () => childrenOfHost().length === 1);
    const reason = new Error('no longer wanted');
    cancel.abort(reason);
    const error = await start.catch((error) => error);
    const stillHung = childrenOfHost().length === 1;
    await until('killed', () => childrenOfHost().length === 0);
    say({ code: error.code, same: error.cause === reason, stillHung });`,
  )
  expect(said).toEqual({ code: 'ERR_ABORTED', same: true, stillHung: true })
})

test('a start that is aborted behind sixteen hung ones never runs its program [P-3]', async () => {
  const marker = join(tmpFolder(), 'ran')
  const [said] = await hostSays(
    `${slowHost}
    slowExec(${within(300)});
    const hung = Array.from({ length: 16 }, () => spawn({ program: '/bin/true', env: {} }));
    await until('all hang', () => childrenOfHost().length === 16);
    const queued = spawn({ program: fixture, args: ['marker', ${JSON.stringify(marker)}], env: {} }, { signal: AbortSignal.timeout(1) });
    const { code } = await queued.catch((error) => error);
    const hanging = childrenOfHost().length;
    const exits = await Promise.all(hung.map(async (start) => (await start).wait()));
    // The last of the queue: when it has run, the aborted one before it would have run too.
    await (await spawn({ program: '/bin/true', env: {} })).wait();
    say({ code, hanging, codes: [...new Set(exits.map((exit) => exit.code))] });`,
  )
  expect(said).toEqual({ code: 'ERR_ABORTED', hanging: 16, codes: [0] })
  expect(existsSync(marker)).toBe(false)
})
