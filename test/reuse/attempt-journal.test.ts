/** Evidence on disk: there before its end is told, whatever happens to the host. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'exactspawn'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AttemptJournal } from '../../lib/reuse/attempt-journal.js'
import { readAttemptJournal } from '../../lib/reuse/journal-reading.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import { denysys } from '../support/fixture.js'
import type { HostOptions } from '../support/host.js'
import { runHost } from '../support/host.js'
import { schemaOf } from '../support/json-schema.js'
import { openFds } from '../support/process-table.js'
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
  const refused = { code: 'ERR_INVALID_SPEC', details: { field: 'path' } }
  const before = openFds().size
  for (const path of ['', 'a\0b', 7 as never, undefined as never, null as never, {} as never, fifo, '/dev/null']) {
    expect(await rejection(AttemptJournal.open(path))).toMatchObject(refused)
    expect(await rejection(readAttemptJournal(path))).toMatchObject(refused)
  }
  // Not by a finalizer, which comes when it comes.
  expect(openFds().size).toBe(before)
  expect(await rejection(readAttemptJournal(folder))).toMatchObject(refused)
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

test('all that a crash could take is flushed: what is made with its name, what was torn, and each line [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  const flushed: string[] = []
  const handle = await open('/dev/null')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const { sync } = prototype
  const spy = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    flushed.push((await this.stat()).isDirectory() ? 'directory' : 'file')
    await sync.call(this)
  })
  onTestFinished(() => spy.mockRestore())
  const opening = async (append: boolean) => {
    flushed.length = 0
    await using journal = await AttemptJournal.open(path)
    if (append) await journal.append(evidence)
    return [...flushed]
  }
  expect(await opening(false)).toEqual(['file', 'directory'])
  expect(await opening(false)).toEqual([])
  expect(await opening(true)).toEqual(['file'])
  appendFileSync(path, '{"evid')
  expect(await opening(false)).toEqual(['file'])
  appendFileSync(path, '{"evid')
  spy.mockRejectedValue(new Error('of the disk'))
  const before = openFds().size
  await expect(AttemptJournal.open(path)).rejects.toThrow('of the disk')
  expect(openFds().size).toBe(before)
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

test('a line that is no evidence is told by its number, and keeps no other from being read [R-37]', async () => {
  const path = journalIn(tmpFolder())
  writeFileSync(path, '')
  expect(await readAttemptJournal(path)).toEqual({ attempts: [], torn: [], foreign: [] })
  const evidence = await anEvidence()
  const own = JSON.stringify(evidence)
  const { observation: _observation, ...unfinished } = evidence as AttemptEvidence & { observation?: unknown }
  const lines: [text: string, reason?: string][] = [
    ['\0\0\0'],
    ['\xff'],
    ['{"evidence":1,"evidence":1}'],
    ['{"evidence":2}', 'is evidence of version 2, and this package reads 1'],
    ['{"foo":1}', 'is no evidence: it has no version'],
    ['5', 'is no object'],
    ['null', 'is no object'],
    ['{"evidence":1}', 'is no evidence: wire_protocol is missing or wrong'],
    [JSON.stringify({ ...evidence, attempt: 5 }), 'is no evidence: attempt is missing or wrong'],
    [JSON.stringify({ ...evidence, context: {} }), 'is no evidence: context is missing or wrong'],
    [JSON.stringify(unfinished), 'is no evidence: completed has observation'],
    [JSON.stringify({ ...evidence, outcome: 'lost' }), 'is no evidence: outcome is missing or wrong'],
  ]
  const text = [own, '', ...lines.map(([line]) => line), own, ''].join('\n')
  writeFileSync(path, Buffer.from(text, 'latin1'))
  const { attempts, torn, foreign } = await readAttemptJournal(path)
  expect(attempts).toEqual([evidence, evidence])
  const first = own.length + 2
  expect(torn).toEqual([
    { line: 3, offset: first, bytes: 3 },
    { line: 4, offset: first + 4, bytes: 1 },
    { line: 5, offset: first + 6, bytes: 27 },
  ])
  const told = lines.flatMap(([line, reason], at) => (reason === undefined ? [] : [{ line: at + 3, bytes: line.length, reason }]))
  expect(foreign).toMatchObject(told)
  expect(text.slice(foreign[1]?.offset).startsWith('{"foo":1}')).toBe(true)
})

test('lines that begin, end and lie anywhere in the pieces that are read are whole lines [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  // A piece is 1 MiB: some lines are longer, and one ends exactly with it.
  const sized = (bytes: number) => {
    const slot = (pad: number) => JSON.stringify({ ...evidence, slot: 'x'.repeat(pad) })
    return slot(bytes - slot(0).length)
  }
  const sizes = [1_048_575, 2_000, 3_000_000, 1_048_576, 5_000]
  writeFileSync(path, `${sizes.map(sized).join('\n')}\n`)
  const { attempts, torn, foreign } = await readAttemptJournal(path)
  expect(attempts.map((attempt) => JSON.stringify(attempt).length)).toEqual(sizes)
  expect([...torn, ...foreign]).toEqual([])
})

test('a journal above 2 GiB is read: what is too long for a line is told as torn [R-37, P-5]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  const own = `${JSON.stringify(evidence)}\n`
  writeFileSync(path, own)
  // A hole: no block of it is on the disk.
  const end = 2 ** 31 + 5
  truncateSync(path, end)
  appendFileSync(path, `\n${own}`)
  const { attempts, torn } = await readAttemptJournal(path)
  expect(attempts).toEqual([evidence, evidence])
  expect(torn).toEqual([{ line: 2, offset: own.length, bytes: end - own.length }])
})

test('what is no evidence is refused by a rejection, and the journal stays good [R-37]', async () => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  await using journal = await AttemptJournal.open(path)
  for (const value of [undefined, null, 5, {}, { ...evidence, evidence: 2 }, { ...evidence, slot: NaN }]) {
    const error = await rejection(journal.append(value as never))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: expect.stringMatching(/^evidence/) as string } })
  }
  await journal.append(evidence)
  expect(await readAttemptJournal(path)).toEqual({ attempts: [evidence], torn: [], foreign: [] })
})

test.each(['moved', 'deleted', 'replaced'])('a journal that was %s swallows no evidence: nothing more is taken [R-37]', async (how) => {
  const path = journalIn(tmpFolder())
  const evidence = await anEvidence()
  await using journal = await AttemptJournal.open(path)
  await journal.append(evidence)
  if (how === 'deleted') rmSync(path)
  else renameSync(path, `${path}.1`)
  if (how === 'replaced') writeFileSync(path, '')
  const failed = { code: 'ERR_PUBLICATION_FAILED', cause: { message: 'the journal was moved or deleted' } }
  expect(await rejection(journal.append(evidence))).toMatchObject(failed)
  if (how === 'moved') renameSync(`${path}.1`, path)
  expect(await rejection(journal.append(evidence))).toMatchObject(failed)
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
