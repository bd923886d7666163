/** The end of a worker thread, at any moment of what it has begun. */
import { expect, test } from 'vitest'
import { hostSays } from '../support/host.js'
import { expectNothingOfEndedWorkers, rounds, workerHost } from './worker-host.js'

// Children that never end, eight reads that wait, logs that grow: all of it is in flight when the worker ends.
const busyWorker = `
  const loop = 'while :; do sleep 0.05; done';
  const flood = 'while :; do head -c 65536 /dev/zero; sleep 0.05; done';
  const never = () => {};
  for (let index = 0; index < 10; index++) {
    const pipes = Array.from({ length: index === 0 ? 8 : 0 }, () => xs.pipe('childWrites'));
    for (const { host } of pipes) host.read().catch(never);
    const fds = { 1: xs.capture({ headBytes: 1024, tailBytes: 1024 }) };
    pipes.forEach(({ child }, at) => (fds[3 + at] = child));
    xs.spawn({ program: '/bin/sh', args: ['-c', index % 2 ? flood : loop], env: { PATH: '/usr/bin:/bin' }, fds })
      .then((child) => child.wait())
      .catch(never);
  }
  tell('busy');
`

test('workers that end at random moments leave neither crash, child, descriptor nor thread [B094, M-45]', async () => {
  await expectNothingOfEndedWorkers(busyWorker, { rounds: rounds(40), once: 'online', belowMs: 100 })
}, 120_000)

interface Ended {
  children: number
  moreFds: number
}

// Ends one worker once it has told how many children there are to be seen, and they are; says what it leaves.
const endWorker = (body: string) => `${workerHost}
  await once(inWorker("await (await xs.spawn({ program: '/bin/true', env: {} })).wait()"), 'exit');
  const before = resources().fds;
  const worker = inWorker(${JSON.stringify(body)});
  const { children } = await told(worker);
  await until('there', () => childrenOfHost().length === children);
  await worker.terminate();
  await until('no child', () => childrenOfHost().length === 0);
  await until('closed', () => resources().fds <= before).catch(() => {});
  say({ children: childrenOfHost().length, moreFds: Math.max(0, resources().fds - before) });
`

test('a worker that ends in the middle of a start leaves no child of it [N-17, M-45]', async () => {
  const [said] = await hostSays<Ended>(
    endWorker(`
      hooks({ delayBeforeExecMs: 400 });
      xs.spawn({ program: fixture, args: ['pause'], env: {}, fds: { 3: xs.pipe('childWrites').child } });
      tell({ children: 1 });
    `),
  )
  expect(said).toEqual({ children: 0, moreFds: 0 })
})

test('a worker that ends while a log is drained closes the log, whoever still writes to it [N-17]', async () => {
  const [said] = await hostSays<{ moreFds: number; held: boolean }>(
    `${workerHost}
    await once(inWorker("await (await xs.spawn({ program: '/bin/true', env: {} })).wait()"), 'exit');
    const before = resources().fds;
    const worker = inWorker(\`
      const fds = { 1: xs.capture({ headBytes: 1024 }) };
      const child = await xs.spawn({ program: fixture, args: ['setsid-and-hold', '1', '20000'], env: {}, fds, drainMs: 60_000 });
      child.wait();
      // The leader may be gone before its last words have been read.
      const seen = () => {
        const text = child.log(1).snapshot().text();
        if (child.tryWait() === null || !text.includes('held')) setImmediate(seen);
        else tell(text);
      };
      seen();
    \`);
    const holder = Number(/^held ([0-9]+)/.exec(await told(worker))[1]);
    await worker.terminate();
    await until('closed', () => resources().fds <= before).catch(() => {});
    const held = fs.existsSync('/proc/' + holder);
    if (held && holder > 1) process.kill(holder, 'SIGKILL');
    say({ moreFds: Math.max(0, resources().fds - before), held });`,
  )
  expect(said).toEqual({ moreFds: 0, held: true })
})

test('a worker that ends within a grace does not wait for it [N-17, M-45]', async () => {
  const [said] = await hostSays<Ended>(
    endWorker(`
      const fds = { 2: xs.capture({ headBytes: 1024 }) };
      const child = await xs.spawn({ program: fixture, args: ['ignore', 'TERM', '--', 'pause'], env: {}, fds });
      const ready = () => {
        if (!child.log(2).snapshot().text().includes('ready')) return setImmediate(ready);
        child.terminate({ graceMs: 60_000 });
        tell({ children: 1 });
      };
      ready();
    `),
  )
  expect(said).toEqual({ children: 0, moreFds: 0 })
})

test('a detached child outlives its worker and leaves no zombie when it ends [B094, M-45]', async () => {
  const [said] = await hostSays<{ lived: boolean; children: number }>(
    `${workerHost}
    const worker = inWorker(\`
      const spec = { program: fixture, args: ['--ready-fd', 'none', 'pause'], env: {}, owner: 'detached' };
      tell((await xs.spawn(spec)).pid);
    \`);
    const pid = await told(worker);
    await worker.terminate();
    const lived = childrenOfHost().includes(pid) && /[)] [^ZX] /.test(read('/proc/' + pid + '/stat'));
    if (pid > 1 && lived) process.kill(pid, 'SIGKILL');
    await until('reaped', () => childrenOfHost().length === 0);
    say({ lived, children: childrenOfHost().length });`,
  )
  expect(said).toEqual({ lived: true, children: 0 })
})

test.each([
  ['calls process.exit', 'process.exit(3)', 3],
  ['throws in a continuation', "throw new Error('of the user')", 1],
  ['returns with the child unreferenced', 'child.unref()', 0],
])('a child ends with its worker, which %s [N-17, P-7]', async (_, ending, code) => {
  const [said] = await hostSays<{ pid: number; code: number; children: number }>(
    `${workerHost}
    const worker = inWorker(\`
      xs.spawn({ program: fixture, args: ['pause'], env: {} }).then((child) => {
        tell(child.pid);
        ${ending};
      });
    \`);
    worker.on('error', () => {});
    const [pid, code] = await Promise.all([told(worker), new Promise((ended) => worker.on('exit', ended))]);
    await until('no child', () => childrenOfHost().length === 0);
    say({ pid, code, children: childrenOfHost().length });`,
  )
  expect(said).toEqual({ pid: expect.any(Number), code, children: 0 })
})

test.each([
  ['any start is done', "{ 1: xs.capture({ headBytes: 1 }), 3: xs.pipe('childReads').child }"],
  ['their turn has come', "{ 3: xs.pipe('childReads').child, 4: { hostFd: 2, nonblock: 'keep' } }"],
])('a worker that ends before %s drops all starts [N-17]', async (_, fds) => {
  const [said] = await hostSays<Ended & { code: number }>(
    `${workerHost}
    await once(inWorker("await (await xs.spawn({ program: '/bin/true', env: {} })).wait()"), 'exit');
    const before = resources().fds;
    const worker = inWorker(\`
      for (let index = 0; index < 100; index++) {
        xs.spawn({ program: fixture, args: ['pause'], env: {}, fds: ${fds} });
      }
      process.exit(7);
    \`);
    const [code] = await once(worker, 'exit');
    await until('no child', () => childrenOfHost().length === 0);
    await until('closed', () => resources().fds <= before).catch(() => {});
    say({ code, children: childrenOfHost().length, moreFds: Math.max(0, resources().fds - before) });`,
  )
  expect(said).toEqual({ code: 7, children: 0, moreFds: 0 })
})

test('the package works in worker after worker of a host that never loads it [N-17, B096]', async () => {
  const [said] = await hostSays<string[]>(
    `${workerHost}
    const texts = [];
    for (let round = 0; round < ${rounds(20)}; round++) {
      const worker = inWorker(\`
        const { child, host } = xs.pipe('childWrites');
        const fds = { 1: xs.capture({ headBytes: 9 }), 3: child };
        const started = await xs.spawn({ program: fixture, args: ['text', 'log', '--', 'text', 'pipe', '3'], env: {}, fds });
        const chunk = await host.read();
        tell((await started.wait()).logs[1].text() + chunk);
      \`);
      const [text] = await Promise.all([told(worker), once(worker, 'exit')]);
      texts.push(text);
    }
    say(texts);`,
  )
  expect(said).toEqual(Array.from({ length: rounds(20) }, () => 'logpipe'))
})

test('handles that are collected while their worker ends crash nothing [N-17]', async () => {
  const [said] = await hostSays<{ codes: number[]; children: number }>(
    `${workerHost}
    const codes = [];
    for (let round = 0; round < ${rounds(10)}; round++) {
      const worker = inWorker(\`
        const spawnOne = async () => {
          const { child, host } = xs.pipe('childReads');
          await xs.spawn({ program: fixture, args: ['pause'], env: {}, fds: { 1: 'pipe', 3: child } });
          xs.pipe('childWrites');
          return new WeakRef(host);
        };
        const refs = await Promise.all([1, 2, 3, 4].map(spawnOne));
        for (let turn = 0; turn < data; turn++) await new Promise((resolve) => setImmediate(resolve));
        gc();
        setImmediate(() => process.exit(refs.length));
      \`, round);
      codes.push((await once(worker, 'exit'))[0]);
    }
    await until('no child', () => childrenOfHost().length === 0);
    say({ codes, children: childrenOfHost().length });`,
    { nodeArgs: ['--expose-gc'] },
  )
  expect(said).toEqual({ codes: Array.from({ length: rounds(10) }, () => 4), children: 0 })
})
