import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { HostReader, SpawnSpec } from 'exactspawn'
import { AbortError, MiB, PipeError, capture, pipe, spawn } from 'exactspawn'
import { PIPE_CHUNK_BYTES, PIPE_TURN_BYTES } from '../../../lib/base/limits.js'
import { fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { timed, within } from '../../support/until.js'

const start = (args: string[], fds: SpawnSpec['fds'] = {}) => spawn({ program: fixtureChild(), args, env: {}, fds })
const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, index) => index % 251))

// Not in the library of types that is compiled against.
type Resizable = ArrayBuffer & { resize: (size: number) => void }
const Resizable = ArrayBuffer as unknown as new (size: number, options: { maxByteLength: number }) => Resizable

async function readAll(host: HostReader): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of host.bytes()) chunks.push(chunk)
  host.close()
  return Buffer.concat(chunks)
}

test('a pipe has one of two directions [M-14]', () => {
  expect(() => pipe('both' as never)).toThrow(TypeError)
})

test('a write of anything but bytes, or with a bound that is none, writes nothing [M-14]', async () => {
  const { child: end, host } = pipe('childReads')
  await expect(host.write('text' as never)).rejects.toThrow(TypeError)
  await expect(host.write(Buffer.from('x'), { timeoutMs: -1 })).rejects.toThrow(RangeError)
  await expect(host.write(Buffer.from('x'), { timeoutMs: '1' as never })).rejects.toThrow(TypeError)
  await expect(host.write(Buffer.from('x'), { signal: {} as never })).rejects.toThrow(TypeError)
  const child = await start(['read-to-eof', '3'], { 1: capture({ headBytes: 64 }), 3: end })
  host.close()
  expect((await child.wait()).logs[1]?.text()).toBe('eof 0\n')
})

test('a write whose bytes are taken away meanwhile says so, and how many the child will read [P-5, M-14]', async () => {
  const lost: ((buffer: Resizable) => void)[] = [
    (buffer) => void structuredClone(buffer, { transfer: [buffer] }),
    (buffer) => buffer.resize(99),
  ]
  for (const lose of lost) {
    const { child: end, host } = pipe('childReads')
    const buffer = new Resizable(MiB, { maxByteLength: MiB })
    const failed = host.write(new Uint8Array(buffer)).catch((thrown: unknown) => thrown)
    lose(buffer)
    const child = await start(['read-to-eof', '3'], { 1: capture({ headBytes: 64 }), 3: end })
    const error = (await failed) as PipeError & { bytesWritten: number }
    expect(error).toMatchObject({ code: 'ERR_PIPE_WRITE_FAILED', cause: { code: 'EFAULT' } })
    expect(error.bytesWritten).toBeGreaterThan(0)
    host.close()
    expect((await child.wait()).logs[1]?.text()).toBe(`eof ${error.bytesWritten}\n`)
  }
})

test('a write whose bytes grow meanwhile writes those that were there at the call [M-14]', async () => {
  const { child: end, host } = pipe('childReads')
  const buffer = new Resizable(MiB, { maxByteLength: 2 * MiB })
  const write = host.write(new Uint8Array(buffer))
  buffer.resize(2 * MiB)
  const child = await start(['read-to-eof', '3'], { 1: capture({ headBytes: 64 }), 3: end })
  await write
  host.close()
  expect((await child.wait()).logs[1]?.text()).toBe(`eof ${MiB}\n`)
})

test('a second read or write in flight is refused, and the first is not disturbed [P-5]', async () => {
  const answers = pipe('childWrites')
  const requests = pipe('childReads')
  const read = answers.host.read()
  await expect(answers.host.read()).rejects.toMatchObject({ code: 'ERR_PIPE_BUSY', operation: 'read' })
  const large = pattern(MiB)
  const write = requests.host.write(large)
  await expect(requests.host.write(large)).rejects.toMatchObject({ code: 'ERR_PIPE_BUSY', operation: 'write' })
  const gone = requests.host.peerClosed()
  await expect(requests.host.peerClosed()).rejects.toMatchObject({ code: 'ERR_PIPE_BUSY' })
  const child = await start(['cat', '3', '4'], { 3: requests.child, 4: answers.child })
  const first = await read
  const rest = readAll(answers.host)
  await write
  requests.host.close()
  await expect(gone).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  expect(Buffer.concat([first as Buffer, await rest]).equals(large)).toBe(true)
  await child.wait()
})

test('every byte value passes both ways unchanged [M-14, M-28]', async () => {
  const requests = pipe('childReads')
  const answers = pipe('childWrites')
  const child = await start(['cat', '3', '4'], { 3: requests.child, 4: answers.child })
  const sent = Buffer.from(Array.from({ length: 2 * MiB }, (_, index) => index % 256))
  const received = readAll(answers.host)
  await requests.host.write(sent)
  requests.host.close()
  expect((await received).equals(sent)).toBe(true)
  expect((await child.wait()).code).toBe(0)
})

test('a read gives at most 64 KiB, and after the end null every time [M-13]', async () => {
  const { child: end, host } = pipe('childWrites')
  const child = await start(['pattern', '1000000', '3'], { 3: end })
  let bytes = 0
  for await (const chunk of host.bytes()) {
    expect(chunk.length).toBeLessThanOrEqual(65_536)
    bytes += chunk.length
  }
  expect(bytes).toBe(1_000_000)
  expect(await host.read()).toBeNull()
  expect(await host.read()).toBeNull()
  host.close()
  await child.wait()
})

test('a child that writes faster than it is read does not keep the event loop from turning [P-3]', async () => {
  const { child: end, host } = pipe('childWrites')
  const child = await start(['flood', '0.5', '3'], { 3: end })
  let bytes = 0
  let atLastTurn = 0
  let most = 0
  const turned = () => {
    most = Math.max(most, bytes - atLastTurn)
    atLastTurn = bytes
    if (!host.closed) setImmediate(turned)
  }
  setImmediate(turned)
  for await (const chunk of host.bytes()) {
    bytes += chunk.length
    // As long as it takes the child to fill the pipe again.
    for (const begun = performance.now(); performance.now() - begun < 0.2; );
  }
  expect(bytes).toBeGreaterThan(4 * PIPE_TURN_BYTES)
  expect(Math.max(most, bytes - atLastTurn)).toBeLessThanOrEqual(PIPE_TURN_BYTES + PIPE_CHUNK_BYTES)
  host.close()
  await child.wait()
})

test('a read whose time is up gives what has come by then, though the loop was held up [P-5]', async () => {
  const { child: end, host } = pipe('childWrites')
  const child = await start(['sleep', '20', '--', 'text', 'in time', '3'], { 3: end })
  const read = host.read({ timeoutMs: 10 })
  // Held until both has happened: the timer is looked at first.
  for (const begun = performance.now(); child.tryWait() === null || performance.now() - begun < 20; );
  expect((await read)?.toString()).toBe('in time')
  host.close()
  await child.wait()
})

test.each([10, 40_000, 65_536])('%i bytes that were read are the caller\'s alone [M-28]', async (size) => {
  const requests = pipe('childReads')
  const answers = pipe('childWrites')
  const child = await start(['cat', '3', '4'], { 3: requests.child, 4: answers.child })
  const exchange = async (): Promise<Buffer[]> => {
    await requests.host.write(pattern(size))
    const chunks: Buffer[] = []
    for (let left = size; left > 0; left -= (chunks.at(-1) as Buffer).length) chunks.push((await answers.host.read()) as Buffer)
    return chunks
  }
  const first = await exchange()
  for (const chunk of first) chunk.fill('x')
  const second = await exchange()
  expect(Buffer.concat(first).equals(Buffer.alloc(size, 'x'))).toBe(true)
  expect(Buffer.concat(second).equals(pattern(size))).toBe(true)
  // Their memory can be given away, too.
  for (const { buffer } of first) structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
  expect(Buffer.concat(second).equals(pattern(size))).toBe(true)
  expect(Buffer.concat(await exchange()).equals(pattern(size))).toBe(true)
  requests.host.close()
  expect(await answers.host.read()).toBeNull()
  answers.host.close()
  await child.wait()
})

test('a write waits while the pipe is full, and a timeout says what the child will read [M-14, P-5]', async () => {
  const { child: end, host } = pipe('childReads')
  const { result, ms } = await timed(() => host.write(pattern(MiB), { timeoutMs: 40 }).catch((error: unknown) => error))
  expect(result).toBeInstanceOf(PipeError)
  expect(ms).toBeGreaterThanOrEqual(40)
  const { bytesWritten, timeoutMs } = result as { bytesWritten: number; timeoutMs: number }
  expect(timeoutMs).toBe(40)
  expect(bytesWritten).toBeLessThan(MiB)
  const child = await start(['read-to-eof', '3'], { 1: capture({ headBytes: 64 }), 3: end })
  host.close()
  expect((await child.wait()).logs[1]?.text()).toBe(`eof ${bytesWritten}\n`)
})

test('an aborted write says what it wrote, and going on from there loses no byte [P-5]', async () => {
  const requests = pipe('childReads')
  const answers = pipe('childWrites')
  const sent = pattern(3 * MiB)
  const controller = new AbortController()
  const write = requests.host.write(sent, { signal: controller.signal })
  const reason = new Error('enough')
  controller.abort(reason)
  const error = (await write.catch((thrown: unknown) => thrown)) as AbortError & { bytesWritten: number }
  expect(error).toBeInstanceOf(AbortError)
  expect(error.cause).toBe(reason)
  expect(error.bytesWritten).toBeGreaterThan(0)

  const child = await start(['cat', '3', '4'], { 3: requests.child, 4: answers.child })
  const received = readAll(answers.host)
  let at = error.bytesWritten
  // The child drains while each write is cut off at some moment of its own.
  for (let cuts = 0; cuts < 20; cuts++) {
    const cut = new AbortController()
    const next = requests.host.write(sent.subarray(at, at + MiB / 8), { signal: cut.signal })
    for (let turns = 0; turns < cuts % 4; turns++) await turn()
    cut.abort()
    at += await next.then(() => MiB / 8, (stopped: { bytesWritten: number }) => stopped.bytesWritten)
  }
  await requests.host.write(sent.subarray(at))
  requests.host.close()
  expect((await received).equals(sent)).toBe(true)
  await child.wait()
})

test('a read that times out or is aborted takes nothing from the pipe [P-5]', async () => {
  const { child: end, host } = pipe('childWrites')
  const { result, ms } = await timed(() => host.read({ timeoutMs: 20 }).catch((error: unknown) => error))
  expect(result).toMatchObject({ code: 'ERR_PIPE_TIMEOUT', timeoutMs: 20, direction: 'childWrites' })
  expect(ms).toBeGreaterThanOrEqual(20)
  await expect(host.read({ timeoutMs: 0 })).rejects.toMatchObject({ code: 'ERR_PIPE_TIMEOUT' })
  const controller = new AbortController()
  const read = host.read({ signal: controller.signal })
  controller.abort()
  await expect(read).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  await expect(host.read({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  const child = await start(['text', 'whole', '3'], { 3: end })
  expect((await readAll(host)).toString()).toBe('whole')
  await child.wait()
})

test('reads that are aborted while bytes arrive lose none of them [P-5]', async () => {
  const { child: end, host } = pipe('childWrites')
  const text = Array.from({ length: 150 }, (_, index) => String.fromCharCode(33 + (index % 90))).join('')
  const child = await start(['byte-by-byte', '1', text, '3'], { 3: end })
  let received = ''
  let aborted = 0
  for (let ended = false; !ended; ) {
    const controller = new AbortController()
    const read = host.read({ signal: controller.signal })
    for (let turns = 0; turns < aborted % 3; turns++) await turn()
    controller.abort()
    try {
      const chunk = await read
      if (chunk === null) ended = true
      else received += chunk.toString()
    } catch (error) {
      expect(error).toBeInstanceOf(AbortError)
      aborted++
    }
  }
  expect(received).toBe(text)
  expect(aborted).toBeGreaterThan(10)
  host.close()
  await child.wait()
})

test('a child that closes its reading end and lives on is seen at once, without a write [B045]', async () => {
  const { child: end, host } = pipe('childReads')
  const child = await start(['read-to-eof', '4', '--', 'close', '3', '--', 'pause'], { 3: end, 4: 'null' })
  const { ms } = await timed(() => host.peerClosed())
  expect(ms).toBeLessThan(within(300))
  expect(child.tryWait()).toBeNull()
  await host.peerClosed()
  await expect(host.write(Buffer.from('x'))).rejects.toMatchObject({
    code: 'ERR_PIPE_WRITE_FAILED',
    bytesWritten: 0,
    cause: { code: 'EPIPE', syscall: 'write' },
  })
  await expect(child.wait({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'ERR_WAIT_TIMEOUT' })
  child.kill()
  await child.wait()
  host.close()
})

test('waiting for the peer to close can be bounded and does not disturb a write [B045, P-5]', async () => {
  const { child: end, host } = pipe('childReads')
  await expect(host.peerClosed({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'ERR_PIPE_TIMEOUT' })
  const gone = host.peerClosed()
  const child = await start(['read-to-eof', '3'], { 1: capture({ headBytes: 64 }), 3: end })
  await host.write(pattern(MiB))
  host.close()
  await expect(gone).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  expect((await child.wait()).logs[1]?.text()).toBe(`eof ${MiB}\n`)
})

test('a write to a child that is gone rejects once with EPIPE, and wait gives its code [B037, M-14]', async () => {
  const { child: end, host } = pipe('childReads')
  const child = await spawn({ program: '/bin/sh', args: ['-c', 'exit 7'], env: {}, fds: { 0: end } })
  const write = host.write(Buffer.alloc(64 * MiB))
  const error = (await write.catch((thrown: unknown) => thrown)) as { bytesWritten: number }
  expect(error).toMatchObject({ code: 'ERR_PIPE_WRITE_FAILED', cause: { code: 'EPIPE' }, direction: 'childReads' })
  expect(error.bytesWritten).toBeLessThan(64 * MiB)
  expect((await child.wait()).code).toBe(7)
  await expect(host.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'ERR_PIPE_WRITE_FAILED', bytesWritten: 0 })
  host.close()
  host.close()
})

test('no SIGPIPE reaches a host that has restored its default [B037]', async () => {
  const said = await hostSays<unknown>(`
    // Node sets the default when the last listener goes.
    const nothing = () => {};
    process.on('SIGPIPE', nothing).off('SIGPIPE', nothing);
    const ignored = BigInt('0x' + /SigIgn:\\s*(\\w+)/.exec(require('fs').readFileSync('/proc/self/status', 'utf8'))[1]);
    say((ignored >> 12n & 1n) === 0n);
    const { child: end, host } = pipe('childReads');
    const child = await spawn({ program: '/bin/true', env: {}, fds: { 0: end, 1: 'pipe' } });
    await child.wait();
    for (let i = 0; i < 3; i++) say(await host.write(Buffer.from('x')).catch((error) => error.cause.code));
    host.close();`)
  expect(said).toEqual([true, 'EPIPE', 'EPIPE', 'EPIPE'])
})

test('pipes that JS waits for take no thread, none of the file threads, and do not hold the exit [B043]', async () => {
  const [before, after, readMs, exitAt] = (await hostSays<number>(`
    const fs = require('node:fs');
    // Without the spawners: a start that comes before the last one's spawner is idle makes another.
    const nameOf = (task) => { try { return fs.readFileSync('/proc/self/task/' + task + '/comm', 'latin1') } catch {} };
    const threads = () => fs.readdirSync('/proc/self/task').filter((task) => nameOf(task) !== 'xs-spawner\\n').length;
    await (await spawn({ program: '/bin/true', env: {} })).wait();
    await fs.promises.readFile('/dev/null');
    say(threads());
    for (let i = 0; i < 8; i++) {
      const [request, answer] = [pipe('childReads'), pipe('childWrites')];
      await spawn({ program: fixture, args: ['pause'], env: {}, fds: { 3: request.child, 4: answer.child } });
      answer.host.read().catch(() => {});
      request.host.peerClosed().catch(() => {});
    }
    const start = performance.now();
    await fs.promises.readFile(fixture);
    const ms = performance.now() - start;
    say(threads());
    say(ms);
    say(Date.now());
    process.exit(0);`)) as [number, number, number, number]
  expect(Date.now() - exitAt).toBeLessThan(within(1_000))
  expect(after).toBeLessThanOrEqual(before + 2)
  expect(readMs).toBeLessThan(within(200))
})

test('a pending read holds the event loop, and a closed one lets the host end [P-5]', async () => {
  const said = await hostSays<string>(`
    const { child: end, host } = pipe('childWrites');
    const args = ['print-later', '100', 'late', '3'];
    const child = await spawn({ program: fixture, args, env: {}, fds: { 3: end } });
    child.unref();
    say(String(await host.read()));
    host.close();
    const other = pipe('childWrites');
    other.host.read().catch((error) => say(error.code));
    other.host.close();`)
  expect(said).toEqual(['late', 'ERR_PIPE_CLOSED'])
})

test('a child that is never read from blocks, and goes on when it is [M-14]', async () => {
  const { child: end, host } = pipe('childWrites')
  const done = pipe('childWrites')
  const child = await start(['pattern', '300000', '3', '--', 'text', 'done', '4'], { 3: end, 4: done.child })
  await expect(done.host.read({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'ERR_PIPE_TIMEOUT' })
  const bytes = await readAll(host)
  expect(bytes.equals(pattern(300_000))).toBe(true)
  expect((await readAll(done.host)).toString()).toBe('done')
  await child.wait()
})
