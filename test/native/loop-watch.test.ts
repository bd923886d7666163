/** Pipes that the event loop itself watches, and the same pipes where the reactor has to: hosts of their own. */
import { expect, test } from 'vitest'
import { hostSays } from '../support/host.js'
import { addonModule, expectNothingOfEndedWorkers, rounds, workerHost } from './worker-host.js'

const watches = [
  ['the event loop', false],
  ['the reactor', true],
] as const

// `echo()` starts a child that gives lines back; `cpuShare(ms)` is the part of that time which the host computed.
const pipeHost = (reactor: boolean) => `${workerHost}
  require(${JSON.stringify(addonModule)}).addon().setTestHooks({ noLoopWatch: ${String(reactor)} });
  const turn = () => new Promise((turned) => setImmediate(turned));
  const echo = async () => {
    const [asks, answers] = [pipe('childReads'), pipe('childWrites')];
    const child = await spawn({ program: fixture, args: ['echo-lines', '3', '4'], env: {}, fds: { 3: asks.child, 4: answers.child } });
    const ask = async (text) => { await asks.host.write(Buffer.from(text + '\\n')); };
    return { asks: asks.host, answers: answers.host, child, ask };
  };
  const cpuShare = async (ms) => {
    const cpu = process.cpuUsage();
    const begun = performance.now();
    await pause(ms);
    const { user, system } = process.cpuUsage(cpu);
    return (user + system) / 1000 / (performance.now() - begun);
  };
`

test.each(watches)('with %s as its watch an exchange wakes the reactor for each message or never [X-12]', async (_, reactor) => {
  const [said] = await hostSays<{ switches: number }>(`${pipeHost(reactor)}
    const { asks, answers, ask, child } = await echo();
    const switches = () => {
      const task = fs.readdirSync('/proc/self/task').find((task) => read('/proc/self/task/' + task + '/comm') === 'xs-reactor\\n');
      return Number(/^voluntary_ctxt_switches:\\s*(\\d+)/m.exec(read('/proc/self/task/' + task + '/status'))[1]);
    };
    const exchange = async () => {
      const answer = answers.read();
      await ask('x');
      await answer;
    };
    await exchange();
    const before = switches();
    for (let round = 0; round < 200; round++) await exchange();
    say({ switches: switches() - before });
    asks.close();
    answers.close();
    await child.wait();`)
  const each = (said?.switches ?? NaN) / 200
  if (reactor) expect(each).toBeGreaterThan(0.5)
  else expect(each).toBeLessThan(0.1)
})

test.each(watches)('with %s as its watch a pipe that is ready while nobody waits costs nothing [X-12, P-4]', async (_, reactor) => {
  const [said] = await hostSays<Record<string, number>>(`${pipeHost(reactor)}
    const { asks, answers, ask, child } = await echo();
    const first = answers.read();
    await ask('read');
    await first;
    await ask('not read');
    const unread = await cpuShare(300);
    // Filled until it waits, and emptied: there is room, and nothing more to write.
    const full = pipe('childReads');
    const written = full.host.write(Buffer.alloc(1_000_000));
    const reader = await spawn({ program: fixture, args: ['read-to-eof', '3'], env: {}, fds: { 3: full.child } });
    await written;
    const room = await cpuShare(300);
    child.kill();
    await child.wait();
    await asks.peerClosed();
    // Told again to who asks again.
    await asks.peerClosed();
    const gone = await cpuShare(300);
    await answers.read();
    const ended = (await answers.read()) === null ? await cpuShare(300) : 1;
    full.host.close();
    await reader.wait();
    say({ unread, room, gone, ended });`)
  // A loop that is turned by what nobody takes would use a processor whole.
  for (const [what, share] of Object.entries(said ?? { nothing: 1 })) expect(share, what).toBeLessThan(0.3)
})

test.each(watches)('with %s as its watch a pipe that closes while a child is being born is forgotten [N-4, X-12]', async (_, reactor) => {
  const [said] = await hostSays<{ share: number; born: boolean }>(`${pipeHost(reactor)}
    const { child: writer, host } = pipe('childWrites');
    const waiting = host.read();
    await turn();
    require(${JSON.stringify(addonModule)}).addon().setTestHooks({ delayBeforeExecMs: 1500, noLoopWatch: ${String(reactor)} });
    const start = spawn({ program: '/bin/true', env: {} });
    await until('cloned', () => childrenOfHost().length === 1);
    // Until its exec the child has a copy of the reading end, and that is readable for good once the writer is gone.
    host.close();
    writer.close();
    await waiting.catch(() => {});
    const share = await cpuShare(300);
    const born = childrenOfHost().length === 1;
    await (await start).wait();
    say({ share, born });`)
  expect(said?.born).toBe(true)
  expect(said?.share).toBeLessThan(0.3)
})

test.each(watches)('with %s as its watch a continuation runs in its context, before the next turn [X-12]', async (_, reactor) => {
  const [said] = await hostSays(`${pipeHost(reactor)}
    const { AsyncLocalStorage } = require('node:async_hooks');
    const storage = new AsyncLocalStorage();
    const { asks, answers, ask, child } = await echo();
    const seen = [];
    const waiting = storage.run('of the read', () => answers.read().then(() => {
      seen.push(storage.getStore());
      process.nextTick(() => seen.push('tick ' + storage.getStore()));
      queueMicrotask(() => seen.push('microtask'));
    }));
    await storage.run('of another', () => ask('x'));
    await waiting;
    await new Promise((ticked) => process.nextTick(ticked));
    asks.close();
    answers.close();
    await child.wait();
    say(seen);`)
  expect(said).toEqual(['of the read', 'microtask', 'tick of the read'])
})

test.each(watches)('with %s as its watch an error in a continuation is an uncaught exception [X-12]', async (_, reactor) => {
  const [said] = await hostSays(`${pipeHost(reactor)}
    const { asks, answers, ask, child } = await echo();
    const caught = new Promise((resolve) => process.once('uncaughtException', (error) => resolve(error.message)));
    answers.read().then(() => process.nextTick(() => { throw new Error('of the user') }));
    await ask('x');
    const message = await caught;
    const next = answers.read();
    await ask('y');
    say([message, String(await next)]);
    asks.close();
    answers.close();
    await child.wait();`)
  expect(said).toEqual(['of the user', 'y\n'])
})

test.each(watches)('with %s as its watch pipes can be closed while one of them is told [P-5, X-12]', async (_, reactor) => {
  const [said] = await hostSays<string[]>(`${pipeHost(reactor)}
    const outcomes = new Set();
    for (let round = 0; round < ${rounds(20)}; round++) {
      const ends = [1, 2, 3, 4].map(() => pipe('childWrites'));
      const closeAll = () => ends.forEach(({ host }) => host.close());
      const reads = ends.map(({ host }) => host.read().then(
        () => closeAll() ?? 'read',
        ({ code }) => code,
      ));
      await turn();
      // All four ready at once; the first one told closes itself and the others.
      ends.forEach(({ child }) => child.close());
      for (const outcome of await Promise.all(reads)) outcomes.add(outcome);
    }
    say([...outcomes].sort());`)
  expect(said).toContain('read')
  // The loop runs what waits for one pipe before it tells of the next; the reactor tells of all in one batch.
  if (!reactor) expect(said).toContain('ERR_PIPE_CLOSED')
})

test.each(watches)('with %s as its watch, workers that end amid exchanges leave nothing [B094, N-17]', async (_, reactor) => {
  const body = `
    hooks({ noLoopWatch: ${String(reactor)} });
    const never = () => {};
    for (let index = 0; index < 4; index++) {
      const [asks, answers] = [xs.pipe('childReads'), xs.pipe('childWrites')];
      const fds = { 3: asks.child, 4: answers.child };
      xs.spawn({ program: fixture, args: ['echo-lines', '3', '4'], env: {}, fds }).catch(never);
      (async () => { for (;;) await asks.host.write(Buffer.alloc(100, 'x\\n')) })().catch(never);
      (async () => { for await (const chunk of answers.host.bytes()) if (chunk.length % 5 === 0) await null })().catch(never);
      asks.host.peerClosed().catch(never);
    }
    tell('busy');`
  await expectNothingOfEndedWorkers(body, { rounds: rounds(15), once: 'busy', belowMs: 60 })
}, 120_000)

test('a worker that ends by itself with pipes that have waited ends at once [N-17, B091]', async () => {
  const [said] = await hostSays<number[]>(
    `${workerHost}
    const codes = [];
    for (let round = 0; round < ${rounds(10)}; round++) {
      const worker = inWorker(\`
        const { child, host } = globalThis.kept = xs.pipe('childWrites');
        await xs.spawn({ program: fixture, args: ['text', 'x', '3', '--', 'pause'], env: {}, fds: { 3: child } }).then((child) => child.unref());
        await host.read();
        host.read({ timeoutMs: 5 }).catch(() => {});
      \`);
      codes.push((await once(worker, 'exit'))[0]);
    }
    say(codes);`,
  )
  expect(said).toEqual(Array.from({ length: rounds(10) }, () => 0))
})
