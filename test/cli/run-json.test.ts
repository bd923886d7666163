import { expect, test } from 'vitest'
import { fixtureChild } from '../support/fixture.js'
import type { CliResult } from './cli.js'
import { run } from './cli.js'

interface Output {
  text: string
  totalBytes: number
  omittedBytes: number
  truncated: boolean
  complete: boolean
}

interface Document {
  receipt: { pid: number; argv: string[] } | null
  exit: { code: number | null; signal: string | null; endedBy: string; groupLeft: number } | null
  outputs?: Record<string, Output>
  error: { code: string; details: object } | null
}

const documentOf = ({ stdout }: CliResult): Document => JSON.parse(stdout) as Document

test('a start that fails gives a document with the error alone [P-2]', async () => {
  const missing = await run(['--json'], ['/nonexistent/program'])
  expect(missing).toMatchObject({ code: 127, stderr: expect.stringMatching(/^exactspawn: .*ENOENT.*\n$/) })
  const { receipt, exit, error } = documentOf(missing)
  expect({ receipt, exit }).toEqual({ receipt: null, exit: null })
  expect(error).toMatchObject({ code: 'ERR_SPAWN_FAILED', details: { stage: 'exec', path: '/nonexistent/program' } })

  const refused = await run(['--json', '--fd', '9=same:10'], ['/bin/true'])
  expect(refused.code).toBe(125)
  expect(documentOf(refused).error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'fds.9.sameAs' } })
})

test('one document says what it was born with, what it said and how it ended [P-8]', async () => {
  const script = 'cat; echo oops >&2; exit 9'
  const result = await run(['--json', '--env', 'PATH=/usr/bin:/bin'], ['sh', '-c', script], { stdin: 'typed' })
  expect(result).toMatchObject({ code: 9, stderr: '' })
  const { receipt, exit, outputs, error } = documentOf(result)
  expect(receipt?.argv).toEqual(['sh', '-c', script])
  expect(exit).toMatchObject({ code: 9, signal: null, endedBy: 'self', groupLeft: 0 })
  const whole = { omittedBytes: 0, truncated: false, complete: true }
  expect(outputs).toEqual({
    1: { text: 'typed', totalBytes: 5, ...whole },
    2: { text: 'oops\n', totalBytes: 5, ...whole },
  })
  expect(error).toBeNull()
})

test('outputs are kept up to their limits and counted beyond them [M-18, M-19, M-20]', async () => {
  const limits = (head: number, tail: number) => ['--json', '--head-bytes', String(head), '--tail-bytes', String(tail)]
  const outputOf = async (options: string[], bytes: string) => {
    return documentOf(await run(options, [fixtureChild(), 'write', bytes])).outputs?.[1] as Output
  }
  expect(await outputOf(limits(4, 3), '7')).toMatchObject({ text: 'xxxxxxx', omittedBytes: 0, truncated: false })
  expect(await outputOf(limits(4, 3), '8')).toMatchObject({ totalBytes: 8, omittedBytes: 1, truncated: true })
  expect(await outputOf(limits(0, 0), '5000000')).toMatchObject({ totalBytes: 5_000_000, omittedBytes: 5_000_000 })
})

test('a descendant that left the group and holds an output delays the end by a second and is told [B048]', async () => {
  const result = await run(['--json'], [fixtureChild(), 'setsid-and-hold', '1', '3000'])
  expect(result.code).toBe(0)
  expect(result.stderr).toMatch(/^exactspawn: drain fd 1: still held open .*\n$/)
  expect(documentOf(result).outputs?.[1]).toMatchObject({ complete: false, text: expect.stringContaining('held') })
  expect(documentOf(result).exit).toMatchObject({ code: 0 })
})
