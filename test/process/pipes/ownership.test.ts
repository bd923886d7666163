import { closeSync, fstatSync, readFileSync, readSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { SpawnSpec } from 'exactspawn'
import { PipeError, pipe, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { alive, openFds } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { until } from '../../support/until.js'

const start = (args: string[], fds: SpawnSpec['fds'] = {}) => spawn({ program: fixtureChild(), args, env: {}, fds })
const writesAndLives = ['pattern', '65536', '3', '--', 'close', '3', '--', 'pause']
const collect = () => (globalThis.gc as () => void)()
function flagsOf(fd: number): number {
  const [, octal] = /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
  return Number.parseInt(octal as string, 8)
}

test('a closed end refuses every use, and closing it again does nothing [P-5]', async () => {
  const { child: end, host: writer } = pipe('childReads')
  writer.close()
  writer.close()
  expect(writer.closed).toBe(true)
  expect(() => writer.fd).toThrow(PipeError)
  expect(() => writer.takeFd()).toThrow(expect.objectContaining({ code: 'ERR_PIPE_CLOSED', direction: 'childReads' }))
  await expect(writer.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  await expect(writer.peerClosed()).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  end.close()
  end.close()
  expect(end.consumed).toBe(true)

  const { child: other, host: reader } = pipe('childWrites')
  await reader[Symbol.asyncDispose]()
  await expect(reader.read()).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED', direction: 'childWrites' })
  other.close()
})

test('an endpoint that was closed cannot be given to a child [M-09]', async () => {
  const { child: end, host } = pipe('childWrites')
  end.close()
  await expect(start([], { 3: end })).rejects.toMatchObject({ code: 'ERR_COMMAND_CONSUMED', field: 'fds.3' })
  await expect(host.read()).resolves.toBeNull()
  host.close()
})

test('closing an end rejects the waits that are pending on it, each once [P-5]', async () => {
  const { child: end, host: reader } = pipe('childWrites')
  const read = reader.read()
  reader.close()
  await expect(read).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  end.close()

  const { child: other, host: writer } = pipe('childReads')
  const write = writer.write(Buffer.alloc(1_000_000))
  const gone = writer.peerClosed()
  writer.close()
  await expect(write).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  await expect(gone).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  other.close()
})

test('a write that a close ends says how many bytes the child will read [P-5]', async () => {
  const { child: end, host } = pipe('childReads')
  const write = host.write(Buffer.alloc(1_000_000))
  const fd = host.takeFd()
  const error = (await write.catch((thrown: unknown) => thrown)) as PipeError & { bytesWritten: number }
  expect(error).toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  const child = await start(['read-to-eof', '3'], { 1: 'pipe', 3: end })
  closeSync(fd)
  const counted: Buffer[] = []
  for await (const chunk of child.stdout ?? []) counted.push(chunk as Buffer)
  expect(Buffer.concat(counted).toString()).toBe(`eof ${error.bytesWritten}\n`)
  expect(error.bytesWritten).toBeGreaterThan(0)
  await child.wait()
})

test('a descriptor that was taken is the caller\'s alone, and its number can serve another pipe [M-07]', async () => {
  const { child: end, host } = pipe('childWrites')
  const pending = host.read()
  const { fd } = host
  expect(host.takeFd()).toBe(fd)
  await expect(pending).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
  expect(host.closed).toBe(true)
  host.close()
  expect(fstatSync(fd).isFIFO()).toBe(true)

  const child = await start(['text', 'taken', '3'], { 3: end })
  await child.wait()
  const bytes = Buffer.alloc(16)
  expect(bytes.toString('latin1', 0, readSync(fd, bytes))).toBe('taken')
  closeSync(fd)

  const next = pipe('childWrites')
  const another = await start(['text', 'again', '3'], { 3: next.child })
  expect((await next.host.read())?.toString()).toBe('again')
  next.host.close()
  await another.wait()
})

test('a number that goes from pipe to pipe while reads wait is watched for its own pipe each time [M-07]', async () => {
  const numbers = new Set<number>()
  for (let round = 0; round < 20; round++) {
    const { child: end, host } = pipe('childWrites')
    numbers.add(host.fd)
    const read = expect(host.read()).rejects.toMatchObject({ code: 'ERR_PIPE_CLOSED' })
    await turn()
    // Taken, closed, and free for the next pipe before the loop has turned.
    if (round % 2 === 0) closeSync(host.takeFd())
    else host.close()
    end.close()
    const next = pipe('childWrites')
    numbers.add(next.host.fd)
    const again = next.host.read()
    const child = await start(['text', String(round), '3'], { 3: next.child })
    await read
    expect((await again)?.toString()).toBe(String(round))
    next.host.close()
    await child.wait()
  }
  expect(numbers.size).toBeLessThan(20)
})

test('a host end is non-blocking and closed on exec, as documented [B047]', () => {
  const ends = [pipe('childReads'), pipe('childWrites')]
  for (const { host } of ends) {
    expect(flagsOf(host.fd) & 0o4000).toBe(0o4000)
    expect(flagsOf(host.fd) & 0o2000000).toBe(0o2000000)
    expect(host.fd).toBeGreaterThan(2)
  }
  for (const { child, host } of ends) {
    child.close()
    host.close()
  }
})

test('net.Socket over a taken descriptor gets every byte and the end, and the loop goes on [B047]', async () => {
  const go = join(tmpFolder(), 'go')
  const { child: end, host } = pipe('childWrites')
  const child = await start(['wait-for-file', go, '--', ...writesAndLives], { 3: end })
  const socket = new Socket({ fd: host.takeFd(), readable: true, writable: false })
  let bytes = 0
  const ended = new Promise((resolve) => socket.on('data', (chunk) => (bytes += chunk.length)).on('end', resolve))
  // A blocking descriptor would hold the loop in its first read, and nothing could make the file.
  for (let turns = 0; turns < 10; turns++) await turn()
  expect(bytes).toBe(0)
  writeFileSync(go, '')
  await ended
  expect(bytes).toBe(65_536)
  expect(child.tryWait()).toBeNull()
  child.kill()
  await child.wait()
})

test('the own read gets every byte and the end while the child lives on [B047, M-07]', async () => {
  const { child: end, host } = pipe('childWrites')
  const child = await start(writesAndLives, { 3: end })
  const chunks: Buffer[] = []
  for await (const chunk of host.bytes()) chunks.push(chunk)
  const expected = Buffer.from(Array.from({ length: 65_536 }, (_, index) => index % 251))
  expect(Buffer.concat(chunks).equals(expected)).toBe(true)
  await expect(host.read()).resolves.toBeNull()
  expect(child.tryWait()).toBeNull()
  child.kill()
  await child.wait()
  host.close()
})

test('leaving the loop over bytes early keeps the end open [P-5]', async () => {
  const { child: end, host } = pipe('childWrites')
  const child = await start(['cat', '0', '3'], { 0: 'pipe', 3: end })
  child.stdin?.write('one')
  for await (const chunk of host.bytes()) {
    expect(chunk.toString()).toBe('one')
    break
  }
  child.stdin?.end('two')
  expect((await host.read())?.toString()).toBe('two')
  await expect(host.read()).resolves.toBeNull()
  host.close()
  await child.wait()
})

test('ends that nobody holds any more are closed by their finalizers [M-12]', async () => {
  const before = [...openFds().keys()].sort()
  ;(() => void [pipe('childReads'), pipe('childWrites')])()
  expect(openFds().size).toBe(before.length + 4)
  await until('the descriptors as before', () => {
    collect()
    return String([...openFds().keys()].sort()) === String(before)
  })
})

test('an endpoint that was never used is closed when it is dropped, and the host reads the end [P-5]', async () => {
  // The endpoint goes with its pipe object; the host end stays.
  const host = (() => pipe('childWrites').host)()
  const read = host.read()
  const collecting = until('the end', async () => {
    collect()
    return (await Promise.race([read.then(() => true), turn(false)])) === true
  })
  await expect(read).resolves.toBeNull()
  await collecting
  host.close()
})

test.each(['endpoint', 'stream'])('a dropped child is ended although it had a pipe: %s [P-7]', async (kind) => {
  const dropped = async () => {
    const streams = { 0: 'pipe', 1: 'pipe', 2: 'pipe' } as const
    return (await start(['pause'], kind === 'stream' ? streams : { 3: pipe('childWrites').child })).pid
  }
  const pid = await dropped()
  await until('the child gone', () => {
    collect()
    return !alive(pid)
  })
})

test('a child lives while its pipe is held, though its handle was dropped [P-7]', async () => {
  const { child: end, host } = pipe('childWrites')
  const ask = pipe('childReads')
  const { pid } = await start(['echo-lines', '4', '3'], { 3: end, 4: ask.child })
  for (let round = 0; round < 5; round++) {
    collect()
    await turn()
    await ask.host.write(Buffer.from(`${round}\n`))
    expect((await host.read())?.toString()).toBe(`${round}\n`)
  }
  expect(alive(pid)).toBe(true)
  ask.host.close()
  await expect(host.read()).resolves.toBeNull()
  host.close()
})
