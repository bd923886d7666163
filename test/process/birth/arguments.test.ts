/** Arguments and paths arrive byte by byte, or are refused before anything happens. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SpawnSpec, SpecString } from 'exactspawn'
import { spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { tmpFolder } from '../../support/tmp.js'
import { until } from '../../support/until.js'
import { aftermath, onEachWay, output } from './starts.js'

const started = (spec: Partial<SpawnSpec>) => spawn({ program: '/bin/true', env: {}, ...spec })
const latin1 = (...values: number[]): string => Buffer.from(values).toString('latin1')

/** The child's command line as the kernel has it, while it waits. */
async function commandLine(spec: Partial<SpawnSpec>): Promise<Buffer> {
  const child = await spawn({ program: fixtureChild(), env: {}, ...spec })
  // Empty for an instant: the kernel has the new memory in place a moment before it notes where its arguments are.
  const bytes = await until('its arguments', () => {
    const read = readFileSync(`/proc/${child.pid}/cmdline`)
    return read.length > 0 && read
  })
  await child[Symbol.asyncDispose]()
  return bytes
}

test('arguments arrive in order, empty ones too, and nothing is split, quoted or expanded [M-49]', async () => {
  const args = ['audit', '1', '--', 'exit', '0', '', ' ', 'a b', '$HOME', '*', '"', "'", '\\', '--', '\n', '€', '🐙']
  await onEachWay(async () => {
    const { argv } = await audit({ args })
    expect(argv.map((text) => Buffer.from(text, 'latin1').toString())).toEqual([fixtureChild(), ...args])
  })
})

test('ten thousand arguments arrive byte by byte [B027]', async () => {
  const args = ['pause', '--', 'exit', '0', ...Array.from({ length: 9_995 }, (_, i) => `argument ${i}`)]
  const expected = [fixtureChild(), ...args].map((arg) => `${arg}\0`).join('')
  expect((await commandLine({ args })).toString()).toBe(expected)
})

test('the program’s name can be another one, also an empty one, and is never left out [B027]', async () => {
  for (const argv0 of ['other', '', '-sh', Buffer.from([0xff, 0x20, 0x80])]) {
    const bytes = await commandLine({ argv0, args: ['pause'] })
    expect(bytes.equals(Buffer.concat([Buffer.from(argv0 as string), Buffer.from('\0pause\0')]))).toBe(true)
  }
  const { argv } = await audit()
  expect(argv[0]).toBe(fixtureChild())
  // The fixture alone: one argument, its own name.
  expect((await commandLine({ args: [], program: '/bin/cat', fds: { 0: 'pipe' } })).toString()).toBe('/bin/cat\0')
})

test('bytes that are no text reach the child unchanged, in every place where bytes are allowed [B085]', async () => {
  const bytes = Buffer.from([0xff, 0xfe, 0x80, 0x41, 0xc3])
  const folder = Buffer.concat([Buffer.from(`${tmpFolder()}/`), bytes])
  mkdirSync(folder)
  const program = Buffer.concat([folder, Buffer.from('/tool'), bytes])
  writeFileSync(program, readFileSync(fixtureChild()), { mode: 0o755 })
  const args = ['audit', '1', '--', 'exit', '0', bytes]
  const { argv, env, cwd } = await audit({ program, args, env: { NAME: bytes }, cwd: folder })
  expect(argv).toEqual([program.toString('latin1'), 'audit', '1', '--', 'exit', '0', latin1(...bytes)])
  expect(env).toEqual([`NAME=${latin1(...bytes)}`])
  expect(cwd).toBe(folder.toString('latin1'))
  const file = Buffer.concat([folder, Buffer.from('/out')])
  await output(['text', 'x'], { fds: { 1: { file, mode: 'write' }, 2: 'null' } })
  expect(readFileSync(file, 'utf8')).toBe('x')
})

test('a lone surrogate or a NUL is refused with its place, and no text is made up for it [B085, P-2]', async () => {
  for (const bad of ['\ud800', 'a\udc00b', '\ude00\ud83d', 'a\0b', '\0', new Uint8Array([65, 0])] as SpecString[]) {
    const places: readonly (readonly [string, Partial<SpawnSpec>])[] = [
      ['program', { program: typeof bad === 'string' ? `/${bad}` : bad }],
      ['args[2]', { args: ['x', 'y', bad] }],
      ['argv0', { argv0: bad }],
      ['env.NAME', { env: { NAME: bad } }],
      ['cwd', { cwd: bad }],
      ['fds.1.file', { fds: { 1: { file: bad, mode: 'write' } } }],
    ]
    for (const [field, spec] of places) {
      const { error, starts } = await aftermath(() => started(spec))
      expect([error.code, error.details?.['field'], starts]).toEqual(['ERR_INVALID_SPEC', field, 0])
    }
  }
  for (const bad of ['\ud800', 'A\0']) {
    const { error } = await aftermath(() => started({ env: { [bad]: 'x' } }))
    expect(error.details?.['field']).toBe(`env.${bad}`)
  }
})

test('a string passes up to the kernel’s limit, and is refused one byte past it with its size [B022]', async () => {
  const long = 'x'.repeat(131_071)
  for (const spec of [{ args: [long] }, { env: { K: long.slice(2) } }, { argv0: long }]) {
    expect((await (await started(spec)).wait()).code).toBe(0)
  }
  const cases = [
    ['args[1]', { args: ['x', 'x'.repeat(131_072)] }, 131_072],
    ['args[0]', { args: ['€'.repeat(43_691)] }, 131_073],
    ['args[0]', { args: [new Uint8Array(131_072).fill(65)] }, 131_072],
    ['argv0', { argv0: 'x'.repeat(131_072) }, 131_072],
    ['env.K', { env: { K: 'x'.repeat(131_070) } }, 131_072],
  ] as const
  for (const [field, spec, bytes] of cases) {
    const { error, starts, fds } = await aftermath(() => started(spec))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', cause: { code: 'E2BIG' } })
    expect(error.details).toMatchObject({ field, bytes, limit: 131_071 })
    expect([starts, fds]).toEqual([0, []])
    expect(error.message.length).toBeLessThan(300)
  }
})

test('arguments and environment together are refused where the kernel would, not before [B022]', async () => {
  const kibibyte = 'x'.repeat(1_014)
  const all = (count: number): string[] => Array.from({ length: count }, () => kibibyte)
  // A quarter of 8 MiB of stack: 1 KiB + NUL + pointer each.
  const limits = { stack: { soft: 8 * 1024 * 1024 } }
  expect((await (await started({ args: all(2_040), limits })).wait()).code).toBe(0)
  const { error, starts } = await aftermath(() => started({ args: all(3_000), limits }))
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', cause: { code: 'E2BIG' } })
  expect(error.details).toMatchObject({ field: 'args', limit: 2 * 1024 * 1024 })
  expect(starts).toBe(0)
  // The limit that counts is the child's own.
  expect((await (await started({ args: all(3_000), limits: { stack: Infinity } })).wait()).code).toBe(0)
  const small = await aftermath(() => started({ args: all(200), limits: { stack: { soft: 64 * 1024 } } }))
  expect(small.error.cause?.code).toBe('E2BIG')
})

test('bytes are those of the call, whatever the caller does with its arrays afterwards [B085, P-1]', async () => {
  const [arg, value, cwd] = [Buffer.from('as it was'), Buffer.from('as it was'), Buffer.from('/usr')]
  for (const fds of [{}, { 5: { file: '/dev/null', mode: 'read' } } as const]) {
    const [one, two, three] = [Buffer.from(arg), Buffer.from(value), Buffer.from(cwd)]
    const report = audit({ args: ['audit', '1', '--', 'exit', '0', one], env: { NAME: two }, cwd: three, fds })
    for (const bytes of [one, two, three]) bytes.fill(0)
    expect(await report).toMatchObject({
      argv: [fixtureChild(), 'audit', '1', '--', 'exit', '0', 'as it was'],
      env: ['NAME=as it was'],
      cwd: '/usr',
    })
  }
})

test('a working directory is the one named, or the host’s at the start [P-1]', async () => {
  const folder = tmpFolder()
  await onEachWay(async () => {
    expect((await audit({ cwd: folder })).cwd).toBe(folder)
    expect((await audit()).cwd).toBe(process.cwd())
    expect((await audit({ cwd: '.' })).cwd).toBe(process.cwd())
  })
})
