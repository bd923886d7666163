/** A spec that cannot be met is refused before anything happens: each field alone, and fields that contradict. */
import type { SpawnSpec } from 'exactspawn'
import { ExactSpawnError, SpecError, capture, pipe, spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { hostSays } from '../../support/host.js'
import { aftermath, failure } from '../birth/starts.js'

type Bad = Readonly<Record<string, unknown>>

const good = { program: '/bin/true', env: {} }
const started = (bad: Bad) => spawn({ ...good, ...bad } as unknown as SpawnSpec)

/** Each spec is refused with this field named, as a TypeError or as a SpecError, and nothing was begun. */
async function refused(cases: readonly (readonly [field: string, bad: Bad])[], name: 'TypeError' | 'SpecError') {
  for (const [field, bad] of cases) {
    const { error, ...left } = await aftermath(() => started(bad))
    expect(left, field).toEqual({ starts: 0, fds: [], children: [] })
    expect([error.name, error.code, error.details?.['field']]).toEqual([name, 'ERR_INVALID_SPEC', field])
    expect(ExactSpawnError.is(error, 'ERR_INVALID_SPEC')).toBe(true)
    expect(error instanceof (name === 'TypeError' ? TypeError : SpecError)).toBe(true)
  }
}

test('a spec that is none, or without program or environment, is refused [P-2, B029]', async () => {
  for (const spec of [undefined, null, 'x', 5]) {
    const { error, starts } = await aftermath(() => spawn(spec as unknown as SpawnSpec))
    expect([error.name, error.code, starts]).toEqual(['TypeError', 'ERR_INVALID_SPEC', 0])
    expect(error.details?.['field']).toBe('spec')
  }
  await refused(
    [
      ['program', { program: undefined }],
      ['env', { env: undefined }],
    ],
    'SpecError',
  )
})

test('a value of another type than its field’s is a TypeError with the field and a code [P-2]', async () => {
  const values: Readonly<Record<string, readonly unknown[]>> = {
    program: [5, null, {}, ['/bin/true']],
    searchPath: [5, ['/bin']],
    args: ['x', null, {}, new Uint8Array(1)],
    argv0: [5, null],
    env: [null, 5, 'all', [], new Map([['A', '1']]), new (class Environment {})()],
    cwd: [5, null],
    umask: ['0077', null],
    fds: [5, null, [], new Map([[3, 'null']])],
    guard: [1, 'yes', null],
    lifetime: [5, null, [], new Map()],
    drainMs: ['1', null],
    secrets: ['secret', null],
    limits: [5, null, [], new Map()],
    nice: ['1', null],
    affinity: [0, '0', null],
    uid: ['0', null],
    gid: ['0', null],
    groups: [0, null],
    noNewPrivs: [1, null],
    cgroup: ['/sys/fs/cgroup', null],
  }
  const bare = (field: string): Bad => (field === 'searchPath' ? { program: 'true' } : {})
  await refused(
    Object.entries(values).flatMap(([field, list]) =>
      list.map((value) => [field, { ...bare(field), [field]: value }] as const),
    ),
    'TypeError',
  )
})

test('each field is read once, so that what is checked is what the child is born with [P-1]', async () => {
  const reads = new Map<string, number>()
  const counted = (spec: object): SpawnSpec =>
    new Proxy(spec as SpawnSpec, {
      get: (target, key, receiver) => {
        reads.set(String(key), (reads.get(String(key)) ?? 0) + 1)
        return Reflect.get(target, key, receiver) as unknown
      },
    })
  const spec = { ...good, args: [], groups: undefined, cwd: '/', lifetime: { timeoutMs: 60_000 }, secrets: ['secret'] }
  const child = await spawn(counted(spec))
  expect(await child.wait()).toMatchObject({ code: 0 })
  expect([...reads.values()].filter((times) => times !== 1)).toEqual([])
  expect(reads.size).toBeGreaterThan(20)
})

test('a field that a prototype holds counts as given [P-1]', async () => {
  const child = await spawn(Object.create({ program: '/bin/false', env: {} }) as SpawnSpec)
  expect(await child.wait()).toMatchObject({ code: 1 })
})

test('a part of another type is a TypeError that names the part [P-2]', async () => {
  await refused(
    [
      ['args[1]', { args: ['x', 5] }],
      ['args[0]', { args: [undefined] }],
      ['args[1]', { args: ['x', , 'y'] }],
      ['secrets[0]', { secrets: [5] }],
      ['lifetime.timeoutMs', { lifetime: { timeoutMs: '5' } }],
      ['lifetime.graceMs', { lifetime: { graceMs: null } }],
      ['lifetime.signal', { lifetime: { signal: {} } }],
      ['lifetime.signal', { lifetime: { signal: { aborted: false, addEventListener() {} } } }],
      ['limits.core', { limits: { core: '0' } }],
      ['limits.core', { limits: { core: null } }],
      ['limits.core.soft', { limits: { core: { hard: 0 } } }],
      ['limits.nofile', { limits: { nofile: 'all' } }],
      ['affinity[0]', { affinity: ['0'] }],
      ['affinity[1]', { affinity: [0, ,] }],
      ['groups[0]', { groups: [null] }],
      ['cgroup.parent', { cgroup: {} }],
      ['fds.3.hostFd', { fds: { 3: { hostFd: '0' } } }],
      ['fds.3.bytes', { fds: { 3: { bytes: 'text' } } }],
      ['fds.3.file', { fds: { 3: { file: 5, mode: 'read' } } }],
    ],
    'TypeError',
  )
})

test('a field that no spec has is refused, at each depth [P-2]', async () => {
  await refused(
    [
      ['detached', { detached: true }],
      ['shell', { shell: true }],
      ['lifetime.timeout', { lifetime: { timeout: 5 } }],
      ['limits.files', { limits: { files: 5 } }],
      ['limits.toString', { limits: { toString: 5 } }],
      ['limits.core.max', { limits: { core: { soft: 0, max: 0 } } }],
      ['cgroup.name', { cgroup: { parent: '/', name: 'x' } }],
      ['fds.3', { fds: { 3: { hostFd: 0, mode: 'read' } } }],
      ['fds.3', { fds: { 3: {} } }],
    ],
    'SpecError',
  )
})

test('a number beyond its range is refused, at the limit and one past it [P-2]', async () => {
  const values: Readonly<Record<string, readonly unknown[]>> = {
    umask: [-1, 0o1000, 1.5, NaN],
    nice: [-21, 20, 0.5, NaN, Infinity],
    uid: [-1, 2 ** 32 - 1, 1.5, NaN],
    gid: [-1, 2 ** 32 - 1],
    drainMs: [-1, NaN, Infinity],
  }
  await refused(
    Object.entries(values).flatMap(([field, list]) => list.map((value) => [field, { [field]: value }] as const)),
    'SpecError',
  )
  await refused(
    [
      ['groups[0]', { groups: [2 ** 32 - 1] }],
      ['groups', { groups: [5, 5] }],
      ['affinity[0]', { affinity: [8192] }],
      ['affinity', { affinity: [0, 0] }],
      ['affinity', { affinity: [] }],
      ['lifetime.timeoutMs', { lifetime: { timeoutMs: -1 } }],
      ['lifetime.timeoutMs', { lifetime: { timeoutMs: NaN } }],
      ['lifetime.graceMs', { lifetime: { graceMs: -1 } }],
      ['limits.core.soft', { limits: { core: -1 } }],
      ['limits.core.hard', { limits: { core: { soft: 0, hard: 1.5 } } }],
      ['secrets[0]', { secrets: ['abc'] }],
      ['secrets[0]', { secrets: ['x'.repeat(4097)] }],
      ['secrets', { secrets: Array.from({ length: 65 }, (_, i) => `secret ${i}`) }],
    ],
    'SpecError',
  )
})

test('a choice that is none of those offered is refused [P-2, X-01]', async () => {
  await refused(
    [
      ['owner', { owner: 'host' }],
      ['owner', { owner: null }],
      ['leftovers', { leftovers: 'all' }],
      ['group', { group: 'own' }],
      ['group', { group: 5 }],
      ['group', { group: { join: 5, pid: 5 } }],
      ['group.join', { group: { join: 5 } }],
      ['group.join', { group: { join: { pid: process.pid } } }],
    ],
    'SpecError',
  )
  const { error, starts } = await aftermath(() => started({ lifetime: { firstSignal: 'SIGNONE' } }))
  expect([error.code, starts]).toEqual(['ERR_INVALID_SIGNAL', 0])
})

test('fields that contradict each other are refused [P-2, X-09]', async () => {
  await refused(
    [
      ['guard', { guard: true, group: 'inherit' }],
      ['guard', { guard: true, owner: 'detached' }],
      ['fds.1', { owner: 'detached', fds: { 1: capture({ headBytes: 1 }) } }],
      ['fds.2', { owner: 'detached', fds: { 2: 'pipe' } }],
    ],
    'SpecError',
  )
  const { child, host } = pipe('childWrites')
  await refused([['fds.5', { owner: 'detached', fds: { 5: child } }]], 'SpecError')
  // Nothing was begun, so the endpoint is as good as before.
  expect(child.consumed).toBe(false)
  child.close()
  host.close()
})

test('a limit that this host cannot set is refused, with the kernel’s name for it [P-2]', async () => {
  const { error, starts } = await aftermath(() => started({ limits: { core: { soft: 2, hard: 1 } } }))
  expect([error.code, error.cause?.code, starts]).toEqual(['ERR_INVALID_SPEC', 'EINVAL', 0])
  expect(error.details?.['field']).toBe('limits.core')
  // A hard limit may be raised by a privileged host, as the kernel decides; by another one never.
  const body = `
    const limits = require('node:fs').readFileSync('/proc/self/limits', 'utf8')
    const hard = Number(limits.match(/Max open files +\\d+ +(\\d+)/)[1])
    const start = (nofile) => spawn({ program: '/bin/true', env: {}, limits: { nofile } })
    await start({ soft: 10, hard }).then((child) => child.wait())
    await start(hard + 1).catch(({ code, details, cause }) => say([code, details.field, cause.code]))`
  expect(await hostSays(body, { uid: 65534, gid: 65534 })).toEqual([['ERR_INVALID_SPEC', 'limits.nofile', 'EPERM']])
})

test('what bounds the start alone is checked first, and an aborted signal starts nothing [B086]', async () => {
  const signal = {} as AbortSignal
  expect((await failure(spawn(good, { signal }))).name).toBe('TypeError')
  const { error, starts } = await aftermath(() => spawn(good, { signal: AbortSignal.abort('why') }))
  expect([error.code, error.cause, starts]).toEqual(['ERR_ABORTED', 'why', 0])
  const { error: ended } = await aftermath(() => started({ lifetime: { signal: AbortSignal.abort('over') } }))
  expect([ended.code, ended.cause]).toEqual(['ERR_ABORTED', 'over'])
})

test('no clone of any kind is made for a spec that is refused [P-2, M-09]', async () => {
  // In a namespace of its own the last number given out is a count of everything that this host has ever cloned.
  const body = `
    const last = () => Number(require('node:fs').readFileSync('/proc/sys/kernel/ns_last_pid', 'utf8'))
    const good = { program: '/bin/true', env: {} }
    const used = pipe('childWrites')
    await spawn(good).then((c) => c.wait())
    await spawn({ ...good, program: '/nonexistent' }).catch(() => {})
    await spawn({ ...good, fds: { 3: used.child } }).then((c) => c.wait())
    await spawn({ ...good, fds: { 3: { file: '/dev/null', mode: 'read' } } }).then((c) => c.wait())
    const before = last()
    const codes = new Set()
    const bad = [
      { program: 'true' }, { args: ['\\0'] }, { env: { 'A=B': 'x' } }, { env: undefined }, { cwd: '' },
      { fds: { '-1': 'null' } },
      { fds: { 3: { hostFd: 5000 } } }, { fds: { 3: used.child } }, { limits: { core: -1 } }, { nice: 99 }, { what: 1 },
      { args: ['x'.repeat(131072)] }, { guard: true, group: 'inherit' }, { affinity: [] },
    ]
    for (const fields of bad) await spawn({ ...good, ...fields }).catch(({ code }) => codes.add(code))
    const after = last()
    await spawn(good).then((c) => c.wait())
    say({ refused: after - before, started: last() - after, codes: [...codes].sort() })`
  const wrapper = ['/usr/bin/unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
  const codes = ['ERR_COMMAND_CONSUMED', 'ERR_INVALID_SPEC']
  expect(await hostSays(body, { wrapper })).toEqual([{ refused: 0, started: 1, codes }])
})

test('a spec without endpoints may be used again, also after a refusal [M-09]', async () => {
  const spec: SpawnSpec = Object.freeze({ ...good, fds: Object.freeze({ 1: capture({ headBytes: 1 }) }) })
  for (let time = 0; time < 2; time++) {
    const child = await spawn(spec)
    expect((await child.wait()).code).toBe(0)
  }
})
