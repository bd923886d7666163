/** A handle that is given up, on purpose or by nobody reaching it any more. */
import { capture, spawn } from 'exactspawn'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { dist } from '../../support/fixture.js'
import { hostSays, runHost } from '../../support/host.js'
import { alive, childrenOf, groupMembers, processFacts } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, until, within } from '../../support/until.js'
import { announced, checkedPid, endMembers, env, escapee, fixture, gone } from './children.js'
import { hostTools, logged, rounds, shell } from './children.js'

test('a block that is left by an exception leaves nothing of its child\'s group [M-45, P-7]', async () => {
  let group: number[] = []
  const block = async () => {
    await using child = await fixture('ignore TERM INT HUP -- fork-ignore TERM 60000 -- fork-pause 1 -- pause')
    group = [child.pid, ...(await announced(child, 2))]
    throw new Error('left')
  }
  await expect(block()).rejects.toThrow('left')
  expect(group).toHaveLength(3)
  expect(group.filter(alive)).toEqual([])
  expect(processFacts(group[0] as number)).toBeUndefined()
})

test('a second dispose does nothing, and so does one after the end [M-45]', async () => {
  const child = await shell('exec sleep 60')
  await Promise.all([child[Symbol.asyncDispose](), child[Symbol.asyncDispose]()])
  await child[Symbol.asyncDispose]()
  expect(await child.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'drop' })

  const ended = await shell('exit 3')
  const exit = await ended.wait()
  await ended[Symbol.asyncDispose]()
  expect(await ended.wait()).toBe(exit)
})

test('a dispose after the exit reaps and tells no other end [M-45, P-8]', async () => {
  const child = await fixture('fork-pause 1 -- exit 7')
  await until('the exit', () => child.tryWait())
  await child[Symbol.asyncDispose]()
  expect(groupMembers(child.pid)).toEqual([])
  expect(processFacts(child.pid)).toBeUndefined()
  expect(await child.wait()).toMatchObject({ code: 7, endedBy: 'self' })
})

test('a dispose settles the waits and terminates that are pending [M-45, P-5]', async () => {
  const child = await fixture('ignore TERM -- pause')
  await logged(child, 'ready')
  const pending = [child.wait(), child.terminate({ graceMs: 60_000 })]
  await child[Symbol.asyncDispose]()
  const [waited, terminated] = await Promise.all(pending)
  expect(waited).toMatchObject({ signal: 'SIGKILL' })
  expect(terminated).toBe(waited)
})

test('a dispose does not wait for an escapee that holds the output [M-45, B048, P-5]', async () => {
  const child = await fixture('setsid-and-hold 1 20000 -- pause', { drainMs: 60_000 })
  const [holder] = (await announced(child, 1)) as [number]
  escapee(holder)
  const { ms } = await timed(() => child[Symbol.asyncDispose]())
  expect(ms).toBeLessThan(within(1_000))
  expect(processFacts(child.pid)).toBeUndefined()
  expect(await child.wait()).toMatchObject({ endedBy: 'drop', logs: { 1: { complete: false } } })
})

test('a detached child that is let go of lives on, and is waited for or reaped at its end [X-09, P-5]', async () => {
  const file = { file: join(tmpFolder(), 'log'), mode: 'write' } as const
  const spec = { program: '/bin/sh', env, owner: 'detached', fds: { 1: file } } as const
  const child = await spawn({ ...spec, args: ['-c', 'read _ || exec sleep 60'] })
  const before = child.wait({ timeoutMs: 20_000 })
  await child[Symbol.asyncDispose]()
  await child[Symbol.asyncDispose]()
  expect(alive(child.pid)).toBe(true)
  const after = child.wait()
  expect(child.kill()).toBe(true)
  expect(await after).toMatchObject({ signal: 'SIGKILL', endedBy: 'kill' })
  expect(await before).toBe(await after)

  const unheard = await spawn({ ...spec, args: ['-c', 'exit 0'] })
  await unheard[Symbol.asyncDispose]()
  await until('no zombie', () => processFacts(unheard.pid) === undefined)
})

test('a detached child that nobody holds is still ended by the signal of its lifetime [X-09, B087]', async () => {
  const abort = new AbortController()
  const start = async () => {
    const lifetime = { signal: abort.signal }
    const child = await spawn({ program: '/bin/sleep', args: ['60'], env, owner: 'detached', lifetime })
    return { handle: new WeakRef(child), pid: escapee(child.pid, '/bin/sleep') }
  }
  const { handle, pid } = await start()
  await until('no handle', async () => {
    await turn()
    ;(globalThis.gc as () => void)()
    return handle.deref() === undefined
  })
  // What follows a collection comes in turns of its own.
  for (let i = 0; i < 9; i++) await turn()
  expect(alive(pid)).toBe(true)
  abort.abort()
  await gone(pid)
})

test('a detached child takes no pipe and no capture, for they end with the host [X-09]', async () => {
  for (const source of ['pipe', capture({ headBytes: 1 })] as const) {
    const spec = { program: '/bin/true', env, owner: 'detached', fds: { 1: source } } as const
    await expect(spawn(spec)).rejects.toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'fds.1' } })
  }
})

test('a detached child outlives its host, and its group with it [X-09]', async () => {
  const log = join(tmpFolder(), 'log')
  for (const end of ['process.exit(0)', 'process.abort()', "process.kill(process.pid, 'SIGKILL')", '']) {
    const { stdout } = await runHost(
      `const child = await spawn({
        program: '/bin/sh', args: ['-c', 'trap "" HUP; sleep 60 & exec sleep 60'], env: { PATH: '/usr/bin:/bin' },
        owner: 'detached', fds: { 1: { file: ${JSON.stringify(log)}, mode: 'write' } },
      });
      child.unref();
      say(child.pid);
      ${end}`,
    )
    const pid = checkedPid(Number(stdout))
    // Its shell may be about to fork still when the host has ended.
    const members = await until(`a group of two after ${end}`, () => {
      const found = groupMembers(pid)
      return found.length === 2 && found
    })
    expect(members, end).toContain(pid)
    await endMembers('sleep', ...members)
  }
})

test('two hundred children that nobody can reach are killed and reaped [B068, M-45, P-7]', async () => {
  const [said] = await hostSays<{ left: string[] }>(
    `${hostTools}
    const start = () => shell('exec sleep 60', { fds: { 1: capture({ headBytes: 9 }), 2: 'pipe' } });
    for (let count = 0; count < ${rounds(200)}; count += 20) await Promise.all(Array.from({ length: 20 }, start));
    const left = await until('all gone', () => {
      gc();
      return childrenOfHost().length === 0;
    }).catch(childrenOfHost);
    say({ left: left === true ? [] : left });`,
    { nodeArgs: ['--expose-gc'] },
  )
  expect(said?.left).toEqual([])
})

test('children that end after their handles were collected are reaped and not killed [B068, X-09]', async () => {
  const folder = tmpFolder()
  const [said] = await hostSays<{ left: string[] }>(
    `${hostTools}
    const start = (_, index) => shell('sleep 0.2; echo done > ${folder}/' + index, { owner: 'detached' });
    await Promise.all(Array.from({ length: 30 }, start));
    gc();
    await until('done', () => { gc(); return fs.readdirSync(${JSON.stringify(folder)}).length === 30 });
    const left = await until('all gone', () => childrenOfHost().length === 0).catch(childrenOfHost);
    say({ left: left === true ? [] : left });`,
    { nodeArgs: ['--expose-gc'] },
  )
  expect(said?.left).toEqual([])
})

test('children of a worker thread that ends leave no zombie and no process [B068, M-45]', async () => {
  const [said] = await hostSays<{ left: string[] }>(`${hostTools}
    const { Worker } = require('node:worker_threads');
    const body = ${JSON.stringify(`
      const { spawn } = require(require('node:worker_threads').workerData);
      const start = () => spawn({ program: '/bin/sleep', args: ['60'], env: {} });
      Promise.all(Array.from({ length: 20 }, start)).then(() => process.exit(0));`)};
    const worker = new Worker(body, { eval: true, workerData: ${JSON.stringify(dist)} });
    await new Promise((resolve) => worker.once('exit', resolve));
    const left = await until('all gone', () => childrenOfHost().length === 0).catch(childrenOfHost);
    say({ left: left === true ? [] : left });`)
  expect(said?.left).toEqual([])
})

test('a pending call keeps the child of a handle that nobody else holds [M-45, P-7]', async () => {
  const [said] = await hostSays<Record<string, unknown>>(
    `${hostTools}
    const collect = async () => { for (let turn = 0; turn < 20; turn++) { gc(); await pause(5) } };
    const wait = (await shell('sleep 0.3; exit 5')).wait();
    const script = 'trap "sleep 0.3; exit 6" TERM; echo up >&2; while :; do sleep 0.01; done';
    const terminate = await shell(script, { fds: { 2: 'pipe' } });
    await new Promise((resolve) => terminate.stderr.once('data', resolve));
    const reads = xs.pipe('childWrites');
    await shell('sleep 0.3; echo read >&3', { fds: { 3: reads.child } });
    const ended = terminate.terminate({ graceMs: 10000 });
    const read = reads.host.read();
    await collect();
    say({ wait: (await wait).code, terminate: (await ended).code, read: String(await read) });`,
    { nodeArgs: ['--expose-gc'] },
  )
  expect(said).toEqual({ wait: 5, terminate: 6, read: 'read\n' })
})

test('a child that is held is not dropped by a collection [P-7]', async () => {
  const child = await shell('echo up; read _ || exec sleep 60')
  await logged(child, 'up')
  for (let turn = 0; turn < 5; turn++) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(child.tryWait()).toBeNull()
  expect(childrenOf()).toContain(child.pid)
  await child[Symbol.asyncDispose]()
})

test('nothing of the host is changed by children that came and went [P-10, P-7]', async () => {
  const status = () => readFileSync('/proc/self/status', 'utf8').match(/^(Umask|SigBlk|SigIgn|SigCgt|Groups|NoNewPrivs):.*$/gm)
  const before = [process.cwd(), status()]
  for (const guard of [true, false]) await (await shell('exit 0', { guard, umask: 0, cwd: '/' })).wait()
  expect([process.cwd(), status()]).toEqual(before)
})
