/** A worker's two log streams: bounded apart, counted exactly, and complete only at the end. */
import { expect, test } from 'vitest'
import { finalLogSnapshot, WorkerCommand } from '../../../lib/worker.js'
import { fixtureChild } from '../../support/fixture.js'
import { until } from '../../support/until.js'
import { launch, logText, privateRoot, record, rejection } from '../../support/worker.js'

const fixture = (verbs: string) => record(fixtureChild(), ['--ready-fd', 'none', ...verbs.split(' ')])
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

test('two limits are required, each an integer of 0 or more, before anything starts [M-16]', async () => {
  const wrong = [undefined, -1, 1.5, '31', null, Infinity, 2 ** 60]
  for (const bad of wrong) {
    for (const field of ['stdoutBytes', 'stderrBytes']) {
      const logs = { stdoutBytes: 1, stderrBytes: 1, [field]: bad } as never
      const error = await rejection(launch(fixture('exit'), { logs, privateRoot: privateRoot() }))
      expect(error).toBeInstanceOf(TypeError)
      expect(error).toMatchObject({ code: 'ERR_INVALID_LOG_LIMITS', details: { field: `logs.${field}` } })
      expect(() => new WorkerCommand({ program: '/bin/true', env: {}, logs })).toThrow(TypeError)
    }
  }
})

test('31 and 47 bytes are kept of longer streams: exact prefixes, exact totals [M-16, M-18, M-19, M-20]', async () => {
  const limits = { stdoutBytes: 31, stderrBytes: 47 }
  const worker = await launch(fixture('pattern 100000 1 -- pattern 2097159 2'), { logs: limits })
  const { stdout, stderr, exit } = await worker.wait()
  const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, index) => index % 251))
  expect(Buffer.from(stdout.bytes)).toEqual(pattern(31))
  expect(Buffer.from(stderr.bytes)).toEqual(pattern(47))
  expect(stdout).toMatchObject({ totalBytes: 100_000, truncated: true, complete: true })
  expect(stderr).toMatchObject({ totalBytes: 2_097_159, truncated: true, complete: true })
  expect(exit.code).toBe(0)
})

test('a stream of the limit is whole, one more byte is cut, and a limit of 0 keeps none [M-16, M-20]', async () => {
  const both = await launch(fixture('write 31 1 -- write 48 2'), { logs: { stdoutBytes: 31, stderrBytes: 47 } })
  const kept = await both.wait()
  expect(kept.stdout).toMatchObject({ totalBytes: 31, truncated: false })
  expect(kept.stderr).toMatchObject({ totalBytes: 48, truncated: true })
  const none = await launch(fixture('write 1 2'), { logs: { stdoutBytes: 0, stderrBytes: 0 } })
  const { stdout, stderr } = await none.wait()
  expect([stdout.totalBytes, stdout.truncated, stdout.bytes.length]).toEqual([0, false, 0])
  expect([stderr.totalBytes, stderr.truncated, stderr.bytes.length]).toEqual([1, true, 0])
})

test('live snapshots grow and are incomplete, the final one is complete [M-21, M-22, M-24, M-25]', async () => {
  const worker = await launch(record('/bin/sh', ['-c', 'echo a; read x <&3; echo b >&2; read x <&3; exit 0']))
  const first = await until('a', () => logText(worker) === 'a\n' && worker.logSnapshot())
  expect(first).toMatchObject({ scope: 'worker_lifetime_to_snapshot', complete: false })
  await worker.protocolWriter().write(Buffer.from('\n'))
  const second = await until('b', () => logText(worker, 'stderr') === 'b\n' && worker.logSnapshot())
  expect(text(second.stdout.bytes)).toBe('a\n')
  expect(first.stderr.totalBytes).toBe(0)
  await worker.protocolWriter().write(Buffer.from('\n'))
  const output = await worker.wait()
  const final = finalLogSnapshot(output)
  expect(final).toMatchObject({ scope: 'worker_lifetime', complete: true })
  expect([text(final.stdout.bytes), text(final.stderr.bytes)]).toEqual(['a\n', 'b\n'])
  expect([first, first.stdout, final, final.stderr].every(Object.isFrozen)).toBe(true)
  expect(worker.logSnapshot()).toMatchObject({ complete: false, scope: 'worker_lifetime_to_snapshot' })
})

test('bytes that are no text come as they are [M-28]', async () => {
  const worker = await launch(fixture('bytes256 1'))
  const { stdout } = await worker.wait()
  expect([...stdout.bytes]).toEqual(Array.from({ length: 256 }, (_, byte) => byte))
})
