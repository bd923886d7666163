import { expect, test } from 'vitest'
import type { CaptureLimits, LogSnapshot, SpawnSpec } from 'exactspawn'
import { KiB, MiB, SpecTypeError, capture, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'

const pattern = (from: number, to: number) => {
  return Buffer.from(Array.from({ length: to - from }, (_, index) => (from + index) % 251))
}
const equal = (left: Uint8Array, right: Uint8Array) => Buffer.compare(left, right) === 0

async function logsOf(args: string[], fds: SpawnSpec['fds'] = {}): Promise<Record<number, LogSnapshot>> {
  const child = await spawn({ program: fixtureChild(), args, env: {}, fds })
  const exit = await child.wait()
  expect(exit.code).toBe(0)
  return exit.logs
}

async function logOf(args: string[], limits: CaptureLimits): Promise<LogSnapshot> {
  return (await logsOf(args, { 1: capture(limits) }))[1] as LogSnapshot
}

test.each([
  [{}, 'headBytes'],
  [undefined, 'headBytes'],
  [null, 'headBytes'],
  [{ headBytes: -1 }, 'headBytes'],
  [{ headBytes: 1.5 }, 'headBytes'],
  [{ headBytes: Number.NaN }, 'headBytes'],
  [{ headBytes: Infinity }, 'headBytes'],
  [{ headBytes: 2 ** 53 }, 'headBytes'],
  [{ headBytes: '64' }, 'headBytes'],
  [{ headBytes: 64n }, 'headBytes'],
  [{ headBytes: null, tailBytes: 1 }, 'headBytes'],
  [{ headBytes: 1, tailBytes: -1 }, 'tailBytes'],
])('a limit that is missing or no whole number is a TypeError with a code: %o [M-16]', (limits, field) => {
  let error: unknown
  try {
    capture(limits as never)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(TypeError)
  expect(error).toBeInstanceOf(SpecTypeError)
  expect(error).toMatchObject({ code: 'ERR_INVALID_LOG_LIMITS', field })
})

test('a log that was not asked for cannot be read [M-16]', async () => {
  const child = await spawn({ program: fixtureChild(), env: {}, fds: { 1: capture({ headBytes: 1 }) } })
  expect(() => child.log(2)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_SPEC', field: 'fds.2' }))
  expect(() => child.log('1' as never)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_SPEC' }))
  await child.wait()
})

test('two streams keep what each one\'s own limit says, to the byte [M-16, M-18]', async () => {
  const fds = { 1: capture({ headBytes: 31 }), 2: capture({ headBytes: 47 }) }
  const logs = await logsOf(['pattern', '1000', '1', '--', 'pattern', '2000', '2'], fds)
  expect(equal(logs[1]?.bytes as Uint8Array, pattern(0, 31))).toBe(true)
  expect(equal(logs[2]?.bytes as Uint8Array, pattern(0, 47))).toBe(true)
  expect([logs[1]?.totalBytes, logs[2]?.totalBytes]).toEqual([1000, 2000])
})

test.each([
  [0, 0, 0],
  [0, 0, 1],
  [1, 0, 0],
  [1, 0, 1],
  [1, 0, 2],
  [100, 0, 99],
  [100, 0, 100],
  [100, 0, 101],
  [0, 100, 99],
  [0, 100, 100],
  [0, 100, 101],
  [0, 1, 1_000],
  [60, 40, 59],
  [60, 40, 99],
  [60, 40, 100],
  [60, 40, 101],
  [60, 40, 100_000],
  [65_536, 65_536, 131_072],
  [65_536, 65_536, 131_073],
])('head %i and tail %i keep exactly the ends of %i bytes, and one byte more is truncated [M-20, X-10]', async (
  headBytes,
  tailBytes,
  written,
) => {
  const log = await logOf(['pattern', String(written)], { headBytes, tailBytes })
  const head = Math.min(written, headBytes)
  const tail = Math.min(written - head, tailBytes)
  expect(equal(log.head, pattern(0, head))).toBe(true)
  expect(equal(log.tail, pattern(written - tail, written))).toBe(true)
  expect(equal(log.bytes, Buffer.concat([log.head, log.tail]))).toBe(true)
  expect(log).toMatchObject({
    omittedBytes: written - head - tail,
    totalBytes: written,
    truncated: written > headBytes + tailBytes,
    complete: true,
  })
})

test('the total counts every byte past the limit [M-19]', async () => {
  const log = await logOf(['write', String(2 * MiB + 7)], { headBytes: 10 })
  expect(log.totalBytes).toBe(2_097_159)
  expect(log.bytes.length).toBe(10)
})

test('a limit that is reached changes what is kept and nothing else [M-26, M-27]', async () => {
  const fds = { 1: capture({ headBytes: 0 }), 2: capture({ tailBytes: 5 }) }
  const logs = await logsOf(['write', String(16 * MiB), '1', '--', 'pattern', String(16 * MiB), '2'], fds)
  expect(logs[1]).toMatchObject({ totalBytes: 16 * MiB, omittedBytes: 16 * MiB, truncated: true, complete: true })
  expect(equal(logs[2]?.bytes as Uint8Array, pattern(16 * MiB - 5, 16 * MiB))).toBe(true)
})

test('every byte value, line end and broken character is kept as it was written [M-28]', async () => {
  const odd = '0d0a0a0d00fffec328e282'
  const log = await logOf(['bytes256', '--', 'hex', odd, '--', 'bytes256'], { headBytes: KiB })
  const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
  expect(equal(log.bytes, Buffer.concat([all, Buffer.from(odd, 'hex'), all]))).toBe(true)
})

test('two numbers that are the same write into one log, in their order [X-10]', async () => {
  const fds: SpawnSpec['fds'] = { 1: capture({ headBytes: KiB }), 2: { sameAs: 1 } }
  const args = ['text', 'one ', '1', '--', 'text', 'two ', '2', '--', 'text', 'three', '1']
  const child = await spawn({ program: fixtureChild(), args, env: {}, fds })
  const exit = await child.wait()
  expect(Object.keys(exit.logs)).toEqual(['1'])
  expect(exit.logs[1]?.text()).toBe('one two three')
  expect(child.log(2).fd).toBe(1)
  expect(child.log(2).snapshot()).toBe(exit.logs[1])
})

test('the text of a log with a gap has a line between head and tail that says how much is missing [X-10]', async () => {
  const log = await logOf(['text', 'first and then the last'], { headBytes: 5, tailBytes: 4 })
  expect(log.text()).toBe('first\n[14 bytes omitted]\nlast')
})

test('any number can be captured, and one capture may serve several numbers and children [M-16]', async () => {
  const limits = capture({ headBytes: 4 })
  for (const word of ['left', 'rest']) {
    const logs = await logsOf(['text', `${word}!`, '7', '--', 'text', `${word}?`, '30'], { 7: limits, 30: limits })
    for (const fd of [7, 30]) expect(logs[fd]?.text()).toBe(`${word}\n[1 bytes omitted]\n`)
  }
})

test('a successful wait gives frozen logs that claim to be whole, the same ones each time [M-24, M-33]', async () => {
  const child = await spawn({
    program: fixtureChild(),
    args: ['text', 'all of it', '--', 'exit', '3'],
    env: {},
    fds: { 1: capture({ headBytes: 99 }), 2: capture({ headBytes: 99 }) },
  })
  const exit = await child.wait()
  expect(exit).toMatchObject({ code: 3, signal: null, endedBy: 'self' })
  expect(exit.logs[1]).toMatchObject({ complete: true, truncated: false, totalBytes: 9, omittedBytes: 0 })
  expect(exit.logs[2]).toMatchObject({ complete: true, truncated: false, totalBytes: 0 })
  expect(Object.isFrozen(exit) && Object.isFrozen(exit.logs) && Object.isFrozen(exit.logs[1])).toBe(true)
  expect(await child.wait()).toBe(exit)
  expect(child.tryWait()).toBe(exit)
  expect(child.log(1).snapshot()).toBe(exit.logs[1])
})

test('of seventy logs each has its own words, and those to which nothing was written are empty [M-22, M-33]', async () => {
  const targets = Array.from({ length: 70 }, (_, index) => index + 3)
  const speaks = (target: number) => target % 3 !== 0
  const verbs = targets.filter(speaks).flatMap((target) => ['text', `of ${target}`, String(target), '--'])
  const limits = capture({ headBytes: 99 })
  const fds = Object.fromEntries([0, 1, ...targets].map((target) => [target, target < 2 ? 'null' : limits] as const))
  const logs = await logsOf([...verbs, 'exit', '0'], fds)
  expect(Object.keys(logs).map(Number)).toEqual(targets)
  for (const target of targets) {
    const text = speaks(target) ? `of ${target}` : ''
    expect(logs[target]?.text()).toBe(text)
    expect(logs[target]).toMatchObject({ totalBytes: text.length, omittedBytes: 0, complete: true, truncated: false })
    expect(Buffer.from(logs[target]?.bytes as Uint8Array).toString()).toBe(text)
  }
})

test('a child killed by a signal has its whole output in the log before the wait ends [B038, M-33]', async () => {
  const args = ['-c', 'head -c 1048576 /dev/zero; printf END >&2; kill -9 $$']
  const fds = { 1: capture({ headBytes: 2 * MiB }), 2: capture({ headBytes: 9 }) }
  const child = await spawn({ program: '/bin/sh', args, env: { PATH: '/usr/bin:/bin' }, fds })
  const exit = await child.wait()
  expect(exit.signal).toBe('SIGKILL')
  expect(exit.logs[1]?.bytes.length).toBe(1_048_576)
  expect(exit.logs[2]?.text()).toBe('END')
})

test('200 MiB of output grow the host by less than 32 MiB, and nothing is killed for them [B041, P-4]', async () => {
  const [exit, growth] = (await hostSays<unknown>(`
    const run = async (bytes) => {
      const fds = { 1: capture({ headBytes: 32768, tailBytes: 32768 }) };
      const child = await spawn({ program: '/usr/bin/head', args: ['-c', String(bytes), '/dev/zero'], env: {}, fds });
      return await child.wait();
    };
    await run(1 << 20);
    const before = process.memoryUsage.rss();
    let peak = before;
    const sample = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
    const { code, logs } = await run(209715200);
    clearInterval(sample);
    peak = Math.max(peak, process.memoryUsage.rss());
    say({ code, kept: logs[1].bytes.length, total: logs[1].totalBytes, truncated: logs[1].truncated });
    say(peak - before);`)) as [unknown, number]
  expect(exit).toEqual({ code: 0, kept: 65_536, total: 209_715_200, truncated: true })
  expect(growth).toBeLessThan(32 * MiB)
})

test('a limit counts bytes, whatever characters they make [B041]', async () => {
  const word = '你'
  const log = await logOf(['text', word.repeat(20_000)], { headBytes: 30_000 })
  expect(log.bytes.length).toBe(30_000)
  expect(log.totalBytes).toBe(60_000)
  expect(log.text()).toBe(`${word.repeat(10_000)}\n[30000 bytes omitted]\n`)
})

test('a character cut by a limit is one replacement in the text and raw bytes in the log [B083]', async () => {
  const log = await logOf(['text', 'a😀'], { headBytes: 3 })
  expect(log.text()).toBe('a\ufffd\n[2 bytes omitted]\n')
  expect(equal(log.bytes, Buffer.from('a😀').subarray(0, 3))).toBe(true)
  const whole = await logOf(['hex', '61e282'], { headBytes: 99 })
  expect(whole.text()).toBe('a\ufffd')
  expect(equal(whole.bytes, Buffer.from('61e282', 'hex'))).toBe(true)
})

test('text that comes byte by byte on two streams at once equals its source on each [B083]', async () => {
  const source = 'a€😀é你'
  const bytes = Buffer.from(source)
  const other = Buffer.from('é你a€😀')
  const hex = (from: Buffer, index: number) => from.subarray(index, index + 1).toString('hex')
  const verbs = [...bytes.keys()].flatMap((index) => {
    return ['hex', hex(bytes, index), '1', '--', 'hex', hex(other, index), '2', '--']
  })
  const fds = { 1: capture({ headBytes: 99 }), 2: capture({ headBytes: 99 }) }
  const logs = await logsOf([...verbs, 'exit'], fds)
  expect(logs[1]?.text()).toBe(source)
  expect(logs[2]?.text()).toBe(other.toString())

  const args = [...verbs, 'exit']
  const child = await spawn({ program: fixtureChild(), args, env: {}, fds: { 1: 'pipe', 2: 'pipe' } })
  const [out, err] = [child.stdout?.setEncoding('utf8'), child.stderr?.setEncoding('utf8')]
  const texts = ['', '']
  for await (const text of out ?? []) texts[0] += text
  for await (const text of err ?? []) texts[1] += text
  expect(texts).toEqual([source, other.toString()])
  await child.wait()
})
