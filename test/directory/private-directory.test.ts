import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PrivateDirectory } from 'exactspawn'
import { createPrivateDirectory, DirectoryError, SpecError, SpecTypeError } from 'exactspawn'
import { beforeEach, expect, test } from 'vitest'
import { hostSays } from '../support/host.js'
import { tmpFolder } from '../support/tmp.js'
import { until, within } from '../support/until.js'

const nobody = { uid: 65534, gid: 65534 }

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

test.each([
  ['root', 42, SpecTypeError, 'must be a string'],
  ['root', '', SpecError, 'is empty'],
  ['root', 'a\0b', SpecError, 'contains a NUL byte'],
  ['root', '\ud800', SpecError, 'a lone surrogate cannot be written as bytes'],
  ['prefix', 7, SpecTypeError, 'must be a string'],
  ['prefix', '', SpecError, 'is empty'],
  ['prefix', '../up', SpecError, 'contains a slash'],
])('a %s that cannot be meant, %j, is refused before anything is made [M-54]', async (field, value, Family, reason) => {
  const call = field === 'root' ? [value] : [root, { prefix: value }]
  const error = await refusal(createPrivateDirectory(...(call as [string])))
  expect(error).toBeInstanceOf(Family)
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field, reason } })
  expect(readdirSync(root)).toEqual([])
})

test.each([-1, NaN, '1'])('a removal refuses %j for a time and removes nothing [M-56]', async (timeoutMs) => {
  await using directory = await createPrivateDirectory(root)
  const error = await refusal(directory.remove({ timeoutMs: timeoutMs as number }))
  expect(error).toBeInstanceOf(typeof timeoutMs === 'number' ? RangeError : TypeError)
  expect(statSync(directory.path).isDirectory()).toBe(true)
})

test('a missing root is told and not made [M-57, B112]', async () => {
  const path = join(root, 'none')
  const error = await refusal(createPrivateDirectory(path))
  expect(error).toBeInstanceOf(DirectoryError)
  expect(error).toMatchObject({
    code: 'ERR_PRIVATE_ROOT_UNAVAILABLE',
    details: { path, reason: 'missing', errno: -2, syscall: 'openat' },
    cause: { code: 'ENOENT' },
  })
  expect(readdirSync(root)).toEqual([])
})

test.each<[reason: string, make: (path: string) => void]>([
  ['not a directory', (path) => writeFileSync(path, '')],
  ['a symbolic link', (path) => symlinkSync('.', path)],
  [
    'owned by another user',
    (path) => {
      mkdirSync(path)
      chownSync(path, 65534, 65534)
    },
  ],
  [
    'writable by others and not sticky',
    (path) => {
      mkdirSync(path)
      chmodSync(path, 0o777)
    },
  ],
])('a root that is %s is refused by that reason and left as it was [M-57, B112]', async (reason, make) => {
  const path = join(root, 'unsafe')
  make(path)
  const before = lstatSync(path)
  const error = await refusal(createPrivateDirectory(path))
  expect(error).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE', details: { path, reason } })
  expect(lstatSync(path)).toMatchObject({ mode: before.mode, uid: before.uid, mtimeMs: before.mtimeMs })
  if (before.isDirectory()) expect(readdirSync(path)).toEqual([])
})

test('a root that its user may not read is unreadable, with the errno [M-57]', async () => {
  chmodSync(root, 0o000)
  chownSync(root, nobody.uid, nobody.gid)
  chmodSync(join(root, '..'), 0o711)
  const body = `await xs.createPrivateDirectory(${JSON.stringify(root)}).catch((error) => say(error.toJSON()))`
  const [error] = await hostSays(body, nobody)
  expect(error).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE', details: { reason: 'unreadable', errno: -13 } })
})

test('a directory that cannot be made is told with errno and syscall, and leaves no owner file [M-54]', async () => {
  const error = await refusal(createPrivateDirectory(root, { prefix: 'x'.repeat(223) }))
  expect(error).toMatchObject({
    code: 'ERR_PRIVATE_DIRECTORY_CREATE_FAILED',
    details: { path: root, errno: -36, syscall: 'openat' },
    cause: { code: 'ENAMETOOLONG' },
  })
  expect(readdirSync(root)).toEqual([])
  await using longest = await createPrivateDirectory(root, { prefix: 'x'.repeat(222) })
  expect(readdirSync(root)).toContain(longest.path.slice(root.length + 1))
})

const umasks = [0o000, 0o022, 0o777]

test.each(umasks)('under umask %i a directory is 0700 and its owner file 0600 [M-55, B112]', async (umask) => {
  const body = `
    process.umask(${umask})
    const { statSync, readdirSync } = require('node:fs')
    const directory = await xs.createPrivateDirectory(${JSON.stringify(root)})
    const facts = (path) => { const { mode, uid } = statSync(path); return { mode, uid } }
    say([facts(directory.path), facts(directory.path + '.owner'), process.umask()])
    await directory.remove()
    say(readdirSync(${JSON.stringify(root)}))`
  const uid = process.getuid?.()
  expect(await hostSays(body)).toEqual([[{ mode: 0o40700, uid }, { mode: 0o100600, uid }, umask], []])
})

test('an unprivileged user makes, fills, closes and removes his directory [M-55, M-56, B110, B112]', async () => {
  chownSync(root, nobody.uid, nobody.gid)
  chmodSync(join(root, '..'), 0o711)
  const body = `
    const fs = require('node:fs')
    const directory = await xs.createPrivateDirectory(${JSON.stringify(root)})
    say(fs.statSync(directory.path).mode & 0o7777)
    const closed = [['deep', 0o555], ['deep/unreadable', 0o000], ['deep/unsearchable', 0o600]]
    for (const [name] of closed) {
      fs.mkdirSync(directory.path + '/' + name)
      fs.writeFileSync(directory.path + '/' + name + '/file', '')
    }
    for (const [name, mode] of closed.reverse()) fs.chmodSync(directory.path + '/' + name, mode)
    const naive = await fs.promises.rm(directory.path, { recursive: true }).catch((error) => error.code)
    const start = performance.now()
    await directory.remove()
    say([naive, performance.now() - start < ${within(1_000)}, fs.readdirSync(${JSON.stringify(root)})])`
  expect(await hostSays(body, nobody)).toEqual([0o700, ['EACCES', true, []]])
})

test('directories made at the same time differ and tell nothing but their prefix [M-54]', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => createPrivateDirectory(root, { prefix: 'run' })))
  const paths = made.map(({ path }) => path)
  expect(new Set(paths).size).toBe(20)
  for (const path of paths) expect(path.slice(root.length)).toMatch(/^\/run-[a-z2-7]{26}$/)
  await Promise.all(made.map((directory) => directory.remove()))
  expect(readdirSync(root)).toEqual([])
})

test('a relative root holds although the host changes its directory [M-56]', async () => {
  const body = `
    process.chdir(${JSON.stringify(join(root, '..'))})
    const directory = await xs.createPrivateDirectory('root')
    say(directory.path.slice(0, -27))
    process.chdir('/')
    await directory.remove()
    say(require('node:fs').readdirSync(${JSON.stringify(root)}))`
  expect(await hostSays(body)).toEqual([`${root}/exactspawn`, []])
})

test('a removal takes all the directory holds and follows no link out of it [M-56, B110]', async () => {
  const outside = tmpFolder()
  writeFileSync(join(outside, 'precious'), 'kept')
  chmodSync(join(outside, 'precious'), 0o444)
  const directory = await createPrivateDirectory(root)
  mkdirSync(join(directory.path, 'a', 'b'), { recursive: true })
  writeFileSync(join(directory.path, 'a', 'b', 'file'), '')
  symlinkSync(outside, join(directory.path, 'a', 'out'))
  symlinkSync(join(outside, 'precious'), join(directory.path, 'precious'))
  await directory.remove()
  expect(readdirSync(root)).toEqual([])
  expect(statSync(join(outside, 'precious')).mode & 0o777).toBe(0o444)
})

test('removing twice, at once and disposing as well is one removal [M-56]', async () => {
  const directory = await createPrivateDirectory(root)
  await Promise.all([directory.remove(), directory.remove(), directory[Symbol.asyncDispose]()])
  await directory.remove({ timeoutMs: 0 })
  expect(readdirSync(root)).toEqual([])
})

test('a directory goes at the end of the scope that uses it, also when the scope fails [M-56]', async () => {
  const failing = async () => {
    await using directory = await createPrivateDirectory(root)
    writeFileSync(join(directory.path, 'file'), '')
    throw new Error('of the scope')
  }
  await expect(failing()).rejects.toThrow('of the scope')
  expect(readdirSync(root)).toEqual([])
})

test('a removal without time removes nothing, says so and can be made again [M-56]', async () => {
  await using directory = await createPrivateDirectory(root)
  writeFileSync(join(directory.path, 'file'), '')
  const { path } = directory
  expect(await refusal(directory.remove({ timeoutMs: 0 }))).toMatchObject({
    code: 'ERR_PRIVATE_DIRECTORY_REMOVE_FAILED',
    details: { path, failures: [{ path, errno: 'ETIMEDOUT' }] },
  })
  expect(readdirSync(root)).toHaveLength(2)
  await directory.remove({ timeoutMs: Infinity })
  expect(readdirSync(root)).toEqual([])
})

test('a removal touches nothing while its root is unsafe, and works once it is safe again [M-57]', async () => {
  await using directory = await createPrivateDirectory(root)
  chmodSync(root, 0o777)
  const error = await refusal(directory.remove())
  expect(error).toMatchObject({ code: 'ERR_PRIVATE_ROOT_UNAVAILABLE', details: { path: root } })
  expect(readdirSync(root)).toHaveLength(2)
  chmodSync(root, 0o700)
})

test('what others own stays, is named, keeps the owner file, and the rest goes [M-56, B110]', async () => {
  chownSync(root, nobody.uid, nobody.gid)
  chmodSync(join(root, '..'), 0o711)
  const host = `
    const fs = require('node:fs')
    const directory = await xs.createPrivateDirectory(${JSON.stringify(root)})
    for (const name of ['a', 'theirs', 'z']) fs.mkdirSync(directory.path + '/' + name)
    say(directory.path)
    while (!fs.existsSync(directory.path + '/theirs/file')) await new Promise((resolve) => setImmediate(resolve))
    const error = await directory.remove().catch((error) => error)
    say([error.toJSON(), fs.readdirSync(directory.path), fs.existsSync(directory.path + '.owner')])`
  const said = hostSays<unknown>(host, nobody)
  const isDirectory = (entry: string) => !entry.endsWith('.owner')
  const name = await until('their directory', () => readdirSync(root).find(isDirectory))
  const path = join(root, name)
  await until('the last of its entries', () => readdirSync(path).includes('z'))
  // A directory of the superuser within one that only he may write to: not even its owner can empty it.
  chownSync(join(path, 'theirs'), 0, 0)
  writeFileSync(join(path, 'theirs', 'file'), '')
  const [, [error, entries, owned]] = (await said) as [string, [unknown, string[], boolean]]
  expect(error).toMatchObject({
    code: 'ERR_PRIVATE_DIRECTORY_REMOVE_FAILED',
    details: { path, failures: [{ path: join(path, 'theirs', 'file'), errno: 'EACCES' }] },
  })
  expect(entries).toEqual(['theirs'])
  expect(owned).toBe(true)
  rmSync(path, { recursive: true })
})

test('a directory that nothing can reach any more is removed [M-56]', async () => {
  const forget = async () => void ((await createPrivateDirectory(root)) satisfies PrivateDirectory)
  await forget()
  await until('the collected handle has removed it', () => {
    globalThis.gc?.()
    return readdirSync(root).length === 0
  })
})
