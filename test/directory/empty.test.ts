import { chmodSync, chownSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateDirectory, DirectoryError } from 'exactspawn'
import { beforeEach, expect, test } from 'vitest'
import { hostSays } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'

let root: string

beforeEach(() => {
  root = join(tmpFolder(), 'root')
  mkdirSync(root, { mode: 0o700 })
})

async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it was accepted'),
    (error: unknown) => error,
  )
}

test.each([-1, NaN, '1'])('an emptying refuses %j for a time and removes nothing [R-10]', async (timeoutMs) => {
  await using directory = await createPrivateDirectory(root)
  writeFileSync(join(directory.path, 'file'), '')
  const error = await refusal(directory.empty({ timeoutMs: timeoutMs as number }))
  expect(error).toBeInstanceOf(typeof timeoutMs === 'number' ? RangeError : TypeError)
  expect(readdirSync(directory.path)).toEqual(['file'])
})

test('an unprivileged user empties all kinds of entries, and the directory stays his alone [R-10, R-13, B110]', async () => {
  chownSync(root, 65534, 65534)
  chmodSync(join(root, '..'), 0o711)
  const body = `
    const fs = require('node:fs')
    const directory = await xs.createPrivateDirectory(${JSON.stringify(root)})
    const before = fs.statSync(directory.path).ino
    for (const mode of [0o777, 0o000]) {
      const at = (name) => directory.path + '/' + name
      fs.mkdirSync(at('.hidden/deep/er'), { recursive: true })
      fs.writeFileSync(at('.hidden/deep/er/file'), '')
      for (const closed of [0o555, 0o000]) {
        fs.mkdirSync(at('closed' + closed))
        fs.writeFileSync(at('closed' + closed + '/file'), '')
        fs.chmodSync(at('closed' + closed), closed)
      }
      const made = await spawn({ program: '/usr/bin/mkfifo', args: [at('fifo')], env: {} })
      say((await made.wait()).code)
      const server = require('node:net').createServer()
      process.chdir(directory.path)
      await new Promise((resolve) => server.listen('socket', resolve))
      process.chdir('/')
      fs.renameSync(at('socket'), at('kept-socket'))
      await new Promise((resolve) => server.close(resolve))
      say(fs.lstatSync(at('kept-socket')).isSocket())
      fs.chmodSync(directory.path, mode)
      await directory.empty()
      const { ino, mode: now } = fs.statSync(directory.path)
      say([fs.readdirSync(directory.path), ino === before, now & 0o7777])
    }
    await directory.remove()`
  const round = [0, true, [[], true, 0o700]]
  expect(await hostSays(body, { uid: 65534, gid: 65534 })).toEqual([...round, ...round])
})

test('links are removed themselves, and what they lead to stays [R-14]', async () => {
  const canary = tmpFolder()
  writeFileSync(join(canary, 'stays'), '')
  await using directory = await createPrivateDirectory(root)
  mkdirSync(join(directory.path, 'home'))
  for (const link of ['link', 'home/link']) symlinkSync(canary, join(directory.path, link))
  symlinkSync(join(canary, 'stays'), join(directory.path, 'file'))
  symlinkSync('nowhere', join(directory.path, 'dangling'))
  await directory.empty()
  expect(readdirSync(directory.path)).toEqual([])
  expect(readdirSync(canary)).toEqual(['stays'])
})

test('an emptying without time says so, keeps the rest, and can be made again [R-10]', async () => {
  await using directory = await createPrivateDirectory(root)
  const { path } = directory
  writeFileSync(join(path, 'file'), '')
  const error = await refusal(directory.empty({ timeoutMs: 0 }))
  expect(error).toBeInstanceOf(DirectoryError)
  expect(error).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { path, failures: [{ path, errno: 'ETIMEDOUT' }] },
  })
  expect(readdirSync(path)).toEqual(['file'])
  await directory.empty()
  expect(readdirSync(path)).toEqual([])
})

test('a directory that its path no longer leads to is emptied where it lies, and that is told [R-14]', async () => {
  const directory = await createPrivateDirectory(root)
  const { path } = directory
  const canary = tmpFolder()
  writeFileSync(join(canary, 'stays'), '')
  writeFileSync(join(path, 'file'), '')
  renameSync(path, join(root, 'moved'))
  symlinkSync(canary, path)
  const error = await refusal(directory.empty())
  expect(error).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { path, failures: [{ path: `${path}/.`, errno: 'ESTALE' }] },
  })
  expect(readdirSync(join(root, 'moved'))).toEqual([])
  expect(readdirSync(canary)).toEqual(['stays'])
  await directory.remove()
  expect(readdirSync(canary)).toEqual(['stays'])
})

test('a directory that was removed is none to empty [R-10]', async () => {
  const directory = await createPrivateDirectory(root)
  await directory.remove()
  expect(await refusal(directory.empty())).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { failures: [], errno: -9 },
    cause: { code: 'EBADF' },
  })
  expect(statSync(root).isDirectory()).toBe(true)
})
