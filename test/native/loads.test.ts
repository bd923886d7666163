/** The addon loaded more than once in one process: by many threads at once, by other paths, registries and contexts. */
import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addonFile } from '../../lib/addon/addon.js'
import { dist, root } from '../support/fixture.js'
import { hostSays } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'
import { addonModule, workerHost } from './worker-host.js'

/** A second copy of the compiled package, with a second copy of the binary. */
function packageCopy(): string {
  const folder = tmpFolder()
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  mkdirSync(join(folder, 'build', 'Release'), { recursive: true })
  copyFileSync(addonFile(), join(folder, 'build', 'Release', 'exactspawn.node'))
  return join(folder, 'dist', 'index.js')
}

test('a child or endpoint of another copy of the package is refused by a typed error [B096]', async () => {
  const [said] = await hostSays(`
    const other = require(${JSON.stringify(packageCopy())});
    const code = (promise) => promise.then(() => 'started', (error) => [error.code, error.field]);
    const child = await other.spawn({ program: fixture, args: ['pause'], env: {} });
    const { child: endpoint } = other.pipe('childReads');
    say([
      await code(spawn({ program: '/bin/true', env: {}, group: { join: child } })),
      await code(spawn({ program: '/bin/true', env: {}, fds: { 3: endpoint } })),
    ]);
    child.kill();
    await child.wait();
  `)
  expect(said).toEqual([
    ['ERR_INVALID_SPEC', 'group.join'],
    ['ERR_INVALID_SPEC', 'fds.3'],
  ])
})

test('numbers of one environment mean nothing in another [B096]', async () => {
  const [said] = await hostSays(
    `${workerHost}
    const native = require(${JSON.stringify(addonModule)}).addon();
    const child = await spawn({ program: fixture, args: ['pause'], env: {}, fds: { 1: capture({ headBytes: 1 }) } });
    const { host } = pipe('childReads');
    const worker = inWorker(\`
      const native = require(data).addon();
      await (await xs.spawn({ program: '/bin/true', env: {} })).wait();
      const answers = new Set();
      for (let number = 0; number < 8192; number++) {
        native.drop(number);
        native.dropFd(number);
        native.pipeClose(number);
        answers.add([native.kill(number, 2), native.signal(number, 9, true), native.peek(number), native.log(number, 1)].join());
        answers.add([native.pipeRead(number, new Uint8Array(1)), native.pipeTake(number)].join());
      }
      tell([...answers]);
    \`, ${JSON.stringify(addonModule)});
    const answers = await told(worker);
    say({ answers, running: child.tryWait() === null, writable: await host.write(Buffer.from('x')).then(() => true) });
    child.kill();
    await child.wait();`,
  )
  // ESRCH and EBADF
  expect(said).toEqual({ answers: ['3,3,,', '-9,-1'], running: true, writable: true })
})

test('the package loads in the main thread and eight workers at the same time [B096, P-10]', async () => {
  const [said] = await hostSays<number[]>(
    `${workerHost}
    const body = "tell((await (await xs.spawn({ program: fixture, args: ['exit', String(data)], env: {} })).wait()).code)";
    const workers = Array.from({ length: 8 }, (_, index) => told(inWorker(body, 11 + index)));
    const own = spawn({ program: fixture, args: ['exit', '10'], env: {} }).then((child) => child.wait());
    say([(await own).code, ...(await Promise.all(workers))]);`,
  )
  expect(said).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18])
})

test('the end of a worker ends none of the children of another environment [B096]', async () => {
  const [said] = await hostSays(
    `${workerHost}
    const mine = await spawn({ program: fixture, args: ['pause'], env: {} });
    const worker = inWorker("tell((await xs.spawn({ program: fixture, args: ['pause'], env: {} })).pid)");
    const pid = await told(worker);
    await worker.terminate();
    await until('gone', () => !fs.existsSync('/proc/' + pid));
    const running = mine.tryWait() === null;
    mine.kill();
    say({ running, signal: (await mine.wait()).signal });`,
  )
  expect(said).toEqual({ running: true, signal: 'SIGKILL' })
})

test.each([
  ['a copy', copyFileSync],
  ['a symbolic link', symlinkSync],
])('the binary works a second time through %s [B096]', async (_, make) => {
  const path = join(tmpFolder(), 'second.node')
  make(addonFile(), path)
  const [said] = await hostSays(`
    const second = { exports: {} };
    const own = await spawn({ program: fixture, args: ['pause'], env: {} });
    process.dlopen(second, ${JSON.stringify(path)});
    let heard = 0;
    second.exports.attach(new Float64Array(1000), (count) => (heard += count), null);
    second.exports.setReferenced(true);
    const task = second.exports.capabilities();
    while (heard === 0) await new Promise((resolve) => setImmediate(resolve));
    second.exports.setReferenced(false);
    const running = own.tryWait() === null;
    own.kill();
    say({ probed: typeof second.exports.taskResult(task).pidfd, running, signal: (await own.wait()).signal });
  `)
  expect(said).toEqual({ probed: 'boolean', running: true, signal: 'SIGKILL' })
})

test('two copies of the package work side by side [B096, P-10]', async () => {
  const [said] = await hostSays(`
    const other = require(${JSON.stringify(packageCopy())});
    const run = async ({ spawn, capture }, word) => {
      const fds = { 1: capture({ headBytes: 9 }) };
      return (await (await spawn({ program: fixture, args: ['text', word], env: {}, fds })).wait()).logs[1].text();
    };
    say(await Promise.all([run(xs, 'a'), run(other, 'b'), run(xs, 'c'), run(other, 'd')]));
  `)
  expect(said).toEqual(['a', 'b', 'c', 'd'])
})

test('the package works in a module registry that was emptied, and from an ES module [B096]', async () => {
  const path = join(tmpFolder(), 'user.mjs')
  const lines = ["import { createRequire } from 'node:module'", 'const require = createRequire(import.meta.url)']
  writeFileSync(path, `${lines.join('\n')}\nexport const xs = require(${JSON.stringify(dist)})\n`)
  const [said] = await hostSays(`
    const run = async ({ spawn }) => (await (await spawn({ program: '/bin/true', env: {} })).wait()).code;
    const codes = [await run(xs), await run((await import(${JSON.stringify(path)})).xs)];
    // Binaries stay, as in a test runner that gives each file a registry of its own.
    for (const name of Object.keys(require.cache)) if (!name.endsWith('.node')) delete require.cache[name];
    const again = require(${JSON.stringify(dist)});
    codes.push(await run(again), await run(xs));
    say({ codes, fresh: again.spawn !== xs.spawn });
  `)
  expect(said).toEqual({ codes: [0, 0, 0, 0], fresh: true })
})

// As a test runner does that gives each file a realm of its own: its Uint8Array is not the one that Buffer extends.
test('the package works inside a vm context with globals of its own [B096]', async () => {
  const [said] = await hostSays(`
    const { createContext, runInContext } = require('node:vm');
    const { dirname, join } = require('node:path');
    const { readFileSync } = require('node:fs');
    const globals = { Buffer, TextDecoder, process, performance, setTimeout, clearTimeout, AbortController, AbortSignal };
    const context = createContext({ ...globals });
    const modules = new Map();
    const load = (path) => {
      if (modules.has(path)) return modules.get(path).exports;
      const module = { exports: {} };
      modules.set(path, module);
      const wrapped = '(function (exports, require, module, __filename, __dirname) {' + readFileSync(path, 'utf8') + '\\n})';
      const from = (name) => (name.startsWith('.') ? load(join(dirname(path), name)) : require(require.resolve(name, { paths: [path] })));
      runInContext(wrapped, context)(module.exports, from, module, path, dirname(path));
      return module.exports;
    };
    const inner = load(${JSON.stringify(dist)});
    const { child, host } = inner.pipe('childReads');
    const fds = { 0: { bytes: Buffer.from('bytes ') }, 1: inner.capture({ headBytes: 99 }), 3: child };
    const spec = { program: fixture, args: ['cat', '0', '1', '--', 'cat', '3', '1'], env: {}, fds, secrets: [Buffer.from('hidden')] };
    const started = await inner.spawn(spec);
    await host.write(Buffer.from('outer '));
    await host.write(runInContext('new Uint8Array([105, 110, 110, 101, 114])', context));
    await host.write(Buffer.from(' hidden'));
    host.close();
    say((await started.wait()).logs[1].text());
  `)
  expect(said).toBe('bytes outer inner [redacted]')
})
