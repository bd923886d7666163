/** A program that cannot be executed: which step, which path, which reason. */
import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SpawnSpec } from 'exactspawn'
import { spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { aftermath, onEachWay, output, programFile } from './starts.js'

const started = (spec: Partial<SpawnSpec>) => spawn({ program: '/bin/true', env: {}, ...spec })

/** The step, the kernel's name and the path; and that nothing is left. */
async function failed(spec: Partial<SpawnSpec>): Promise<[stage: unknown, code: unknown, path: unknown]> {
  const { error, fds, children } = await aftermath(() => started(spec))
  expect({ code: error.code, fds, children }).toEqual({ code: 'ERR_SPAWN_FAILED', fds: [], children: [] })
  const { stage, path } = error.details ?? {}
  return [stage, error.cause?.code, path]
}

test('a bad working directory is told as that, with its own path, and before a bad program [B019]', async () => {
  const folder = tmpFolder()
  const missing = join(folder, 'missing')
  await onEachWay(async () => {
    expect(await failed({ cwd: missing })).toEqual(['chdir', 'ENOENT', missing])
    expect(await failed({ cwd: '/etc/hostname' })).toEqual(['chdir', 'ENOTDIR', '/etc/hostname'])
    expect(await failed({ program: '/nonexistent' })).toEqual(['exec', 'ENOENT', '/nonexistent'])
    expect(await failed({ program: '/nonexistent', cwd: missing })).toEqual(['chdir', 'ENOENT', missing])
  })
  const { error } = await aftermath(() => started({ cwd: missing }))
  expect(error.details).toMatchObject({ field: 'cwd', syscall: 'chdir', errno: -2 })
  expect(error.message).toContain(missing)
})

test('a working directory that its user may not enter, or that is gone, is a failure of chdir [B019]', async () => {
  const closed = join(tmpFolder(), 'closed')
  mkdirSync(closed)
  chmodSync(closed, 0)
  expect(await failed({ cwd: closed, uid: 65534, gid: 65534, groups: [] })).toEqual(['chdir', 'EACCES', closed])
  const body = `
    const fs = require('node:fs')
    const gone = fs.mkdtempSync('/tmp/exactspawn-test-')
    process.chdir(gone)
    fs.rmdirSync(gone)
    await spawn({ program: '/bin/true', env: {}, cwd: gone }).catch((error) => say([error.stage, error.cause.code]))
    await spawn({ program: '/bin/true', env: {} }).then((child) => child.wait()).then(({ code }) => say(code))`
  expect(await hostSays(body)).toEqual([['chdir', 'ENOENT'], 0])
})

test('each reason not to execute a file is the kernel’s own [B020]', async () => {
  const folder = tmpFolder()
  const at = (name: string): string => join(folder, name)
  writeFileSync(at('plain'), 'text', { mode: 0o644 })
  symlinkSync('loop', at('loop'))
  expect(spawnSync('/usr/bin/mkfifo', ['-m', '755', at('fifo')]).status).toBe(0)
  const cases = [
    [at('missing'), 'ENOENT'],
    [folder, 'EACCES'],
    [at('plain'), 'EACCES'],
    [at('plain/x'), 'ENOTDIR'],
    [at('loop'), 'ELOOP'],
    [at('n'.repeat(300)), 'ENAMETOOLONG'],
    [at('fifo'), 'EACCES'],
  ] as const
  for (const [program, code] of cases) expect(await failed({ program })).toEqual(['exec', code, program])
})

test('a missing interpreter is told apart from a missing file [B020]', async () => {
  const script = programFile('script', '#! /nonexistent/interp -x\n')
  const { error } = await aftermath(() => started({ program: script }))
  expect(error.details).toMatchObject({ stage: 'exec', path: script, field: 'program' })
  expect(error.details?.['hint']).toBe('the file is there, its interpreter /nonexistent/interp is not')
  expect(error.message).toContain('/nonexistent/interp')

  // The loader that an ELF file names, overwritten in place.
  const elf = readFileSync(fixtureChild())
  const loader = elf.indexOf('/lib64/ld-')
  expect(loader).toBeGreaterThan(0)
  elf.write('/nowhere/', loader)
  const { error: unloadable } = await aftermath(() => started({ program: programFile('elf', elf) }))
  expect(unloadable.cause?.code).toBe('ENOENT')
  expect(unloadable.details?.['hint']).toBe('the file is there, its program loader is not')

  const { error: missing } = await aftermath(() => started({ program: '/nonexistent' }))
  expect(missing.details).not.toHaveProperty('hint')
})

test('a file that is no program of this machine is ENOEXEC, and no shell is asked [B024]', async () => {
  const mark = join(tmpFolder(), 'mark')
  const elf = readFileSync(fixtureChild())
  elf.writeUInt16LE(0xfffe, 18)
  const cases = [programFile('script', `echo hi $1 > ${mark}\n`), programFile('empty', ''), programFile('elf', elf)]
  expect(spawnSync(cases[0] as string, ['a']).status).toBe(0)
  expect(readFileSync(mark, 'utf8')).toBe('hi a\n')
  writeFileSync(mark, '')
  await onEachWay(async () => {
    for (const program of cases) expect(await failed({ program, args: ['a'] })).toEqual(['exec', 'ENOEXEC', program])
  })
  expect(readFileSync(mark, 'utf8')).toBe('')
})

test('a program that somebody has open for writing is ETXTBSY [B020]', async () => {
  const program = programFile('busy', readFileSync(fixtureChild()))
  const fd = openSync(program, 'r+')
  expect(await failed({ program })).toEqual(['exec', 'ETXTBSY', program])
  closeSync(fd)
  expect(await output(['text', 'runs'], { program })).toBe('runs')
})

test('a relative program is refused: neither the host’s directory nor the child’s decides [B026]', async () => {
  const folder = tmpFolder()
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'sub', 'tool'), '#!/bin/sh\necho child\n', { mode: 0o755 })
  for (const program of ['./tool', 'sub/tool', '../tool', 'tool']) {
    const { error, starts } = await aftermath(() => started({ program, cwd: join(folder, 'sub') }))
    expect([error.code, error.details?.['field'], starts]).toEqual(['ERR_INVALID_SPEC', 'program', 0])
  }
  expect(await output([], { program: join(folder, 'sub', 'tool'), cwd: '/' })).toBe('child\n')
})

test('a bare name is found in the search path given, in its order, and in no other [B026]', async () => {
  const folder = tmpFolder()
  for (const name of ['a', 'b', 'c', 'd', 'e']) mkdirSync(join(folder, name))
  for (const name of ['b', 'e']) mkdirSync(join(folder, name, 'tool'))
  for (const name of ['c', 'd']) writeFileSync(join(folder, name, 'tool'), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 })
  const path = (...names: string[]): string => names.map((name) => join(folder, name)).join(':')
  const tool = { program: 'tool', env: { PATH: path('d') } }
  expect(await output([], { ...tool, searchPath: path('a', 'b', 'c', 'd') })).toBe('c\n')
  expect(await output([], { ...tool, searchPath: `${path('d', 'c')}///` })).toBe('d\n')
  expect(await failed({ ...tool, searchPath: path('a') })).toEqual(['exec', 'ENOENT', join(folder, 'a', 'tool')])
  // "May not be executed" says more than "not found", wherever in the path it was.
  const denied = join(folder, 'b', 'tool')
  expect(await failed({ ...tool, searchPath: path('a', 'b', 'e', 'a') })).toEqual(['exec', 'EACCES', denied])
  const child = await started({ ...tool, searchPath: path('a', 'c') })
  expect(child.receipt.program).toBe(join(folder, 'c', 'tool'))
  expect(child.receipt.argv).toEqual(['tool'])
  await child.wait()
})

test('a bare name that is nowhere is told with how many directories were tried [B026, P-2]', async () => {
  const folder = tmpFolder()
  const searchPath = `${folder}:${join(folder, 'missing')}:${folder}/`
  const { error } = await aftermath(() => started({ program: 'tool', searchPath }))
  expect(error.details).toMatchObject({ stage: 'exec', hint: 'not found in the 3 directories of searchPath' })
  const one = await aftermath(() => started({ program: 'tool', searchPath: folder }))
  expect(one.error.message).toContain('not found in the one directory of searchPath')
  const path = await aftermath(() => started({ program: join(folder, 'tool') }))
  expect(path.error.details).not.toHaveProperty('hint')
})

test('an empty or relative element of the search path is refused, not taken for a directory [B026]', async () => {
  for (const searchPath of ['', ':/bin', '/bin:', '/bin::/usr/bin', 'bin', '/bin:.', '/bin:\0']) {
    const { error, starts } = await aftermath(() => started({ program: 'true', searchPath }))
    expect([searchPath, error.details?.['field'], starts]).toEqual([searchPath, 'searchPath', 0])
  }
})

test('a failing start writes nothing into the descriptors that the child was to have [B033]', async () => {
  const log = join(tmpFolder(), 'log')
  const fds = { 1: { file: log, mode: 'append' }, 2: { sameAs: 1 } } as const
  await onEachWay(async () => {
    expect(await failed({ program: '/nonexistent', fds })).toEqual(['exec', 'ENOENT', '/nonexistent'])
    expect(await failed({ cwd: '/nonexistent', fds })).toEqual(['chdir', 'ENOENT', '/nonexistent'])
    expect((await failed({ limits: { nofile: 2 ** 40 }, fds }))[0]).toBe('rlimit')
  })
  expect(readFileSync(log, 'utf8')).toBe('')
})

test('a secret in a program’s path, directory or interpreter stands in no error [P-9, B106]', async () => {
  const script = programFile('hunter22', '#!/hunter22/interp\n')
  const secret = { secrets: ['hunter22'], args: ['hunter22'], env: { TOKEN: 'hunter22' } }
  for (const spec of [{ program: '/hunter22' }, { cwd: '/hunter22' }, { program: script }]) {
    const { error } = await aftermath(() => started({ ...secret, ...spec }))
    const all = [error.message, (error as unknown as Error).stack, JSON.stringify(error), String(error.cause)].join()
    expect(all).not.toContain('hunter22')
    expect(error.details?.['path']).toContain('[redacted]')
  }
})
