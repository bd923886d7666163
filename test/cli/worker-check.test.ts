import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RULES } from '../../lib/cli/worker-exercise.js'
import type { LaunchRecord } from '../../lib/worker.js'
import { root } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'
import { abuse, record, sortingWorker } from '../support/worker.js'
import { cli } from './cli.js'

function written(launched: LaunchRecord): string {
  const path = join(tmpFolder(), 'record.json')
  writeFileSync(path, JSON.stringify(launched))
  return path
}

async function checked(launched: LaunchRecord, ...options: string[]) {
  const privateRoot = tmpFolder()
  const { code, stdout, stderr } = await cli([
    ...['worker', 'check', written(launched), '--json', '--private-root', privateRoot],
    ...options,
  ])
  expect(stderr).toBe('')
  expect(readdirSync(privateRoot)).toEqual([])
  return { code, document: JSON.parse(stdout) as Record<string, never> }
}

test('what cannot be meant ends with 125 and one line that says why [M-48]', async () => {
  const good = written(record('/bin/true', []))
  const cases: [string[], string][] = [
    [[], 'worker check is the one command'],
    [['check'], 'the file of the launch record comes first'],
    [['check', '/nowhere/record.json'], 'ENOENT'],
    [['check', good, '--role', 'judge'], '--role judge'],
    [['check', good, '--timeout', '5'], 'give a number and its unit'],
    [['check', good, '--secret', 'token=typed'], 'must be @FILE or fd:N'],
    [['check', written({ ...record('true', []) })], 'must be an absolute path'],
    [['check', written(record('/nowhere/none', []))], 'spawn failed at exec'],
  ]
  for (const [args, why] of cases) {
    const { code, stdout, stderr } = await cli(['worker', ...args])
    expect({ code, stdout }).toEqual({ code: 125, stdout: '' })
    expect(stderr).toContain(why)
    expect(stderr).not.toContain('typed\n')
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  }
})

test('a worker that keeps the protocol passes, also when it says no to an empty dataset [M-68, MP-09]', async () => {
  const { code, document } = await checked(sortingWorker())
  expect(document).toMatchObject({ role: 'implementation', broken: null, exit: { code: 0 } })
  expect(document['phases']).toMatchObject([
    { phase: 'hello', failure: null },
    { phase: 'prepare', failure: { code: 'operation_failed' } },
    { phase: 'execute', failure: { code: 'invalid_request' } },
    { phase: 'reset', failure: null },
    { phase: 'shutdown', failure: null },
  ])
  expect(document['workerId']).toMatch(/^mw1-resolved-worker-[0-9a-f]{64}$/)
  expect(code).toBe(0)
})

test('a program that is no worker has broken a rule, which is named from the page [MP-14]', async () => {
  const { code, document } = await checked(record('/bin/echo', ['hi']))
  expect(code).toBe(1)
  expect(document['broken']).toMatchObject({ rule: RULES.ERR_PROTOCOL_CLOSED })
  expect(document['logs']).toMatchObject({ stdout: { text: 'hi\n', totalBytes: 3, truncated: false } })
  const { stdout, code: plain } = await cli(['worker', 'check', written(record('/bin/echo', ['hi\x1b[2J']))])
  expect(plain).toBe(1)
  expect(stdout).toMatch(/^BROKEN +ERR_PROTOCOL_/m)
  expect(stdout).not.toContain('\x1b')
})

test('a worker that never answers is told within the time given [M-84]', async () => {
  const { code, document } = await checked(abuse('sleeps', 'hello'), '--timeout', '300ms')
  expect(code).toBe(1)
  expect(document['broken']).toMatchObject({ code: 'ERR_PHASE_TIMEOUT', rule: RULES.ERR_PHASE_TIMEOUT })
})

test('a secret comes from a file and is shown nowhere [M-63, M-64]', async () => {
  const file = join(tmpFolder(), 'secret')
  writeFileSync(file, 'correct-horse')
  const telling = record('/bin/sh', ['-c', 'echo "$TOKEN"'])
  const secretChannels = [{ name: 'token', by: 'variable', variable: 'TOKEN' }] as const
  const { document } = await checked({ ...telling, secretChannels }, '--secret', `token=@${file}`)
  expect(document['logs']).toMatchObject({ stdout: { text: '[redacted]\n' } })
  expect(JSON.stringify(document)).not.toContain('horse')
})

test('every rule that is named stands on the page of the protocol [MP-01]', () => {
  const page = readFileSync(join(root, 'docs', 'protocol.md'), 'utf8').replace(/\s+/g, ' ')
  for (const rule of Object.values(RULES)) expect(page).toContain(rule)
})
