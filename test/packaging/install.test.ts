import { execFile } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nobody, packAll, Project } from './package.js'

const ours = `prebuilds/${process.platform}-${process.arch}/exactspawn.glibc.node`
// A whole install, or its removal, on a busy disk.
const INSTALL_MS = 120_000

const start = `
  const { spawn, capture } = require('exactspawn')
  const start = async () => {
    const child = await spawn({ program: '/bin/echo', args: ['born'], env: {}, fds: { 1: capture({ headBytes: 64 }) } })
    return (await child.wait()).logs[1].text()
  }
  start().then((text) => console.log(JSON.stringify(text)))`
const failure = `
  const { pipe } = require('exactspawn')
  try { pipe('childReads') } catch (error) { console.log(JSON.stringify(error)) }`

interface Face {
  entry: string
  required: string[]
  imported: string[]
  same: string[]
}

interface Lock {
  packages: Record<string, object>
}

let folder: string
let project: Project

// One install serves all: each test changes a copy, or nothing.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exactspawn-test-'))
  chmodSync(folder, 0o755)
  const tarballs = await packAll(folder)
  project = emptyProject('project', tarballs)
  await project.npm('install', '--ignore-scripts')
}, INSTALL_MS)

afterAll(() => rmSync(folder, { recursive: true, force: true }), INSTALL_MS)

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T

function emptyProject(name: string, tarballs: Record<string, string>): Project {
  const path = mkdtempSync(join(folder, `${name}-`))
  const made = new Project(path, tarballs)
  chownSync(path, nobody.uid, nobody.gid)
  return made
}

/** A copy of the installed project to spoil. */
function spoilt(): Project {
  const copy = emptyProject('spoilt', {})
  cpSync(join(project.folder, 'node_modules'), join(copy.folder, 'node_modules'), { recursive: true })
  return copy
}

test('an install without scripts, compiler and network gives a package that starts a child [B098]', async () => {
  expect(project.binaries()).toEqual([ours.slice('prebuilds/'.length)])
  expect(statSync(join(project.installed, ours)).mode & 0o777).toBe(0o755)
  await promisify(execFile)('chmod', ['-R', 'a-w', join(project.folder, 'node_modules')])
  expect(await project.says(start)).toBe('born\n')
})

test('an install has nothing to run and nothing to compile [B098]', async () => {
  const manifest = readJson<{ scripts: object; gypfile: boolean }>(join(project.installed, 'package.json'))
  const atInstall = Object.keys(manifest.scripts).filter((name) => /install$|^prepare$|^prebuild$/.test(name))
  expect([atInstall, manifest.gypfile]).toEqual([[], false])
  const lock = readJson<Lock>(join(project.folder, 'package-lock.json'))
  expect(lock.packages['node_modules/exactspawn']).toBeDefined()
  expect(lock.packages['node_modules/exactspawn']).not.toHaveProperty('hasInstallScript')
})

test('a lock made here serves another processor and libc: one package holds every binary [B100]', async () => {
  const copy = emptyProject('elsewhere', {})
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(project.folder, name), join(copy.folder, name))
  await copy.npm('ci', '--ignore-scripts', '--cpu=arm64', '--libc=musl')
  expect(copy.binaries()).toEqual(project.binaries())
  const lock = readJson<Lock>(join(copy.folder, 'package-lock.json'))
  for (const facts of Object.values(lock.packages)) {
    for (const field of ['optional', 'cpu', 'os', 'libc']) expect(facts).not.toHaveProperty(field)
  }
})

test('a missing binary is told by every file tried and what is there instead [B098, B100]', async () => {
  const copy = spoilt()
  const musl = ours.replace('glibc', 'musl')
  renameSync(join(copy.installed, ours), join(copy.installed, musl))
  const error = await copy.says(failure)
  expect(error).toMatchObject({
    name: 'CapabilityError',
    code: 'ERR_ADDON_LOAD_FAILED',
    details: {
      platform: process.platform,
      arch: process.arch,
      libc: 'glibc',
      napi: process.versions['napi'],
      tried: [
        { file: join(copy.installed, 'build', 'Release', 'exactspawn.node'), message: 'no such file' },
        { file: join(copy.installed, ours), message: 'no such file, only exactspawn.musl.node' },
      ],
    },
    message: expect.stringMatching(/install the package again on this platform$/),
  })
})

test('a binary that the loader refuses is told with the words of the loader [B098]', async () => {
  const copy = spoilt()
  writeFileSync(join(copy.installed, ours), 'no ELF file')
  const error = await copy.says(failure)
  expect(error).toMatchObject({
    code: 'ERR_ADDON_LOAD_FAILED',
    details: { tried: [{ file: join(copy.installed, ours), message: expect.stringMatching(/too short|invalid ELF/) }] },
  })
})

test('EXACTSPAWN_PREBUILD names another folder to load from, and failures name it too [B098]', async () => {
  const copy = spoilt()
  const elsewhere = join(copy.folder, 'elsewhere')
  cpSync(join(copy.installed, 'prebuilds'), join(elsewhere, 'prebuilds'), { recursive: true })
  rmSync(join(copy.installed, 'prebuilds'), { recursive: true })
  expect(await copy.says(start, { EXACTSPAWN_PREBUILD: elsewhere })).toBe('born\n')
  const error = await copy.says(failure, { EXACTSPAWN_PREBUILD: join(copy.folder, 'none') })
  expect(error).toMatchObject({
    details: { tried: [{ file: join(copy.folder, 'none', 'build', 'Release', 'exactspawn.node') }, {}] },
  })
})

test.each([
  ['on Windows', 'platform', 'win32'],
  ['on a processor without a build', 'arch', 'ia32'],
])('importing the package %s fails with a typed error that says what is supported [B098]', async (_, field, value) => {
  const error = await project.says(`
    Object.defineProperty(process, '${field}', { value: '${value}' })
    try { require('exactspawn') } catch (error) { console.log(JSON.stringify(error)) }`)
  expect(error).toMatchObject({
    code: 'ERR_UNSUPPORTED_PLATFORM',
    details: { napi: process.versions['napi'], [field]: value },
    message: expect.stringMatching(/platform not supported; it takes Linux or macOS, x64 or arm64, Node-API 8$/),
  })
})

test('import and require give the same objects and names at every entry [B098]', async () => {
  const manifest = readJson<{ exports: object }>(join(project.installed, 'package.json'))
  const entries = Object.keys(manifest.exports).filter((name) => !name.endsWith('.json'))
  const faces = await project.says(`
    const entries = ${JSON.stringify(entries)}.map((name) => 'exactspawn' + name.slice(1))
    Promise.all(entries.map(async (entry) => {
      const required = require(entry)
      const imported = await import(entry)
      const names = Object.keys(imported)
      const same = names.filter((name) => imported[name] === required[name])
      return { entry, required: Object.keys(required).sort(), imported: names.sort(), same: same.sort() }
    })).then((faces) => console.log(JSON.stringify(faces)))`)
  for (const { entry, required, imported, same } of faces as Face[]) {
    expect({ entry, imported, same }).toEqual({ entry, imported: required, same: required })
  }
  expect((faces as Face[])[0]).toMatchObject({ entry: 'exactspawn', same: expect.arrayContaining(['spawn']) })
})
