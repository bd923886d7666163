import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RULES, RULES_OF_CLAIMS, RULES_OF_PHASES } from '../../lib/cli/worker-rules.js'
import type { LaunchRecord } from '../../lib/worker.js'
import { commandLine, escapee } from '../process/ends/children.js'
import { root } from '../support/fixture.js'
import { alive, childrenOf } from '../support/process-table.js'
import { tmpFolder } from '../support/tmp.js'
import { abuse, record, sortingWorker } from '../support/worker.js'
import { until } from '../support/until.js'
import { cli, startCli } from './cli.js'

function text(json: string): string {
  const path = join(tmpFolder(), 'given.json')
  writeFileSync(path, json)
  return path
}

const written = (launched: LaunchRecord): string => text(JSON.stringify(launched))

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
    [['check', good, '--worker-id', 'nope'], '--worker-id nope'],
    [['check', text('{"program":"/bin/true","program":"/bin/false"}')], "'program'"],
    [['check', good, '--requests', text('{"prepare":{"dataset_dir":7}}')], 'prepare'],
    [['check', good, '--requests', text('{"hello":{}}')], 'hello is no method'],
    [['check', good, '--requests', text('{"evaluate":{}}')], 'no method of --role implementation'],
    [['check', good, '--requests', text('[]')], 'must be an object'],
    [['check', written(sortingWorker()), '--requests', text(`{"execute":{"result_dir":"${'x'.repeat(1_048_576)}"}}`)], '--requests'],
    [['check', '--json', good], 'comes first'],
    [['check', good, '--requests', text('{"execute":{"results":"/"}}')], 'results'],
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

test('requests can be given, so that a worker can show that it does its work [MP-11]', async () => {
  const dataset = tmpFolder()
  writeFileSync(join(dataset, 'numbers.txt'), '3\n1\n2\n')
  writeFileSync(join(dataset, 'dataset.json'), JSON.stringify({ file: 'numbers.txt', count: 3 }))
  const requests = text(JSON.stringify({ prepare: { dataset_dir: dataset } }))
  const { code, document } = await checked(sortingWorker(), '--requests', requests)
  const phases = ['hello', 'prepare', 'execute', 'reset', 'shutdown']
  expect(document['phases']).toEqual(phases.map((phase) => ({ phase, failure: null })))
  expect(code).toBe(0)
})

// A mode, a phase, what is said of it, and the mode's argument.
const breaches = [
  ['padded', 'execute', 'ERR_FRAME_LINE_TOO_LONG', RULES.ERR_FRAME_LINE_TOO_LONG, '1048577'],
  ['endless-line', 'execute', 'ERR_FRAME_LINE_TOO_LONG', RULES.ERR_FRAME_LINE_TOO_LONG, ''],
  ['duplicate-keys', 'execute', 'ERR_FRAME_DUPLICATE_KEY', RULES.ERR_FRAME_DUPLICATE_KEY, ''],
  ['invalid-utf8', 'execute', 'ERR_FRAME_INVALID_UTF8', RULES.ERR_FRAME_INVALID_UTF8, ''],
  ['malformed-json', 'prepare', 'ERR_FRAME_MALFORMED_JSON', RULES.ERR_FRAME_MALFORMED_JSON, ''],
  ['byte-order-mark', 'hello', 'ERR_FRAME_BYTE_ORDER_MARK', RULES.ERR_FRAME_BYTE_ORDER_MARK, ''],
  ['early-eof', 'execute', 'ERR_FRAME_EARLY_EOF', RULES.ERR_FRAME_EARLY_EOF, ''],
  ['mismatched-id', 'execute', 'ERR_REQUEST_ID_MISMATCH', RULES.ERR_REQUEST_ID_MISMATCH, ''],
  ['mismatched-id', 'hello', 'ERR_HANDSHAKE_FAILED', RULES.ERR_HANDSHAKE_FAILED, ''],
  ['non-string-id', 'reset', 'ERR_REQUEST_ID_INVALID', RULES.ERR_REQUEST_ID_INVALID, ''],
  ['no-id', 'execute', 'ERR_REQUEST_ID_INVALID', RULES.ERR_REQUEST_ID_INVALID, ''],
  ['unknown-field', 'execute', 'ERR_MESSAGE_INVALID', RULES.ERR_MESSAGE_INVALID, ''],
  ['wrong-version', 'hello', 'ERR_HANDSHAKE_FAILED', RULES.ERR_HANDSHAKE_FAILED, ''],
  ['wrong-identity', 'hello', 'ERR_HANDSHAKE_FAILED', RULES.ERR_HANDSHAKE_FAILED, ''],
  ['missing-capability', 'hello', 'ERR_HANDSHAKE_FAILED', RULES.ERR_HANDSHAKE_FAILED, ''],
  ['missing-sdk', 'hello', 'ERR_MESSAGE_INVALID', RULES.ERR_MESSAGE_INVALID, ''],
  ['extra-response', 'execute', 'ERR_RESPONSE_EXTRA', RULES.ERR_RESPONSE_EXTRA, ''],
  ['and-a-half', 'reset', 'ERR_RESPONSE_EXTRA', RULES.ERR_RESPONSE_EXTRA, ''],
  ['speaks-after-end', 'shutdown', 'ERR_RESPONSE_EXTRA', RULES.ERR_RESPONSE_EXTRA, ''],
  ['fails', 'hello', 'ERR_WORKER_FAILURE', RULES_OF_PHASES.hello, ''],
  ['fails', 'shutdown', 'ERR_WORKER_FAILURE', RULES_OF_PHASES.refused, ''],
  ['crashes', 'execute', 'ERR_PROTOCOL_CLOSED', RULES.ERR_PROTOCOL_CLOSED, ''],
  ['sleeps', 'execute', 'ERR_PHASE_TIMEOUT', RULES.ERR_PHASE_TIMEOUT, ''],
  ['acks-then-sleeps', 'shutdown', 'ERR_PHASE_TIMEOUT', RULES_OF_PHASES.shutdown, '0'],
  ['acks-then-exits', 'shutdown', 'ERR_UNSUCCESSFUL_EXIT', RULES.ERR_UNSUCCESSFUL_EXIT, '3'],
] as const

test.each(breaches)('a worker in the mode %s at %s is told %s [MP-14]', async (mode, phase, code, rule, argument) => {
  // Only what is waited for in vain should take its time.
  const timeout = code === 'ERR_PHASE_TIMEOUT' ? '2s' : '1m'
  const { code: exitCode, document } = await checked(abuse(mode, phase, argument), '--timeout', timeout)
  expect(document['broken']).toMatchObject({ code, rule })
  expect(exitCode).toBe(1)
})

test.each([
  ['implementation', 'execute', '/etc/passwd', 'MANIFEST_OUTSIDE'],
  ['implementation', 'execute', '../../passwd', 'MANIFEST_OUTSIDE'],
  ['implementation', 'execute', 'result.json', 'MANIFEST_MISSING'],
  ['dataset_materializer', 'materialize', 'dataset.json', 'MANIFEST_MISSING'],
  ['problem_evaluator', 'evaluate', '', 'METRICS_MISSING'],
] as const)('what a worker in the role of %s claims at %s is looked at: %s [MP-11]', async (role, phase, claim, code) => {
  const { code: exitCode, document } = await checked(abuse('claims', phase, claim), '--role', role)
  expect(document['broken']).toMatchObject({ code, rule: RULES_OF_CLAIMS[code] })
  expect(exitCode).toBe(1)
})

test('a worker that did none of its work is told to have kept the protocol, and that [MP-12]', async () => {
  const { code, stdout } = await cli(['worker', 'check', written(sortingWorker())])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^The worker keeps wire protocol v1, and did none of its work: give it --requests\.$/m)
})

test('a directory that cannot be removed costs no verdict [M-56]', async () => {
  const privateRoot = tmpFolder()
  const moving = { ...abuse('moves-root', 'shutdown', privateRoot) }
  const { code, stdout, stderr } = await cli(['worker', 'check', written(moving), '--private-root', privateRoot])
  expect(stdout).toMatch(/^shutdown +answered$/m)
  expect(stdout).toMatch(/^BROKEN +MANIFEST_MISSING/m)
  expect(stderr).toMatch(/^exactspawn: .*private root/)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(code).toBe(1)
  renameSync(`${privateRoot}-moved`, privateRoot)
})

test('a worker that dies between two requests has not kept the protocol [MP-14, B037]', async () => {
  const { code, document } = await checked(abuse('dies-after-answer', 'reset'))
  expect(document['broken']).toMatchObject({ rule: RULES.ERR_PROTOCOL_CLOSED })
  expect(code).toBe(1)
})

test('a worker whose escapee holds its logs is told what it may not leave [M-88]', async () => {
  const { code, document } = await checked(abuse('escapes', 'shutdown'))
  const [, pid] = /escapee (\d+)/.exec(JSON.stringify(document['logs'])) ?? []
  escapee(Number(pid), 'abuse.py')
  const rule = RULES.ERR_CONTROL_ENFORCEMENT_LOST
  expect(document['broken']).toMatchObject({ code: 'ERR_CONTROL_ENFORCEMENT_LOST', rule })
  expect(code).toBe(1)
})

test.each([['SIGINT', 130], ['SIGTERM', 143]] as const)('%s leaves neither worker nor directory [M-45, M-56]', async (signal, code) => {
  const privateRoot = tmpFolder()
  const options = ['--timeout', '5m', '--private-root', privateRoot]
  const args = ['worker', 'check', written(abuse('sleeps', 'prepare')), ...options]
  const started = startCli(args, { stdin: '' })
  const worker = () => childrenOf(started.process.pid).find((pid) => commandLine(pid).includes('abuse.py'))
  const pid = await until('the worker', worker)
  started.process.kill(signal)
  expect(await started.end).toEqual({ code, signal: null, stdout: '', stderr: '' })
  expect(readdirSync(privateRoot)).toEqual([])
  expect(alive(pid)).toBe(false)
})

test('a secret comes from a file and is shown nowhere [M-63, M-64]', async () => {
  const file = join(tmpFolder(), 'secret')
  writeFileSync(file, 'correct-horse\r\n')
  const telling = record('/bin/sh', ['-c', 'echo "$TOKEN"'])
  const secretChannels = [{ name: 'token', by: 'variable', variable: 'TOKEN' }] as const
  const { document } = await checked({ ...telling, secretChannels }, '--secret', `token=@${file}`)
  expect(document['logs']).toMatchObject({ stdout: { text: '[redacted]\n' } })
  expect(JSON.stringify(document)).not.toContain('horse')
})

test('every rule that is named stands on the page of the protocol [MP-01]', () => {
  const page = readFileSync(join(root, 'docs', 'protocol.md'), 'utf8').replace(/\s+/g, ' ')
  const rules = [RULES, RULES_OF_PHASES, RULES_OF_CLAIMS].flatMap((table) => Object.values(table) as string[])
  for (const rule of rules) expect(page).toContain(rule)
})
