/** A descriptor map that cannot be met is refused before anything happens, with the entry named. */
import { closeSync, openSync } from 'node:fs'
import type { FdSource } from 'exactspawn'
import { capture, pipe, spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { aftermath, failure } from '../birth/starts.js'

type BadMap = Readonly<Record<string, unknown>>

const started = (fds: BadMap) => spawn({ program: '/bin/true', env: {}, fds: fds as Record<number, FdSource> })

async function refused(cases: readonly (readonly [field: string, fds: BadMap])[]) {
  for (const [field, fds] of cases) {
    const after = await aftermath(() => started(fds))
    expect(after, field).toMatchObject({ starts: 0, fds: [], children: [] })
    expect([after.error.code, after.error.details?.['field']]).toEqual(['ERR_INVALID_SPEC', field])
  }
}

test('a key that is no descriptor number is refused and named [B016]', async () => {
  const beyond = [String(2 ** 31), String(2 ** 32), 'NaN', 'Infinity']
  const keys = ['-1', '1.5', ...beyond, '03', ' 3', '3 ', '1e2', '0x3', '', 'stdin', '-0']
  await refused(keys.map((key) => [`fds.${key}`, { [key]: 'null' }]))
})

test('a source that is none is refused [P-2]', async () => {
  for (const source of ['nul', 'inherit', 'ignore', '', 0, 5, true, null, undefined, [], () => {}, { fd: 3 }]) {
    await refused([['fds.3', { 3: source }]])
  }
  await refused([['fds.3', { 3: 'pipe' }]])
})

test('a host descriptor that is closed, negative or beyond all numbers is refused [P-2, B019]', async () => {
  const gone = openSync('/dev/null', 'r')
  closeSync(gone)
  const { error } = await aftermath(() => started({ 3: { hostFd: gone } }))
  expect([error.details?.['field'], error.cause?.code]).toEqual(['fds.3.hostFd', 'EBADF'])
  // 2 ** 32 is 0 once it has been cut to 32 bits.
  for (const fd of [-1, 1.5, NaN, Infinity, 2 ** 31, 2 ** 32]) await refused([['fds.3.hostFd', { 3: { hostFd: fd } }]])
  await refused([['fds.3.nonblock', { 3: { hostFd: 0, nonblock: true } }]])
})

test('a number that is the same as a closed one, as an absent one or as itself is refused [X-04]', async () => {
  await refused([
    ['fds.3.sameAs', { 3: { sameAs: 5 } }],
    ['fds.3.sameAs', { 3: { sameAs: 0 }, 0: 'closed' }],
    ['fds.3.sameAs', { 3: { sameAs: 3 } }],
    ['fds.3.sameAs', { 3: { sameAs: 4 }, 4: { sameAs: 3 } }],
    ['fds.3.sameAs', { 3: { sameAs: -1 } }],
    ['fds.3.sameAs', { 3: { sameAs: 1.5 } }],
  ])
})

test('a file without a mode, or with another one, is refused [X-03]', async () => {
  await refused([
    ['fds.1', { 1: { file: '/dev/null' } }],
    ['fds.1.mode', { 1: { file: '/dev/null', mode: 'w' } }],
    ['fds.1.file', { 1: { file: '', mode: 'write' } }],
    ['fds.1.file', { 1: { file: '/dev/\0null', mode: 'write' } }],
    ['fds.1.file', { 1: { file: `/${'x'.repeat(4096)}`, mode: 'write' } }],
  ])
})

test('an endpoint on two numbers is refused and is not used up by that [M-09]', async () => {
  const { child, host } = pipe('childReads')
  await refused([['fds.4', { 3: child, 4: child }]])
  expect(child.consumed).toBe(false)
  const twice = await started({ 3: child, 4: { sameAs: 3 } })
  expect((await twice.wait()).code).toBe(0)
  host.close()
})

test('a pipe has one of two directions [M-02]', () => {
  for (const direction of ['read', '', undefined, null, 0]) {
    expect(() => pipe(direction as 'childReads')).toThrow(TypeError)
  }
})

test('limits of a capture that are none are refused with a code [M-16]', () => {
  const none = [undefined, null, {}]
  for (const limits of [...none, { headBytes: -1 }, { headBytes: 1.5 }, { tailBytes: '1' }, { headBytes: Infinity }]) {
    const make = () => capture(limits as { headBytes: number })
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_INVALID_LOG_LIMITS' }))
    expect(make).toThrow(TypeError)
  }
})

test('an endpoint that was closed, or belonged to an earlier start, starts nothing [M-09]', async () => {
  const closed = pipe('childWrites')
  closed.child.close()
  closed.child.close()
  const after = await aftermath(() => started({ 3: closed.child }))
  const error = { name: 'SpawnError', code: 'ERR_COMMAND_CONSUMED', details: { field: 'fds.3' } }
  expect(after).toMatchObject({ error, starts: 0, fds: [] })
  closed.host.close()

  for (const program of ['/bin/true', '/nonexistent']) {
    const used = pipe('childWrites')
    const spec = { program, env: {}, fds: { 3: used.child } }
    await spawn(spec).then(
      (child) => child.wait(),
      () => {},
    )
    const again = await aftermath(() => spawn(spec))
    expect(again).toMatchObject({ error, starts: 0, fds: [], children: [] })
    used.host.close()
  }
})

test('two starts at once with one endpoint: the first has it [M-09]', async () => {
  const { child, host } = pipe('childWrites')
  const first = started({ 3: child })
  expect((await failure(started({ 3: child }))).code).toBe('ERR_COMMAND_CONSUMED')
  expect((await (await first).wait()).code).toBe(0)
  host.close()
})
