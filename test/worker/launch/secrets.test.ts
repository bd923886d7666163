/** Secret channels: a worker can read the values, and nothing else ever shows them. */
import { readdirSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { LaunchRecord, PosixWorkerProcess } from '../../../lib/worker.js'
import { launchIdentity, launchTrustedLocalWorker } from '../../../lib/worker.js'
import { fixtureChild } from '../../support/fixture.js'
import { until } from '../../support/until.js'
import { launch, logText, privateRoot, record, rejection } from '../../support/worker.js'

const TOKEN = 'correct-horse'
const KEY = 'battery\nstaple'
const secrets = { token: TOKEN, key: Buffer.from(KEY) }

const secretive = (script: string): LaunchRecord => ({
  ...record('/bin/sh', ['-c', script]),
  environment: { PATH: '/usr/bin:/bin' },
  secretChannels: [
    { name: 'key', by: 'descriptor', variable: 'KEY_FD' },
    { name: 'token', by: 'variable', variable: 'TOKEN' },
  ],
})

function expectNone(...places: unknown[]): void {
  for (const place of places) {
    const text = typeof place === 'string' ? place : inspect(place, { depth: 9, showHidden: true })
    for (const secret of [TOKEN, KEY, 'battery', 'horse']) expect(text).not.toContain(secret)
  }
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

test('a value without a channel and a channel without a value are refused, and nothing is made [M-63]', async () => {
  const root = privateRoot()
  const refused = (given: Record<string, string | Buffer>) =>
    rejection(launch(secretive(''), { privateRoot: root, secrets: given }))
  const undeclared = await refused({ ...secrets, other: TOKEN })
  expect(undeclared).toMatchObject({ code: 'ERR_UNDECLARED_SECRET_CHANNEL', details: { channel: 'other' } })
  const missing = await refused({ token: TOKEN })
  expect(missing).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'secrets.key' } })
  const short = await refused({ token: TOKEN, key: 'abc' })
  expect(short).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'secrets.key' } })
  const number = await refused({ token: 12345 as never, key: KEY })
  expect(number).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_SPEC', details: { field: 'secrets.token' } })
  const unsaid = await refused({ token: `${TOKEN}\0`, key: `${KEY}\0` })
  expect(unsaid).toMatchObject({ details: { field: 'secrets.token', reason: expect.stringContaining('NUL') as string } })
  const inherited = await refused(Object.create(secrets) as typeof secrets)
  expect(inherited).toMatchObject({ code: 'ERR_INVALID_SPEC' })
  expectNone(undeclared, missing, unsaid)
  expect(readdirSync(root)).toEqual([])
})

test('a worker reads the very bytes, by variable and by descriptor [M-63]', async () => {
  const hex = (value: string) => Buffer.from(value).toString('hex')
  const toHex = 'od -An -v -tx1 | tr -d " \\n"'
  const script = `printf %s "$TOKEN" | ${toHex}; echo; cat <&"$KEY_FD" | ${toHex}; echo $KEY_FD`
  for (const [protocolFds, number] of [
    [{ read: 3, write: 4 }, 5],
    [{ read: 7, write: 3 }, 4],
  ] as const) {
    const worker = await launch(secretive(script), { secrets, protocolFds })
    const { stdout, exit } = await worker.wait()
    expect(text(stdout.bytes)).toBe(`${hex(TOKEN)}\n${hex(KEY)}${number}\n`)
    expect(exit.code).toBe(0)
  }
})

test('record, identity, receipt, logs and exit show no byte of a secret [M-63, M-64]', async () => {
  const launched = secretive('echo "$TOKEN is it" >&2; cat <&"$KEY_FD"; printf "%s" "$TOKEN$TOKEN"')
  const worker = await launch(launched, { secrets })
  const { receipt } = worker
  const output = await worker.wait()
  expect(text(output.stdout.bytes)).toBe('[redacted][redacted][redacted]')
  expect(text(output.stderr.bytes)).toBe('[redacted] is it\n')
  expect(output.stdout.totalBytes).toBe(KEY.length + 2 * TOKEN.length)
  expectNone(JSON.stringify(launched), launchIdentity(launched), receipt, output.exit, worker)
})

test('an error of a start shows no secret that its program or arguments name [M-65]', async () => {
  const launched = { ...secretive(''), program: `/nowhere/${TOKEN}` }
  const error = await rejection(launch(launched, { secrets }))
  expect(error).toMatchObject({ code: 'ERR_SPAWN_FAILED' })
  expectNone(error.message, error.stack, JSON.stringify(error), error.details, error.cause)
})

const halves = (at: number): LaunchRecord => ({
  ...record(fixtureChild(), ['split-secret', '1', `<${TOKEN.slice(0, at)}`, '60', `${TOKEN.slice(at)}>`]),
  secretChannels: [{ name: 'token', by: 'variable', variable: 'TOKEN' }],
})

test('no snapshot shows a secret that came in two writes, nor its first half [M-23, M-24, M-64]', async () => {
  const offsets = [1, 4, TOKEN.length - 1]
  const workers = await Promise.all(offsets.map((at) => launch(halves(at), { secrets: { token: TOKEN } })))
  await Promise.all(workers.map(async (worker: PosixWorkerProcess, index) => {
    const at = offsets[index] as number
    await until('the first half', () => {
      const { stdout, complete } = worker.logSnapshot()
      expect(complete).toBe(false)
      expect(['', '<', '<[redacted]', '<[redacted]>']).toContain(text(stdout.bytes))
      return stdout.totalBytes > at
    })
    const { stdout } = await worker.wait()
    expect(text(stdout.bytes)).toBe('<[redacted]>')
    expect(stdout).toMatchObject({ totalBytes: TOKEN.length + 2, complete: true, truncated: false })
    expect(logText(worker)).toBe('<[redacted]>')
  }))
})

test('secrets of one worker are not taken out of another\'s logs [M-64]', async () => {
  const worker = await launch(record('/bin/echo', [TOKEN]))
  const { stdout } = await worker.wait()
  expect(text(stdout.bytes)).toBe(`${TOKEN}\n`)
  await expect(launchTrustedLocalWorker(record('/bin/true', []), {} as never)).rejects.toThrow()
})
