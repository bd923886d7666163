import { expect, test } from 'vitest'
import type { CaptureLimits, Child, HostWriter, SpawnSpec } from 'exactspawn'
import { KiB, MiB, capture, pipe, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { processFacts, threadNames } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'

const SECRET = 'tok_0123456789abcdefghijklmnopqrstuvwxyz'

interface Typed {
  child: Child
  /** Makes the child write these bytes to its log, and waits until the host has them. */
  type: (bytes: string | Uint8Array) => Promise<void>
  request: HostWriter
}

/** A child that logs exactly what it is told: a fact to wait for after every piece. */
async function typed(limits: CaptureLimits, spec: Partial<SpawnSpec> = {}): Promise<Typed> {
  const request = pipe('childReads')
  const fds = { 1: capture(limits), 3: request.child }
  const child = await spawn({ program: fixtureChild(), args: ['cat', '3', '1'], env: {}, fds, ...spec })
  let total = 0
  const type = async (bytes: string | Uint8Array) => {
    const piece = Buffer.from(bytes as string)
    total += piece.length
    await request.host.write(piece)
    await until('the bytes in the log', () => child.log(1).snapshot().totalBytes === total)
  }
  return { child, type, request: request.host }
}

/** Blocks this thread, so that no event is told, until the process is a zombie or the time is up. */
function blockUntilDead(pid: number): { state: string | undefined; ms: number } {
  const start = performance.now()
  const never = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    const state = processFacts(pid)?.state
    const ms = performance.now() - start
    if (state === 'Z' || ms > within(10_000)) return { state, ms }
    Atomics.wait(never, 0, 0, 5)
  }
}

async function finish({ child, request }: Typed): Promise<string> {
  request.close()
  const exit = await child.wait()
  expect(exit.logs[1]?.complete).toBe(true)
  return exit.logs[1]?.text() ?? ''
}

test('a snapshot of a live child is incomplete, and each one contains the one before [M-21, M-22]', async () => {
  const log = await typed({ headBytes: KiB })
  const empty = log.child.log(1).snapshot()
  expect(empty).toMatchObject({ totalBytes: 0, omittedBytes: 0, truncated: false, complete: false })
  await log.type('a')
  const first = log.child.log(1).snapshot()
  await log.type('b')
  const second = log.child.log(1).snapshot()
  expect([first.text(), second.text()]).toEqual(['a', 'ab'])
  expect([first.complete, second.complete]).toEqual([false, false])
  expect(Object.isFrozen(first)).toBe(true)
  first.bytes.fill(0)
  expect(log.child.log(1).snapshot().text()).toBe('ab')
  expect(await finish(log)).toBe('ab')
})

test('snapshots taken all the time do not disturb the child, and their counts belong together [M-21]', async () => {
  const written = 8 * MiB
  const child = await spawn({
    program: fixtureChild(),
    args: ['pattern', String(written)],
    env: {},
    fds: { 1: capture({ headBytes: 1_000, tailBytes: 1_000 }) },
  })
  const exit = child.wait()
  let before = 0
  while (child.tryWait() === null) {
    const { totalBytes, omittedBytes, bytes, head, tail } = child.log(1).snapshot()
    expect(totalBytes).toBeGreaterThanOrEqual(before)
    expect(bytes.length + omittedBytes).toBe(totalBytes)
    head.forEach((value, index) => value === index % 251 || expect.fail(`head byte ${index}`))
    const from = totalBytes - tail.length
    tail.forEach((value, index) => value === (from + index) % 251 || expect.fail(`tail byte ${index}`))
    before = totalBytes
    await new Promise(setImmediate)
  }
  expect((await exit).logs[1]?.totalBytes).toBe(written)
})

test('a live snapshot never shows the beginning of a secret, whatever its length so far [M-23, P-9]', async () => {
  const log = await typed({ headBytes: 16 * KiB }, { secrets: [SECRET] })
  for (let split = 1; split < SECRET.length; split++) {
    const before = log.child.log(1).snapshot().text()
    await log.type(`pre ${SECRET.slice(0, split)}`)
    const live = log.child.log(1).snapshot()
    expect(live.text()).toBe(`${before}pre `)
    expect(live.totalBytes).toBeGreaterThan(live.bytes.length)
    await log.type(`${SECRET.slice(split)} post\n`)
    expect(log.child.log(1).snapshot().text()).toBe(`${before}pre [redacted] post\n`)
  }
  expect(await finish(log)).toBe('pre [redacted] post\n'.repeat(SECRET.length - 1))
})

test('what looked like a secret and was none is shown as soon as that is known [M-23, B108]', async () => {
  const log = await typed({ headBytes: KiB }, { secrets: [SECRET] })
  await log.type(`x ${SECRET.slice(0, 20)}`)
  expect(log.child.log(1).snapshot().text()).toBe('x ')
  await log.type('!')
  expect(log.child.log(1).snapshot().text()).toBe(`x ${SECRET.slice(0, 20)}!`)
  // Only a suffix that can still become one waits: here the second beginning.
  await log.type(`tok_tok_0`)
  expect(log.child.log(1).snapshot().text()).toBe(`x ${SECRET.slice(0, 20)}!tok_`)
  expect(await finish(log)).toBe(`x ${SECRET.slice(0, 20)}!tok_[redacted]`)
})

test('a prompt without a line end and a line without a candidate show at once [B108, B104]', async () => {
  const log = await typed({ headBytes: KiB }, { secrets: [SECRET] })
  for (const line of ['Password: ', 'no candidate here\n']) {
    const { ms } = await timed(() => log.type(line))
    expect(log.child.log(1).snapshot().text().endsWith(line)).toBe(true)
    expect(ms).toBeLessThan(within(50))
  }
  expect(await finish(log)).toBe('Password: no candidate here\n')
})

test('a lone first byte waits however long the silence is, and appears at the end [B108, X-13]', async () => {
  const log = await typed({ headBytes: KiB }, { secrets: [SECRET] })
  await log.type('t')
  await log.child.wait({ timeoutMs: 150 }).catch(() => {})
  expect(log.child.log(1).snapshot()).toMatchObject({ totalBytes: 1, omittedBytes: 0, complete: false })
  expect(log.child.log(1).snapshot().text()).toBe('')
  expect(await finish(log)).toBe('t')
})

test('4 MiB without a line end are shown but for a suffix shorter than the longest secret [B108]', async () => {
  const log = await typed({ headBytes: 5 * MiB }, { secrets: [SECRET] })
  await log.type(Buffer.alloc(4 * MiB, SECRET.slice(0, 39)))
  const live = log.child.log(1).snapshot()
  expect(live.totalBytes - live.bytes.length).toBeLessThan(SECRET.length)
  expect((await finish(log)).length).toBeGreaterThan(4 * MiB - SECRET.length)
})

test('a final log withholds nothing and is complete [M-24]', async () => {
  const log = await typed({ headBytes: KiB }, { secrets: [SECRET] })
  await log.type('all of it, to the tok')
  expect(log.child.log(1).snapshot().text()).toBe('all of it, to the ')
  expect(await finish(log)).toBe('all of it, to the tok')
})

test('a log empties while the JS thread is blocked, and the child ends meanwhile [M-17, P-4]', async () => {
  const size = 64 * MiB
  const release = pipe('childReads')
  const writes = ['pattern', String(size), '1', '--', 'pattern', String(size), '2', '--', 'exit', '5']
  const child = await spawn({
    program: fixtureChild(),
    args: ['--ready-fd', 'none', 'cat', '3', '4', '--', ...writes],
    env: {},
    fds: { 1: capture({ headBytes: 10 }), 2: capture({ tailBytes: 10 }), 3: release.child, 4: 'null' },
  })
  release.host.close()
  const { state, ms } = blockUntilDead(child.pid)
  expect(state, `after ${ms} ms`).toBe('Z')
  const exit = await child.wait()
  expect(exit.code).toBe(5)
  expect([exit.logs[1]?.totalBytes, exit.logs[2]?.totalBytes]).toEqual([size, size])
  const last = Array.from({ length: 10 }, (_, index) => (size - 10 + index) % 251)
  expect([...(exit.logs[2]?.bytes ?? [])]).toEqual(last)
})

test('many children that write far past their limits all end, on one thread for all streams [M-27, X-12]', async () => {
  const ours = () => threadNames().filter((name) => name.startsWith('xs-reactor')).length
  const fds = { 1: capture({ headBytes: KiB }), 2: capture({ tailBytes: KiB }) }
  const args = ['pattern', String(2 * MiB), '1', '--', 'pattern', String(2 * MiB), '2']
  const starts = Array.from({ length: 20 }, () => spawn({ program: fixtureChild(), args, env: {}, fds }))
  const children = await Promise.all(starts)
  expect(ours()).toBe(1)
  for (const child of children) {
    const { code, logs } = await child.wait()
    expect([code, logs[1]?.totalBytes, logs[2]?.totalBytes]).toEqual([0, 2 * MiB, 2 * MiB])
  }
})
