import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { SpawnSpec } from 'exactspawn'
import { KiB, MiB, SpecError, capture, pipe, spawn } from 'exactspawn'
import { fixtureChild } from '../../support/fixture.js'
import { runHost } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'

// The core survives every way of quoting; the rest is what quoting changes.
const CORE = 'q7Zk-93xW-0451'
const SECRET = `a'b"${CORE}\\é`

/** Every way in which an error or a record gets printed, stored or sent. */
function printed(value: unknown): string {
  const texts = [
    String(value),
    inspect(value),
    inspect(value, { depth: 9, showHidden: true, getters: true }),
    JSON.stringify(value),
    ...Object.entries(value as object).map(([key, item]) => `${key}=${inspect(item, { depth: 9 })}`),
  ]
  if (value instanceof Error) texts.push(value.stack ?? '', inspect(structuredClone(value), { depth: 9 }))
  return texts.join('\n')
}

function expectClean(value: unknown): void {
  const text = printed(value)
  expect(text).not.toContain(CORE)
  for (const bytes of [Buffer.from(CORE), Buffer.from(CORE.slice(0, 8))]) {
    expect(text).not.toContain(bytes.toString('hex'))
    expect(text).not.toContain([...bytes].join(', '))
  }
}

const failureOf = async (spec: Partial<SpawnSpec>): Promise<Error> => {
  const started = spawn({ program: fixtureChild(), env: {}, secrets: [SECRET], ...spec })
  const error: unknown = await started.then(() => 'it started', (thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  return error as Error
}

const missing = `/nonexistent/${SECRET}/x`

test.each<[string, Partial<SpawnSpec>]>([
  ['the program', { program: missing }],
  ['an argument of a program that is missing', { program: '/nonexistent/x', args: [SECRET, `--key=${SECRET}`] }],
  ['a variable of a program that is missing', { program: '/nonexistent/x', env: { KEY: SECRET } }],
  ['the name of the program', { program: '/nonexistent/x', argv0: SECRET }],
  ['the search path', { program: 'x', searchPath: `/nonexistent/${SECRET}` }],
  ['a relative search path', { program: 'x', searchPath: SECRET }],
  ['a relative program', { program: `${SECRET}/x` }],
  ['the working directory', { cwd: missing }],
  ['a file to read', { fds: { 0: { file: missing, mode: 'read' } } }],
  ['a file to write', { fds: { 1: { file: missing, mode: 'write' } } }],
  ['a file that is too long a name', { fds: { 1: { file: `/${SECRET.repeat(300)}`, mode: 'write' } } }],
  ['a cgroup', { cgroup: { parent: missing } }],
  ['a NUL in an argument', { args: [`${SECRET}\0`] }],
  ['a NUL in a variable', { env: { KEY: `${SECRET}\0` } }],
  ['half a character in an argument', { args: [`${SECRET}\ud800`] }],
  ['one argument that is too long', { args: [SECRET.repeat(10_000)] }],
  ['one variable that is too long', { env: { KEY: SECRET.repeat(10_000) } }],
  ['arguments that are too long together', { args: Array.from({ length: 3_000 }, () => SECRET.repeat(100)) }],
  ['a variable that is no string', { env: { KEY: [SECRET] as never } }],
  ['a name that has its value in it', { env: { [`KEY=${SECRET}`]: '' } }],
  ['the name of a variable', { env: { [SECRET]: null as never } }],
  ['the name of a variable with a NUL', { env: { [`${SECRET}\0`]: '' } }],
  ['a name that is cut at a sign of the secret', { env: { [`${SECRET}=x`]: '' }, secrets: [`${SECRET}=x`] }],
  ['the name of a field', { [SECRET]: 1 } as never],
  ['the name of a limit', { limits: { [SECRET]: 1 } as never }],
  ['the name of a part of a limit', { limits: { nofile: { soft: 1, [SECRET]: 1 } as never } }],
  ['the number of a descriptor', { fds: { [SECRET]: 'null' } as never }],
  ['the name of a field of the lifetime', { lifetime: { [SECRET]: 1 } as never }],
  ['the name of the first signal', { lifetime: { firstSignal: SECRET as never } }],
  ['the name of a field of the cgroup', { cgroup: { parent: '/', [SECRET]: 1 } as never }],
  ['an argument that is no string', { args: [{ SECRET } as never] }],
  ['a limit', { limits: { nofile: SECRET as never } }],
  ['a choice', { owner: SECRET as never }],
  ['bytes that are none', { fds: { 0: { bytes: SECRET as never } } }],
  ['secrets that are too long', { secrets: [SECRET, SECRET.repeat(1_000)] }],
])('a failed start says nothing of a secret in %s [B106, P-9]', async (_, spec) => {
  expectClean(await failureOf(spec))
})

test('a refused spec keeps kind and cause when a secret is taken out of what it says [B106, P-9]', async () => {
  const unknown = await failureOf({ [SECRET]: 1 } as never)
  expect(unknown).toMatchObject({ name: 'SpecError', code: 'ERR_INVALID_SPEC', field: '[redacted]' })
  expect(unknown).toBeInstanceOf(SpecError)
  expect(unknown).not.toHaveProperty('cause')
  const variable = await failureOf({ env: { [SECRET]: 'x'.repeat(200_000) } })
  expect(variable).toMatchObject({ field: 'env.[redacted]', bytes: Buffer.byteLength(`${SECRET}=`) + 200_000, cause: { code: 'E2BIG' } })
  const typed = await failureOf({ args: 5 as never })
  expect(typed).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_SPEC', field: 'args' })
  expect(typed).toBeInstanceOf(TypeError)
})

test('a secret with half a character is refused: as bytes it would be another one [B085, P-9]', async () => {
  const error = await failureOf({ secrets: [SECRET, `${SECRET}\ud800`] })
  expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', field: 'secrets[1]' })
  expectClean(error)
})

test('the error of a missing program names the path with the marker in the secret\'s place [B106]', async () => {
  const error = await failureOf({ program: missing })
  expect(error).toMatchObject({ code: 'ERR_SPAWN_FAILED', stage: 'exec', path: '/nonexistent/[redacted]/x' })
  expect(error.message).toContain('[redacted]')
  expect(error.cause).toMatchObject({ code: 'ENOENT', path: '/nonexistent/[redacted]/x' })
})

test('a FIFO, a folder and a missing interpreter with a secret in their names are told without it [B106]', async () => {
  const folder = join(tmpFolder(), SECRET)
  mkdirSync(folder)
  const [fifo, script] = [join(folder, 'fifo'), join(folder, 'script')]
  execFileSync('mkfifo', [fifo])
  writeFileSync(script, `#!${folder}/interpreter\n`)
  chmodSync(script, 0o700)
  expectClean(await failureOf({ fds: { 0: { file: fifo, mode: 'read' } } }))
  expectClean(await failureOf({ fds: { 1: { file: fifo, mode: 'write' } } }))
  expectClean(await failureOf({ fds: { 1: { file: folder, mode: 'write' } } }))
  expectClean(await failureOf({ program: folder }))
  const hinted = await failureOf({ program: script })
  expect((hinted as Error & { hint?: string }).hint).toContain('interpreter')
  expectClean(hinted)
})

test('receipt, handle and exit name no secret and no value of a variable [B106, P-9]', async () => {
  const folder = join(tmpFolder(), SECRET)
  mkdirSync(folder)
  const program = join(folder, 'child')
  symlinkSync(fixtureChild(), program)
  const child = await spawn({
    program,
    args: ['text', `<${SECRET}>`, '--', 'argv', '--', 'env', '--', 'cwd', '--', 'exit', '3'],
    argv0: `me:${SECRET}`,
    env: { KEY: SECRET, [SECRET]: 'by name', OTHER: 'unregistered value' },
    cwd: folder,
    fds: {
      0: { bytes: Buffer.from(SECRET) },
      1: capture({ headBytes: 64 * KiB }),
      2: { file: join(folder, 'log'), mode: 'append' },
    },
    secrets: [SECRET],
  })
  expectClean(child)
  expectClean(child.receipt)
  expectClean(child.log(1).snapshot())
  expect(child.receipt.argv).toContain('<[redacted]>')
  expect(child.receipt.argv[0]).toBe('me:[redacted]')
  expect(child.receipt.env).toEqual(['KEY', '[redacted]', 'OTHER'])
  expect(child.receipt.cwd).toMatch(/\/\[redacted\]$/)
  expect(printed(child.receipt)).not.toContain('unregistered value')
  const exit = await child.wait()
  expectClean(exit)
  const text = exit.logs[1]?.text() ?? ''
  expect(text).not.toContain(CORE)
  expect(text).toContain('KEY=[redacted]\n')
  expect(text).toContain('OTHER=unregistered value\n')
})

test('an exit that was not wanted carries a log without the secret [B106]', async () => {
  const controller = new AbortController()
  const child = await spawn({
    program: fixtureChild(),
    args: ['text', SECRET, '--', 'pause'],
    env: {},
    fds: { 1: capture({ headBytes: KiB }) },
    lifetime: { signal: controller.signal, graceMs: 0, firstSignal: 'SIGKILL' },
    secrets: [SECRET],
  })
  const waiting = child.wait().catch((thrown: unknown) => thrown)
  controller.abort()
  const error = await waiting
  expect(error).toMatchObject({ code: 'ERR_ABORTED', exit: { signal: 'SIGKILL' } })
  expectClean(error)
})

test('the error of a write holds nothing of what was written [B106]', async () => {
  const { child: end, host } = pipe('childReads')
  const child = await spawn({ program: '/bin/true', env: {}, fds: { 3: end } })
  await child.wait()
  expectClean(await host.write(Buffer.from(SECRET)).catch((thrown: unknown) => thrown))
  host.close()
  const full = pipe('childReads')
  const written = Buffer.alloc(MiB, SECRET)
  expectClean(await full.host.write(written, { timeoutMs: 10 }).catch((thrown: unknown) => thrown))
  full.host.close()
  full.child.close()
})

test('what Node prints of an error that nobody caught has no secret in it [B106]', async () => {
  // Put together there, since Node prints the line that threw.
  const body = `
    const secret = ['q7Zk', '93xW', '0451'].join('-');
    const spec = { program: '/nonexistent/' + secret, args: [secret], env: { KEY: secret }, secrets: [secret] };
    const uncaught = await spawn(spec).catch((error) => error);
    setImmediate(() => { throw uncaught });`
  const { stderr, code } = await runHost(body, { env: { NODE_DEBUG: 'child_process,fs,net,stream' } })
  expect(code).not.toBe(0)
  expect(stderr).toContain('ERR_SPAWN_FAILED')
  expect(stderr).not.toContain(CORE)
})
