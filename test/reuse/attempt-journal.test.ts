/** Evidence on disk: there before its end is told, whatever happens to the host. */
import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'exactspawn'
import { expect, onTestFinished, test } from 'vitest'
import { AttemptJournal, readAttemptJournal } from '../../lib/reuse/attempt-journal.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import { denysys } from '../support/fixture.js'
import type { HostOptions } from '../support/host.js'
import { runHost } from '../support/host.js'
import { schemaOf } from '../support/json-schema.js'
import { tmpFolder } from '../support/tmp.js'
import { attemptOf, ownerOf, partsOf } from '../support/owner.js'
import { rejection, rounds } from '../support/worker.js'

const accepts = schemaOf('attempt-evidence.schema.json')
const journalIn = (folder: string) => join(folder, 'attempts.jsonl')

/** The evidence of one real attempt, to be written as often as wanted. */
async function anEvidence(): Promise<AttemptEvidence> {
  await using held = ownerOf()
  return (await held.owner.run(attemptOf())).evidence
}

const named = (evidence: AttemptEvidence, attempt: string): AttemptEvidence => ({ ...evidence, attempt })

test('a path that is no regular file is refused, and nothing is waited for [R-37]', async () => {
  const folder = tmpFolder()
  const fifo = join(folder, 'fifo')
  await (await spawn({ program: '/usr/bin/mkfifo', args: [fifo], env: {} })).wait()
  for (const path of ['', 7 as never, fifo, '/dev/null']) {
    expect(await rejection(AttemptJournal.open(path))).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'path' } })
  }
  expect(await rejection(AttemptJournal.open(folder))).toMatchObject({ code: 'EISDIR' })
  expect(await rejection(AttemptJournal.open(join(folder, 'none', 'journal')))).toMatchObject({ code: 'ENOENT' })
  expect(await rejection(readAttemptJournal(join(folder, 'none')))).toMatchObject({ code: 'ENOENT' })
})

test('a journal is its owner\'s alone under any umask, and one that is there keeps its mode [R-37, B112]', async () => {
  for (const mask of [0o000, 0o777]) {
    const path = journalIn(tmpFolder())
    const before = process.umask(mask)
    await (await AttemptJournal.open(path).finally(() => process.umask(before))).close()
    expect(statSync(path).mode & 0o7777).toBe(0o600)
    chmodSync(path, 0o640)
    await (await AttemptJournal.open(path)).close()
    expect(statSync(path).mode & 0o7777).toBe(0o640)
  }
})

test('owners of several lanes publish into one journal: whole lines, all of them, canonical [R-37, R-35]', async () => {
  const path = journalIn(tmpFolder())
  await using journal = await AttemptJournal.open(path)
  await using one = ownerOf({ publish: journal.append, lane: 0 })
  await using two = ownerOf({ publish: journal.append, lane: 1 })
  const outcomes = await Promise.all([
    one.owner.run(attemptOf({}, { id: 'a' })).then(() => one.owner.run(attemptOf({}, { id: 'b' }))),
    two.owner.run(attemptOf({ execute: ['fail'] }, { id: 'c' })).catch(() => undefined),
  ])
  const { attempts, torn } = await readAttemptJournal(path)
  expect(torn).toEqual([])
  expect(attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`).toSorted()).toEqual([
    'a completed',
    'b completed',
    'c failed',
  ])
  expect(attempts.every(accepts)).toBe(true)
  expect(attempts.find(({ attempt }) => attempt === 'b')).toEqual(outcomes[0].evidence)
  const lines = readFileSync(path, 'utf8').split('\n')
  expect(lines.pop()).toBe('')
  for (const line of lines) {
    const keys = Object.keys(JSON.parse(line) as object)
    expect(keys).toEqual(keys.toSorted())
  }
})

test('a hundred appends at once are a hundred lines, in the order of the calls [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  await using journal = await AttemptJournal.open(path)
  const names = Array.from({ length: 100 }, (_, index) => `attempt ${index}`)
  await Promise.all(names.map((name) => journal.append(named(evidence, name))))
  expect((await readAttemptJournal(path)).attempts.map(({ attempt }) => attempt)).toEqual(names)
})

test('a last line that was torn at any byte is told, and everything before and after it is read [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  const write = async (name: string) => {
    await using journal = await AttemptJournal.open(path)
    await journal.append(named(evidence, name))
  }
  await write('first')
  const whole = readFileSync(path)
  for (const kept of [1, 2, Math.floor(whole.length / 2), whole.length - 2]) {
    writeFileSync(path, Buffer.concat([whole, whole.subarray(0, kept)]))
    const torn = { line: 2, offset: whole.length, bytes: kept }
    const reading = await readAttemptJournal(path)
    expect(reading.attempts.map(({ attempt }) => attempt)).toEqual(['first'])
    expect(reading.torn).toEqual([torn])
    await write('third')
    const later = await readAttemptJournal(path)
    expect(later.attempts.map(({ attempt }) => attempt)).toEqual(['first', 'third'])
    expect(later.torn).toEqual([torn])
  }
  // All of it but the end of its line is all of it.
  writeFileSync(path, Buffer.concat([whole, whole.subarray(0, -1)]))
  await write('third')
  expect((await readAttemptJournal(path)).attempts.map(({ attempt }) => attempt)).toEqual(['first', 'first', 'third'])
  expect((await readAttemptJournal(path)).torn).toEqual([])
})

test('bytes that are no evidence are told, of another version refused, and an empty journal is one [R-37]', async () => {
  const path = journalIn(tmpFolder())
  writeFileSync(path, '')
  expect(await readAttemptJournal(path)).toEqual({ attempts: [], torn: [] })
  writeFileSync(path, Buffer.from('\0\0\0\n\xff\n{"evidence":1,"evidence":1}\n', 'latin1'))
  expect((await readAttemptJournal(path)).torn).toEqual([
    { line: 1, offset: 0, bytes: 3 },
    { line: 2, offset: 4, bytes: 1 },
    { line: 3, offset: 6, bytes: 27 },
  ])
  appendFileSync(path, '{"evidence":2}\n')
  expect(await rejection(readAttemptJournal(path))).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'line 4' } })
})

test('a journal that is closed takes nothing any more, and closing waits for what is under way [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  const journal = await AttemptJournal.open(path)
  const last = journal.append(named(evidence, 'last'))
  await Promise.all([journal.close(), journal.close()])
  await last
  expect(await rejection(journal.append(named(evidence, 'late')))).toMatchObject({
    code: 'ERR_PUBLICATION_FAILED',
    details: { attempt: 'late' },
  })
  expect((await readAttemptJournal(path)).attempts.map(({ attempt }) => attempt)).toEqual(['last'])
})

// Hosts that die, or whose disk fails, between evidence and event.

interface Fate {
  /** What the host does around the append. */
  publish: string
  attempts?: number
  options?: HostOptions
  /** Blocks of 512 bytes that a file may have. */
  limit?: number
  /** The journal is there already. */
  existing?: boolean
}

/** Runs attempts in a host of its own; gives what it told, and what is on the disk. */
async function hostWith({ publish, attempts = 2, options = {}, limit, existing = false }: Fate) {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = journalIn(folder)
  if (existing) writeFileSync(path, '')
  const { measure: _measure, ...attempt } = attemptOf({}, { worker: partsOf() })
  const body = `
    const { WorkerOwner } = require(${JSON.stringify(dist('reuse/worker-owner.js'))})
    const { AttemptJournal } = require(${JSON.stringify(dist('reuse/attempt-journal.js'))})
    const { LocalProcessExecutor } = require(${JSON.stringify(dist('executor.js'))})
    const fs = require('node:fs')
    const die = () => process.kill(process.pid, 'SIGKILL')
    const journal = await AttemptJournal.open(${JSON.stringify(path)})
    const executor = new LocalProcessExecutor({ privateRoot: ${JSON.stringify(folder)}, logs: { stdoutBytes: 9, stderrBytes: 9 } })
    const told = []
    let count = 0
    const owner = new WorkerOwner({
      executor,
      publish: async (evidence) => { count++; ${publish} },
      onEvent: ({ type, attempt }) => { if (type === 'completed' || type === 'failed') { say({ event: type, attempt }); if (globalThis.dieAfter) die() } },
    })
    for (let i = 0; i < ${attempts}; i++) {
      await owner.run({ ...${JSON.stringify(attempt)}, id: 'attempt ' + i, measure: async () => null }).catch((error) => {
        say({ error: error.code, cause: error.cause?.cause?.code ?? error.cause?.code })
      })
    }
    await owner[Symbol.asyncDispose]()
    await journal.close()`
  const wrapper = limit === undefined ? options.wrapper : ['/bin/sh', '-c', `ulimit -f ${limit}; exec "$@"`, 'sh']
  const { signal, stdout, stderr } = await runHost(body, { ...options, ...(wrapper === undefined ? {} : { wrapper }) })
  const lines = stdout.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, string>)
  const reading = existsSync(path) ? await readAttemptJournal(path) : { attempts: [], torn: [] }
  return {
    signal,
    stderr,
    events: lines.flatMap(({ event, attempt }) => (event === undefined ? [] : [attempt as string])),
    errors: lines.flatMap(({ error, cause }) => (error === undefined ? [] : [{ error, cause }])),
    evidence: reading.attempts.map(({ attempt }) => attempt),
    torn: reading.torn.length,
  }
}

const dist = (file: string): string => new URL(`../../dist/${file}`, `file://${__filename}`).pathname

test.each<[where: string, publish: string, evidence: string[], events: string[], torn: number]>([
  ['before the evidence', 'if (count === 2) die(); await journal.append(evidence)', ['attempt 0'], ['attempt 0'], 0],
  [
    'in the middle of the evidence',
    `if (count === 2) {
       const line = JSON.stringify(evidence)
       fs.appendFileSync(journal.path, line.slice(0, line.length / 2))
       die()
     }
     await journal.append(evidence)`,
    ['attempt 0'],
    ['attempt 0'],
    1,
  ],
  [
    'between evidence and event',
    'await journal.append(evidence); if (count === 2) die()',
    ['attempt 0', 'attempt 1'],
    ['attempt 0'],
    0,
  ],
  [
    'after the event',
    'await journal.append(evidence); globalThis.dieAfter = count === 2',
    ['attempt 0', 'attempt 1'],
    ['attempt 0', 'attempt 1'],
    0,
  ],
])('a host killed %s: the evidence is there, or neither is [R-37]', async (_, publish, evidence, events, torn) => {
  expect(await hostWith({ publish })).toMatchObject({ signal: 'SIGKILL', evidence, events, torn })
})

test('a host killed at any moment has told no end whose evidence is not there [R-37]', async () => {
  for (let round = 0; round < rounds(6); round++) {
    const delayMs = 250 + 60 * round
    const publish = `if (count === 1) setTimeout(die, ${delayMs - 250}); await journal.append(evidence)`
    const { signal, evidence, events, torn } = await hostWith({ publish, attempts: 10_000 })
    expect(signal).toBe('SIGKILL')
    expect(torn).toBeLessThanOrEqual(1)
    expect(evidence.slice(0, events.length)).toEqual(events)
    // At most the one whose end was about to be told.
    expect(evidence.length - events.length).toBeLessThanOrEqual(1)
  }
})

test('a flush that fails after the write: the attempt is not accepted, and no end is told [R-37]', async () => {
  const fsync = process.arch === 'x64' ? '74' : '82'
  const options = { wrapper: [denysys(), 'EIO', fsync, '--'] }
  const publish = 'await journal.append(evidence)'
  const failed = await hostWith({ publish, options, existing: true })
  const error = { error: 'ERR_PUBLICATION_FAILED', cause: 'EIO' }
  expect(failed).toMatchObject({ signal: null, events: [], errors: [error, error] })
  // One that is made would not be there after a crash: it is not even opened.
  const made = await hostWith({ publish, options })
  expect(made).toMatchObject({ events: [], evidence: [] })
  expect(made.stderr).toContain('EIO')
})

test('a disk that is full in the middle of a line: it is torn, told as that, and no end is told [R-37]', async () => {
  // In blocks of 512 bytes: room for the first line and a part of the second.
  const result = await hostWith({ publish: 'await journal.append(evidence)', attempts: 3, limit: 2 })
  expect(result).toMatchObject({ signal: null, evidence: ['attempt 0'], events: ['attempt 0'], torn: 1 })
  // The journal promises nothing after it, also where there would be room.
  const error = { error: 'ERR_PUBLICATION_FAILED', cause: 'EFBIG' }
  expect(result.errors).toEqual([error, error])
})
