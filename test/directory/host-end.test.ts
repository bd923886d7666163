import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateDirectory, sweepPrivateRoot } from 'exactspawn'
import { beforeEach, expect, test } from 'vitest'
import { dist } from '../support/fixture.js'
import { hostSays, runHost, startHost } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'
import { until } from '../support/until.js'

let root: string

beforeEach(() => {
  root = tmpFolder()
})

const make = (lines = '') => `
  const fs = require('node:fs')
  const directory = await xs.createPrivateDirectory(${JSON.stringify(root)})
  fs.mkdirSync(directory.path + '/a')
  fs.writeFileSync(directory.path + '/a/file', '')
  ${lines}`

async function livingHost(): Promise<{ host: ChildProcess; path: string }> {
  const host = startHost(make('setInterval(() => {}, 1000); say(directory.path)'))
  let said = ''
  host.stdout?.setEncoding('utf8').on('data', (text: string) => (said += text))
  const line = await until('the path of its directory', () => (said.endsWith('\n') ? said : null))
  return { host, path: JSON.parse(line) as string }
}

// Waits for the reaping, not for a zombie: a host is one as soon as its first thread has gone, and while it has another
// its files are open, and with them the lock.
async function killHost(host: ChildProcess): Promise<void> {
  const exited = once(host, 'exit')
  host.kill('SIGKILL')
  await exited
}

async function leftByKilledHost(): Promise<string> {
  const { host, path } = await livingHost()
  await killHost(host)
  return path
}

test.each([
  ['runs out of work', '', 0],
  ['calls process.exit', 'process.exit(3)', 3],
  ['throws where nobody catches', "setImmediate(() => { throw new Error('x') }); await new Promise(() => {})", 1],
  ['has an unhandled rejection', "Promise.reject(new Error('x')); await new Promise(() => {})", 1],
])('a host that %s takes its directories along [P-7, M-56]', async (_, end, expected) => {
  const { code } = await runHost(make(end))
  expect(code).toBe(expected)
  expect(readdirSync(root)).toEqual([])
})

test('a worker thread takes its directories along, whether it ends or is ended [P-7, M-56]', async () => {
  const worker = (end: string) => `
    const { parentPort } = require('node:worker_threads')
    const xs = require(${JSON.stringify(dist)})
    xs.createPrivateDirectory(${JSON.stringify(root)}).then((directory) => {
      globalThis.directory = directory
      parentPort.postMessage(require('node:fs').existsSync(directory.path))
      ${end}
    })`
  const body = `
    const { Worker } = require('node:worker_threads')
    const { once } = require('node:events')
    const run = async (source) => {
      const worker = new Worker(source, { eval: true })
      const exited = once(worker, 'exit')
      const [there] = await once(worker, 'message')
      return { worker, exited, there }
    }
    const ended = await run(${JSON.stringify(worker(''))})
    await ended.exited
    const terminated = await run(${JSON.stringify(worker('setInterval(() => {}, 1000)'))})
    await terminated.worker.terminate()
    say([ended.there, terminated.there, require('node:fs').readdirSync(${JSON.stringify(root)})])`
  expect(await hostSays(body)).toEqual([[true, true, []]])
})

test('a worker thread ended before it learns of its directories leaves none [P-7]', async () => {
  const worker = `
    const xs = require(${JSON.stringify(dist)})
    for (let count = 0; count < 10; count++) xs.createPrivateDirectory(${JSON.stringify(root)})
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
  const body = `
    const { Worker } = require('node:worker_threads')
    const fs = require('node:fs')
    const worker = new Worker(${JSON.stringify(worker)}, { eval: true })
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    while (fs.readdirSync(${JSON.stringify(root)}).length < 20) await turn()
    await worker.terminate()
    say(fs.readdirSync(${JSON.stringify(root)}))`
  expect(await hostSays(body)).toEqual([[]])
})

test('what a killed host left is swept by the next, and what a living one uses is kept [B111]', async () => {
  const { host, path: left } = await livingHost()
  await using ours = await createPrivateDirectory(root)
  expect(await sweepPrivateRoot(root)).toEqual({ removed: 0, kept: 2, ignored: 0, left: 0, failures: [] })

  await killHost(host)
  expect(existsSync(left)).toBe(true)
  const report = await sweepPrivateRoot(root)
  expect(report).toEqual({ removed: 1, kept: 1, ignored: 0, left: 0, failures: [] })
  expect(Object.isFrozen(report) && Object.isFrozen(report.failures)).toBe(true)
  expect(readdirSync(root).sort()).toEqual([ours.path, `${ours.path}.owner`].map((path) => path.slice(root.length + 1)))
})

test('a process number that a stranger has now keeps nothing: the start time tells [B111]', async () => {
  const left = await leftByKilledHost()
  const [, ticks, boot] = readFileSync(`${left}.owner`, 'utf8').split('\n')
  const { host: stranger } = await livingHost()
  writeFileSync(`${left}.owner`, `${stranger.pid}\n${ticks}\n${boot}\n`)
  expect(await sweepPrivateRoot(root)).toMatchObject({ removed: 1, kept: 1 })
  expect(existsSync(left)).toBe(false)
  await killHost(stranger)
  expect(await sweepPrivateRoot(root)).toMatchObject({ removed: 1, kept: 0 })
  expect(readdirSync(root)).toEqual([])
})

test('a living number with its own start time keeps a directory that nobody has locked [B111]', async () => {
  const left = await leftByKilledHost()
  const [, , boot] = readFileSync(`${left}.owner`, 'utf8').split('\n')
  const self = readFileSync('/proc/self/stat', 'latin1')
  const ticks = self.slice(self.lastIndexOf(')') + 2).split(' ')[19]
  writeFileSync(`${left}.owner`, `${process.pid}\n${ticks}\n${boot}\n`)
  expect(await sweepPrivateRoot(root)).toMatchObject({ removed: 0, kept: 1 })
  writeFileSync(`${left}.owner`, `${process.pid}\n${Number(ticks) + 1}\n${boot}\n`)
  expect(await sweepPrivateRoot(root)).toMatchObject({ removed: 1, kept: 0 })
})

test('a sweep leaves alone what is not ours and what says nothing reliable [B111]', async () => {
  const strange = `strange-${'a'.repeat(26)}`
  mkdirSync(join(root, strange))
  writeFileSync(join(root, `${strange}.owner`), 'not an owner file\n')
  mkdirSync(join(root, 'notes'))
  writeFileSync(join(root, 'notes.owner'), '1\n1\nboot\n')
  mkdirSync(join(root, `orphan-${'a'.repeat(26)}`))
  const before = readdirSync(root)
  expect(await sweepPrivateRoot(root)).toEqual({ removed: 0, kept: 0, ignored: 1, left: 0, failures: [] })
  expect(readdirSync(root)).toEqual(before)
})

test('a sweep of a missing root is told and makes nothing [M-57, B111]', async () => {
  const path = join(root, 'none')
  await expect(sweepPrivateRoot(path)).rejects.toMatchObject({
    code: 'ERR_PRIVATE_ROOT_UNAVAILABLE',
    details: { path, reason: 'missing' },
  })
  await expect(sweepPrivateRoot(7 as never)).rejects.toMatchObject({ code: 'ERR_INVALID_SPEC', name: 'TypeError' })
  await expect(sweepPrivateRoot(root, { timeoutMs: -1 })).rejects.toBeInstanceOf(RangeError)
  expect(readdirSync(root)).toEqual([])
})

test('a sweep without time leaves a dead owner’s directory, counts it and takes it the next time [B111]', async () => {
  const left = await leftByKilledHost()
  expect(await sweepPrivateRoot(root, { timeoutMs: 0 })).toMatchObject({ removed: 0, left: 1 })
  expect(existsSync(`${left}.owner`)).toBe(true)
  expect(await sweepPrivateRoot(root)).toMatchObject({ removed: 1, left: 0 })
})
