/** What a number can be: nothing, bytes, a file, a stream. */
import { spawnSync } from 'node:child_process'
import { chmodSync, constants, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FdSource, FileMode } from 'exactspawn'
import { MiB, spawn } from 'exactspawn'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { dist } from '../../support/fixture.js'
import { runHost } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { aftermath, onEachWay, output } from './starts.js'

const modeOf = (path: string): number => statSync(path).mode & 0o777

function withUmask(mask: number): void {
  const before = process.umask(mask)
  onTestFinished(() => void process.umask(before))
}

async function writeThrough(path: string, mode: FileMode, text: string): Promise<void> {
  const child = await spawn({ program: '/bin/echo', args: ['-n', text], env: {}, fds: { 1: { file: path, mode } } })
  expect((await child.wait()).code).toBe(0)
}

test('what reads a standard input that nobody named ends at once [M-43, B093]', async () => {
  await onEachWay(async () => {
    expect(await output(['cat', '0', '1', '--', 'text', 'end'], { fds: { 2: 'null' } })).toBe('end')
  })
})

test('standard input is what the map says: nothing, bytes, a file or a stream [X-03]', async () => {
  const path = join(tmpFolder(), 'input')
  writeFileSync(path, 'from a file')
  const sources: readonly (readonly [FdSource, string])[] = [
    ['null', ''],
    [{ bytes: Buffer.from('from bytes') }, 'from bytes'],
    [{ file: path, mode: 'read' }, 'from a file'],
    [{ file: Buffer.from(path), mode: 'read' }, 'from a file'],
  ]
  for (const [source, expected] of sources) {
    expect(await output(['cat', '0', '1'], { fds: { 0: source, 2: 'null' } })).toBe(expected)
  }
  const child = await spawn({ program: '/bin/cat', env: {}, fds: { 0: 'pipe', 1: 'pipe' } })
  child.stdin?.end('from a stream')
  expect(Buffer.concat(await child.stdout!.toArray()).toString()).toBe('from a stream')
  expect((await child.wait()).code).toBe(0)
  expect(child.stderr).toBe(null)
})

test('bytes are sealed: the child reads them whole and changes nothing [P-1, X-03]', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 * 300 }, (_, i) => i % 256))
  await onEachWay(async () => {
    const { fds } = await audit({ fds: { 5: { bytes } } })
    expect(fds[3]).toMatchObject({ fd: 5, fdflags: 0, offset: 0 })
    expect((fds[3]?.mode ?? 0) & constants.S_IFMT).toBe(constants.S_IFREG)
    // The limit is for the day when this fails: memory is all that would end the writing then.
    const writes = await output(['write-until-error', '5'], { fds: { 5: { bytes } }, limits: { fsize: MiB } })
    expect(writes).toBe('ready\nerrno EPERM\n')
  })
  const child = await spawn({ program: '/bin/cat', env: {}, fds: { 0: { bytes }, 1: 'pipe' } })
  expect(Buffer.concat(await child.stdout!.toArray()).equals(bytes)).toBe(true)
  await child.wait()
})

test('bytes are those of the call, whatever the caller does with the array afterwards [P-1]', async () => {
  const bytes = Buffer.from('as they were')
  const child = output(['cat', '5', '1'], { fds: { 2: 'null', 5: { bytes } } })
  bytes.fill('x')
  expect(await child).toBe('as they were')
  expect(await output(['cat', '5', '1'], { fds: { 2: 'null', 5: { bytes: new Uint8Array() } } })).toBe('')
})

test('a file is written from its start, from its end, or read, as its mode says [X-03]', async () => {
  const path = join(tmpFolder(), 'file')
  await writeThrough(path, 'write', 'first and long')
  await writeThrough(path, 'write', 'second')
  expect(readFileSync(path, 'utf8')).toBe('second')
  await writeThrough(path, 'append', ', third')
  expect(readFileSync(path, 'utf8')).toBe('second, third')
  const { fds } = await audit({
    fds: { 5: { file: path, mode: 'read' }, 6: { file: path, mode: 'append' }, 7: { file: path, mode: 'write' } },
  })
  const access = fds.slice(3).map(({ statusflags }) => statusflags & 3)
  expect(access).toEqual([constants.O_RDONLY, constants.O_WRONLY, constants.O_WRONLY])
  expect((fds[4]?.statusflags ?? 0) & constants.O_APPEND).toBe(constants.O_APPEND)
})

test('a new file is 0600 whatever the host’s umask, and one that was there keeps its mode [B097, B112]', async () => {
  const folder = tmpFolder()
  const old = join(folder, 'old')
  writeFileSync(old, '')
  chmodSync(old, 0o644)
  for (const mask of [0, 0o022, 0o777]) {
    withUmask(mask)
    for (const mode of ['write', 'append'] as const) {
      const path = join(folder, `${mode}-${mask}`)
      await writeThrough(path, mode, 'text')
      expect(modeOf(path).toString(8)).toBe('600')
      await writeThrough(old, mode, 'text')
      expect(modeOf(old).toString(8)).toBe('644')
    }
    expect(process.umask()).toBe(mask)
  }
})

test('a file behind a link is opened, and one that a dangling link names is made [X-03]', async () => {
  const folder = tmpFolder()
  const [link, target] = [join(folder, 'link'), join(folder, 'target')]
  symlinkSync(target, link)
  await writeThrough(link, 'write', 'made')
  await writeThrough(link, 'append', ', found')
  expect(readFileSync(target, 'utf8')).toBe('made, found')
})

test('a file that cannot be opened fails the start at its stage, with path and entry [P-2, B019]', async () => {
  const folder = tmpFolder()
  const cases = [
    [join(folder, 'missing'), 'read', 'ENOENT'],
    [join(folder, 'missing', 'x'), 'write', 'ENOENT'],
    [folder, 'write', 'EISDIR'],
    [folder, 'append', 'EISDIR'],
    ['/etc/hostname/x', 'read', 'ENOTDIR'],
  ] as const
  for (const [path, mode, code] of cases) {
    const good = { file: join(folder, 'good'), mode: 'append' } as const
    const fds = { 4: good, 5: { file: path, mode } }
    const after = await aftermath(() => spawn({ program: '/bin/true', env: {}, fds }))
    expect(after).toMatchObject({
      error: { name: 'SpawnError', code: 'ERR_SPAWN_FAILED', cause: { code } },
      starts: 0,
      fds: [],
      children: [],
    })
    expect(after.error.details).toMatchObject({ stage: 'file', path, field: 'fds.5' })
  }
})

test('a worker thread that gave a file to a child closes nothing of the host when it ends [X-03, P-10]', async () => {
  const worker = `
    const { spawn } = require(${JSON.stringify(dist)})
    ;(async () => {
      const child = await spawn({ program: '/bin/true', env: {}, fds: { 1: { file: '/dev/null', mode: 'append' } } })
      await child.wait()
      require('node:worker_threads').parentPort.postMessage('done')
    })()`
  const body = `
    const fs = require('node:fs')
    const worker = new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}, { eval: true })
    const ended = require('node:events').once(worker, 'exit')
    await require('node:events').once(worker, 'message')
    // Among them is every number that the worker has used and given up.
    const fds = Array.from({ length: 50 }, () => fs.openSync('/dev/null', 'r'))
    await worker.terminate()
    await ended
    say(fds.filter((fd) => { try { fs.fstatSync(fd); return false } catch { return true } }))`
  const { code, stdout, stderr } = await runHost(body)
  expect([code, stdout, stderr]).toEqual([0, '[]\n', ''])
})

test('a FIFO is refused at once, with and without someone at its other end [P-2, P-3]', async () => {
  const path = join(tmpFolder(), 'fifo')
  expect(spawnSync('/usr/bin/mkfifo', [path]).status).toBe(0)
  for (const mode of ['read', 'write', 'append'] as const) {
    const after = await aftermath(() => spawn({ program: '/bin/true', env: {}, fds: { 1: { file: path, mode } } }))
    const error = { code: 'ERR_INVALID_SPEC', details: { field: 'fds.1' } }
    expect(after).toMatchObject({ error, starts: 0, fds: [] })
  }
  const args = ['-c', `exec 9<>${path}; echo; sleep 60`]
  const reader = await spawn({ program: '/bin/sh', args, env: { PATH: '/usr/bin:/bin' }, fds: { 1: 'pipe' } })
  await new Promise((resolve) => reader.stdout?.once('data', resolve))
  for (const mode of ['read', 'write'] as const) {
    const { error } = await aftermath(() => spawn({ program: '/bin/true', env: {}, fds: { 1: { file: path, mode } } }))
    expect(error.details).toMatchObject({ field: 'fds.1' })
  }
  await reader[Symbol.asyncDispose]()
})

test('nothing is shortened before it is known to be a file that can be given [P-2]', async () => {
  const folder = tmpFolder()
  const path = join(folder, 'precious')
  writeFileSync(path, 'content')
  mkdirSync(join(folder, 'directory'))
  const fds = { 1: { file: join(folder, 'directory'), mode: 'write' }, 2: { file: path, mode: 'read' } } as const
  await aftermath(() => spawn({ program: '/bin/true', env: {}, fds }))
  expect(readFileSync(path, 'utf8')).toBe('content')
  await writeThrough('/dev/null', 'write', 'text')
})

test('a secret in the path of a file stands in no error [P-9]', async () => {
  const file = join(tmpFolder(), 'hunter22', 'x')
  const { error } = await aftermath(() =>
    spawn({ program: '/bin/true', env: {}, secrets: ['hunter22'], fds: { 1: { file, mode: 'write' } } }),
  )
  expect(error.details?.['path']).toBe(file.replace('hunter22', '[redacted]'))
  expect(JSON.stringify(error) + String(error) + String(error.cause)).not.toContain('hunter22')
})
