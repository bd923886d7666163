import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import type { SpawnSpec } from 'exactspawn'
import { MiB, capture, pipe, spawn } from 'exactspawn'
import { audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'

const start = (args: string[], fds: SpawnSpec['fds'] = {}) => spawn({ program: fixtureChild(), args, env: {}, fds })
const shell = (script: string, fds: SpawnSpec['fds'] = {}) => {
  return spawn({ program: '/bin/sh', args: ['-c', script], env: { PATH: '/usr/bin:/bin' }, fds })
}
const both: SpawnSpec['fds'] = { 0: 'pipe', 1: 'pipe', 2: 'pipe' }

async function collect(stream: Readable | null): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream as Readable) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Waits until the child sleeps in a system call, here a read or a write that waits. */
const blocked = (pid: number) => until('the child asleep', () => processFacts(pid)?.state === 'S')

test('"pipe" is for 0, 1 and 2 only, and every other child stream is null [B035]', async () => {
  await expect(start([], { 3: 'pipe' } as never)).rejects.toMatchObject({ code: 'ERR_INVALID_SPEC', field: 'fds.3' })
  const child = await start([])
  expect([child.stdin, child.stdout, child.stderr]).toEqual([null, null, null])
  await child.wait()
})

test('child streams are FIFOs that can be opened by path [B035]', async () => {
  const child = await shell('echo hi > /dev/stderr; cat /dev/stdin', both)
  child.stdin?.end('zz')
  const [out, err] = await Promise.all([collect(child.stdout), collect(child.stderr)])
  expect(err.toString()).toBe('hi\n')
  expect(out.toString()).toBe('zz')
  expect((await child.wait()).code).toBe(0)
})

test('no stream of the child is non-blocking, and each is a FIFO of one direction [B036, B035]', async () => {
  const answers = pipe('childWrites')
  const report = await audit({ fds: { ...both, 4: answers.child } }, 3)
  for (const { fd, mode, statusflags } of report.fds) {
    expect(mode & 0o170000, `type of ${fd}`).toBe(0o010000)
    expect(statusflags & 0o4000, `O_NONBLOCK of ${fd}`).toBe(0)
    expect(statusflags & 3, `access mode of ${fd}`).toBe(fd === 0 ? 0 : 1)
  }
  expect(report.fds.map(({ fd }) => fd)).toEqual([0, 1, 2, 3, 4])
  answers.host.close()
})

test('a program whose output is not read for long waits and fails in nothing [B036]', async () => {
  const child = await spawn({ program: '/usr/bin/seq', args: ['1', '300000'], env: {}, fds: both })
  await blocked(child.pid)
  expect(child.tryWait()).toBeNull()
  const [out, err] = await Promise.all([collect(child.stdout), collect(child.stderr)])
  expect(out.length).toBe(1_988_895)
  expect(err.length).toBe(0)
  expect((await child.wait()).code).toBe(0)
})

test('10 MiB through cat come back whole, all written before anything is awaited [B039]', async () => {
  const sent = Buffer.from(Array.from({ length: 10 * MiB }, (_, index) => index % 251))
  const { ms } = await timed(async () => {
    const child = await spawn({ program: '/bin/cat', env: {}, fds: both })
    child.stdin?.end(sent)
    expect((await collect(child.stdout)).equals(sent)).toBe(true)
    expect((await child.wait()).code).toBe(0)
  })
  expect(ms).toBeLessThan(within(5_000))
})

test('a child that writes much before it reads is no deadlock [B039]', async () => {
  const child = await shell('head -c 1000000 /dev/zero; cat >/dev/null', both)
  child.stdin?.end(Buffer.alloc(MiB))
  expect((await collect(child.stdout)).length).toBe(1_000_000)
  expect((await child.wait()).code).toBe(0)
})

test('10 MiB through cat come back also for a user whose pipes have shrunk to a page or two [B039]', async () => {
  const [small, echoed, ms] = (await hostSays<number>(
    `
    // 16384 pages are a user's before every new pipe is small, pipe(7); these take more than that.
    const held = Array.from({ length: 1100 }, () => pipe('childReads'));
    const { host, child: end } = pipe('childReads');
    const { bytesWritten } = await host.write(Buffer.alloc(1 << 20), { timeoutMs: 10 }).catch((error) => error);
    say(bytesWritten);
    const start = performance.now();
    const child = await spawn({ program: '/bin/cat', env: {}, fds: { 0: 'pipe', 1: 'pipe' } });
    child.stdin.end(Buffer.alloc(10 << 20));
    let echoed = 0;
    for await (const chunk of child.stdout) echoed += chunk.length;
    await child.wait();
    say(echoed);
    say(performance.now() - start);
    process.exit(0)`,
    { uid: 65534, gid: 65534 },
  )) as [number, number, number]
  expect(small).toBeLessThan(65_536)
  expect(echoed).toBe(10 * MiB)
  expect(ms).toBeLessThan(within(5_000))
})

test('a child that does not read holds the writes back until it does [M-14]', async () => {
  const gate = pipe('childReads')
  const args = ['cat', '3', '4', '--', 'read-to-eof', '0']
  const child = await start(args, { 0: 'pipe', 1: capture({ headBytes: 99 }), 3: gate.child, 4: 'null' })
  const stdin = child.stdin as Writable
  let called = 0
  expect(stdin.write(Buffer.alloc(MiB), () => called++)).toBe(false)
  expect(stdin.write(Buffer.alloc(MiB), () => called++)).toBe(false)
  await blocked(child.pid)
  expect(called).toBe(0)
  expect(stdin.writableLength).toBe(2 * MiB)
  gate.host.close()
  stdin.end()
  expect((await child.wait()).logs[1]?.text()).toBe(`eof ${2 * MiB}\n`)
  expect(called).toBe(2)
})

test('a stream that nobody reads takes no more than its buffer from the child [M-14]', async () => {
  const child = await start(['pattern', '1000000', '1'], { 1: 'pipe' })
  const stdout = child.stdout as Readable
  stdout.once('readable', () => {})
  await blocked(child.pid)
  await until('the buffer full', () => stdout.readableLength >= 65_536)
  expect(stdout.readableLength).toBeLessThanOrEqual(2 * 65_536)
  expect(child.tryWait()).toBeNull()
  expect((await collect(stdout)).length).toBe(1_000_000)
  await child.wait()
})

test('a write after the child is gone fails in its callback and ends neither host nor wait [B037]', async () => {
  const said = await hostSays<unknown>(`
    const child = await spawn({ program: '/bin/sh', args: ['-c', 'exit 7'], env: {}, fds: { 0: 'pipe' } });
    const exit = await child.wait();
    const closed = new Promise((resolve) => child.stdin.on('close', resolve));
    child.stdin.write(Buffer.alloc(64 << 20), (error) => say([error.code, error.cause.code]));
    await closed;
    child.stdin.write('x', (error) => say(error instanceof Error));
    child.stdin.end();
    child.stdin.destroy();
    setImmediate(() => say(exit.code));`)
  expect(said).toEqual([['ERR_PIPE_WRITE_FAILED', 'EPIPE'], true, 7])
})

test('destroying a stream closes it towards the child: its writer is told [M-31]', async () => {
  const fds = { 1: 'pipe', 2: capture({ headBytes: 99 }) } as const
  const child = await start(['ignore', 'PIPE', '--', 'write-until-error', '1'], fds)
  await blocked(child.pid)
  child.stdout?.destroy()
  const exit = await child.wait()
  expect(exit.code).toBe(0)
  expect(exit.logs[2]?.text()).toBe('ready\nerrno EPIPE\n')
})

test('a child with the default action dies of SIGPIPE when its reader is destroyed [M-31]', async () => {
  const child = await start(['write-until-error', '1'], { 1: 'pipe' })
  child.stdout?.destroy()
  expect((await child.wait()).signal).toBe('SIGPIPE')
})

test('ending stdin is the end for the child, with every byte before it [M-08]', async () => {
  const child = await start(['read-to-eof', '0'], { 0: 'pipe', 1: 'pipe' })
  child.stdin?.write('one')
  child.stdin?.end('two')
  expect((await collect(child.stdout)).toString()).toBe('eof 6\n')
  await child.wait()
})

test('destroying stdin in the middle of a write is the end for the child too [M-08]', async () => {
  const child = await start(['stop-reading', '3', '--', 'pause'], { 0: 'pipe', 3: 'null' })
  const failed = new Promise<Error | null | undefined>((resolve) => child.stdin?.write(Buffer.alloc(MiB), resolve))
  child.stdin?.destroy()
  expect(await failed).toBeInstanceOf(Error)
  expect(child.stdin?.destroyed).toBe(true)
  child.kill()
  await child.wait()
})

test('streams go on after the exit until all that was written has been read [B038]', async () => {
  const child = await shell('head -c 30000 /dev/zero; printf END >&2; kill -9 $$', both)
  expect((await child.wait()).signal).toBe('SIGKILL')
  expect((await collect(child.stdout)).length).toBe(30_000)
  expect((await collect(child.stderr)).toString()).toBe('END')
})

test('a wait for a child does not end its streams: a slow reader gets everything [B038]', async () => {
  const script = 'head -c 1048576 /dev/zero; printf END >&2; kill -9 $$'
  const child = await shell(script, { 1: 'pipe', 2: capture({ headBytes: 9 }) })
  const exit = child.wait()
  let bytes = 0
  for await (const chunk of child.stdout as Readable) {
    bytes += (chunk as Buffer).length
    await new Promise(setImmediate)
  }
  expect(bytes).toBe(1_048_576)
  expect((await exit).signal).toBe('SIGKILL')
  expect((await exit).logs[2]?.text()).toBe('END')
})

test('pipeline joins two children [M-14]', async () => {
  const from = await start(['pattern', '500000', '1'], { 1: 'pipe' })
  const to = await start(['read-to-eof', '0'], { 0: 'pipe', 1: capture({ headBytes: 99 }) })
  await pipeline(from.stdout as Readable, to.stdin as Writable)
  expect((await to.wait()).logs[1]?.text()).toBe('eof 500000\n')
  await from.wait()
})
