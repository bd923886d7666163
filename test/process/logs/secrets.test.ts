import { expect, test } from 'vitest'
import type { LogSnapshot, SpawnSpec } from 'exactspawn'
import { KiB, capture, pipe, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { until } from '../../support/until.js'

const SECRET = 'tok_0123456789abcdefghijklmnopqrstuvwxyz'
const LINE = `pre ${SECRET} post\n`
const CLEAN = 'pre [redacted] post\n'
const offsets = Array.from({ length: SECRET.length - 1 }, (_, index) => index + 1)

async function logsOf(args: string[], spec: Partial<SpawnSpec> = {}): Promise<Record<number, LogSnapshot>> {
  const fds = { 1: capture({ headBytes: 8 * KiB }) }
  const child = await spawn({ program: fixtureChild(), args, env: {}, fds, secrets: [SECRET], ...spec })
  return (await child.wait()).logs
}

async function textOf(args: string[], spec: Partial<SpawnSpec> = {}): Promise<string> {
  return (await logsOf(args, spec))[1]?.text() ?? ''
}

test.each([
  [['abc'], 'secrets[0]'],
  [[SECRET, ''], 'secrets[1]'],
  [['x'.repeat(4 * KiB + 1)], 'secrets[0]'],
  [Array.from({ length: 65 }, (_, index) => `secret-${index}`), 'secrets'],
  ['not a list', 'secrets'],
  [[1234], 'secrets[0]'],
])('a secret that cannot be kept is refused, and not said: case %# [P-9]', async (secrets, field) => {
  const start = spawn({ program: fixtureChild(), env: {}, secrets: secrets as never })
  const error = (await start.catch((thrown: unknown) => thrown)) as Error
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', field })
  expect(error.message).not.toContain('abc')
})

test('a secret split at any offset is replaced by the marker, on both streams at once [B104]', async () => {
  // Two pieces are two writes, and they go to both streams alternately.
  const verbs = offsets.flatMap((split) => {
    const pieces = [`pre ${SECRET.slice(0, split)}`, `${SECRET.slice(split)} post\n`]
    return pieces.flatMap((piece) => ['text', piece, '1', '--', 'text', piece, '2', '--'])
  })
  const fds = { 1: capture({ headBytes: 8 * KiB }), 2: capture({ tailBytes: 8 * KiB }) }
  const logs = await logsOf([...verbs, 'exit'], { fds })
  expect(logs[1]?.text()).toBe(CLEAN.repeat(offsets.length))
  expect(logs[2]?.text()).toBe(CLEAN.repeat(offsets.length))
  expect(logs[1]?.totalBytes).toBe(LINE.length * offsets.length)
})

test('a secret written in two halves with a pause is one to the filter [B104, M-23]', async () => {
  const texts = offsets.map((split) => {
    return textOf(['split-secret', '1', `pre ${SECRET.slice(0, split)}`, '30', `${SECRET.slice(split)} post\n`])
  })
  expect(new Set(await Promise.all(texts))).toEqual(new Set([CLEAN]))
})

test('a secret written byte by byte is replaced by one marker [B104]', async () => {
  expect(await textOf(['byte-by-byte', '1', LINE])).toBe(CLEAN)
  expect(await textOf(['byte-by-byte', '0', LINE.repeat(5)])).toBe(CLEAN.repeat(5))
})

test('a child killed in the middle of a secret shows at most three bytes of it [B104, X-13]', async () => {
  const killed = async (split: number) => {
    const request = pipe('childReads')
    const fds = { 1: capture({ headBytes: KiB }), 3: request.child }
    const spec = { program: fixtureChild(), args: ['cat', '3', '1'], env: {}, fds, secrets: [SECRET] }
    await using child = await spawn(spec)
    await request.host.write(Buffer.from(`pre ${SECRET.slice(0, split)}`))
    await until('the bytes', () => child.log(1).snapshot().totalBytes === 4 + split)
    child.kill()
    const { logs, signal } = await child.wait()
    request.host.close()
    expect(signal).toBe('SIGKILL')
    return logs[1]?.text()
  }
  for (const split of offsets) {
    expect(await killed(split), `at ${split}`).toBe(split < 4 ? `pre ${SECRET.slice(0, split)}` : 'pre [redacted]')
  }
})

test('a limit never cuts a secret in two: what is kept is a part of the filtered text [X-13, B104]', async () => {
  const filtered = CLEAN.repeat(2)
  const limits = Array.from({ length: CLEAN.length + 12 }, (_, index) => index)
  const fds = Object.fromEntries(limits.flatMap((limit) => [
    [10 + limit, capture({ headBytes: limit })],
    [110 + limit, capture({ tailBytes: limit })],
  ]))
  const verbs = Object.keys(fds).flatMap((fd) => ['text', LINE.repeat(2), fd, '--'])
  const logs = await logsOf([...verbs, 'exit'], { fds })
  for (const limit of limits) {
    const kept = (fd: number) => Buffer.from(logs[fd]?.bytes as Uint8Array).toString()
    expect(kept(10 + limit)).toBe(filtered.slice(0, limit))
    expect(kept(110 + limit)).toBe(filtered.slice(filtered.length - limit))
    expect(logs[10 + limit]).toMatchObject({ totalBytes: 2 * LINE.length, omittedBytes: filtered.length - limit })
  }
})

test('of secrets that overlap, contain or follow each other nothing is left [B104, P-9]', async () => {
  const secrets = ['abcdef', 'defghi', 'cdef', 'passwordpassword', 'password', Buffer.from([0xff, 0, 0xfe, 10])]
  const shown = (bytes: string | Buffer) => {
    return textOf(['hex', Buffer.from(bytes as string).toString('hex')], { secrets })
  }
  expect(await shown('<abcdefghi>')).toBe('<[redacted]>')
  expect(await shown('<abcdefabcdef>')).toBe('<[redacted][redacted]>')
  expect(await shown('<xcdefx>')).toBe('<x[redacted]x>')
  expect(await shown('<passwordpasswordpassword>')).toMatch(/^<(\[redacted\])+>$/)
  expect(await shown('<passwor>')).toBe('<passwor>')
  expect(await shown(Buffer.from([60, 0xff, 0, 0xfe, 10, 62]))).toBe('<[redacted]>')
})

test('a secret of four bytes and one of 4 KiB are found, split in the middle [P-9]', async () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const long = Array.from({ length: 4 * KiB }, (_, index) => letters[(index * index) % 26]).join('')
  const secrets = ['s3cr', long]
  const split = (secret: string) => ['text', `<${secret.slice(0, -2)}`, '--', 'text', `${secret.slice(-2)}>`, '--']
  expect(await textOf([...split('s3cr'), ...split(long), 'exit'], { secrets })).toBe('<[redacted]><[redacted]>')
})

test('everything that is no secret passes unchanged beside one [B104, M-28]', async () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
  const written = Buffer.concat([all, Buffer.from(SECRET), all, Buffer.from(SECRET.slice(0, -1)), all])
  const logs = await logsOf(['hex', written.toString('hex')])
  const expected = Buffer.concat([all, Buffer.from('[redacted]'), all, Buffer.from(SECRET.slice(0, -1)), all])
  expect(Buffer.from(logs[1]?.bytes as Uint8Array).equals(expected)).toBe(true)
})

test('secrets are of one child: another with none shows what it writes [P-9]', async () => {
  expect(await textOf(['text', SECRET], { secrets: [] })).toBe(SECRET)
  expect(await textOf(['text', SECRET])).toBe('[redacted]')
})

test('a list of secrets may change after the call without effect [P-9, B017]', async () => {
  const secrets: (string | Uint8Array)[] = [Buffer.from(SECRET)]
  const text = textOf(['text', LINE], { secrets })
  ;(secrets[0] as Uint8Array).fill(0)
  secrets.length = 0
  expect(await text).toBe(CLEAN)
})
