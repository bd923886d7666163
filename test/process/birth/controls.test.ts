/** Limits, priority, processors and ids: as declared, or no start. */
import { join } from 'node:path'
import type { Limits, SpawnSpec } from 'exactspawn'
import { spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { connectedAddon } from '../../../lib/addon/events.js'
import { audit } from '../../support/audit.js'
import { hostSays } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { aftermath, onEachWay, output } from './starts.js'

const RLIMIT = { core: 4, nofile: 7 }
const NOBODY = { uid: 65534, gid: 65534 }

const own = (resource: number): readonly [soft: number, hard: number] => connectedAddon().limit(resource)

async function failed(spec: Partial<SpawnSpec>): Promise<Record<string, unknown> & { cause: unknown }> {
  const { error, fds, children } = await aftermath(() => spawn({ program: '/bin/true', env: {}, ...spec }))
  expect({ code: error.code, fds, children }).toEqual({ code: 'ERR_SPAWN_FAILED', fds: [], children: [] })
  return { ...error.details, cause: error.cause?.code }
}

test('limits are those declared: one number for both, or each, or none at all [P-1]', async () => {
  const limits = { core: 0, fsize: { soft: 1_000, hard: 2_000 }, cpu: Infinity, stack: { soft: 1024 * 1024 } }
  await onEachWay(async () => {
    const { rlimits } = await audit({ limits })
    expect(rlimits['core']).toEqual([0, 0])
    expect(rlimits['fsize']).toEqual([1_000, 2_000])
    expect(rlimits['cpu']).toEqual([-1, -1])
    expect(rlimits['stack']?.[0]).toBe(1024 * 1024)
    // What nobody names is the host's own.
    expect(rlimits['nproc']).toEqual(own(6))
  })
})

test('an absent hard limit is the host’s own [P-1]', async () => {
  expect((await audit({ limits: { core: { soft: 0 } } })).rlimits['core']).toEqual([0, own(RLIMIT.core)[1]])
})

test('the descriptor limit is 1024 and not what Node raised its own to, unless asked for [P-1]', async () => {
  const [soft, hard] = own(RLIMIT.nofile)
  const nofile = async (limits: Limits) => (await audit({ limits })).rlimits['nofile']
  expect(soft).toBeGreaterThan(1024)
  await onEachWay(async () => {
    expect(await nofile({})).toEqual([1024, hard])
    expect((await audit()).rlimits['nofile']).toEqual([1024, hard])
    expect(await nofile({ nofile: 'inherit' })).toEqual([soft, hard])
    expect(await nofile({ nofile: 64 })).toEqual([64, 64])
    expect(await nofile({ nofile: { soft: 8, hard: 9 } })).toEqual([8, 9])
  })
})

test('a host with a hard limit below 1024 gives its children that [P-1]', async () => {
  const body = `
    const fds = { 1: capture({ headBytes: 99 }) }
    const child = await spawn({ program: '/bin/sh', args: ['-c', 'ulimit -Sn; ulimit -Hn'], env: {}, fds })
    say((await child.wait()).logs[1].text())`
  expect(await hostSays(body, { wrapper: ['/usr/bin/prlimit', '--nofile=100:300'] })).toEqual(['300\n300\n'])
})

test('a limit that the kernel refuses fails the start at its stage, with its name [P-2]', async () => {
  await onEachWay(async () => {
    const details = await failed({ limits: { core: 0, nofile: 2 ** 40 } })
    expect(details).toMatchObject({ stage: 'rlimit', field: 'limits.nofile', index: 1, cause: 'EPERM' })
  })
})

test('a limit holds: a file does not grow beyond it and the child is told by its signal [P-1]', async () => {
  const child = await spawn({
    program: '/bin/sh',
    args: ['-c', 'exec dd if=/dev/zero of="$0" bs=1000 count=9 status=none', join(tmpFolder(), 'file')],
    env: { PATH: '/usr/bin:/bin' },
    limits: { fsize: 0, core: 0 },
  })
  expect(await child.wait()).toMatchObject({ code: null, signal: 'SIGXFSZ', endedBy: 'self' })
})

test('priority and processors are those declared [P-1]', async () => {
  const { affinity } = await audit()
  const last = affinity.at(-1) as number
  await onEachWay(async () => {
    expect(await audit({ nice: 7, affinity: [last] })).toMatchObject({ nice: 7, affinity: [last] })
    expect(await audit({ affinity })).toMatchObject({ affinity })
  })
  const body = `
    const start = (nice) => spawn({ program: '/bin/true', env: {}, nice })
    await start(3).then((child) => child.wait())
    await start(-3).catch(({ details, cause }) => say({ ...details, cause: cause.code }))`
  expect(await hostSays(body, NOBODY)).toMatchObject([{ stage: 'priority', field: 'nice', cause: 'EACCES' }])
})

test('processors that are not there fail the start, also beside others that are [P-1, P-2]', async () => {
  const { affinity } = await audit()
  await onEachWay(async () => {
    expect(await failed({ affinity: [8191] })).toMatchObject({ stage: 'affinity', field: 'affinity', cause: 'EINVAL' })
    for (const missing of [127, 8191]) {
      const details = await failed({ affinity: [...affinity, missing] })
      expect(details).toMatchObject({ stage: 'affinity', index: missing, cause: 'EINVAL' })
    }
  })
})

test('user, group and supplementary groups are set together, and the start says that it forked [P-1]', async () => {
  const report = await audit({ uid: 65533, gid: 65532, groups: [7, 5] })
  expect(report).toMatchObject({ uids: [65533, 65533, 65533], gids: [65532, 65532, 65532], groups: [5, 7] })
  expect((await audit({ groups: [] })).groups).toEqual([])
  expect((await audit({ gid: 5 })).uids).toEqual([0, 0, 0])
  const child = await spawn({ program: '/bin/true', env: {}, ...NOBODY, groups: [] })
  expect(child.receipt.mechanism).toBe('fork')
  await child.wait()
})

test('a host without the right to change ids fails at the first id that it cannot change [P-2]', async () => {
  const body = `
    for (const ids of [{ uid: 65533 }, { gid: 65533 }, { groups: [] }, { uid: 65533, gid: 65533, groups: [] }]) {
      const error = await spawn({ program: '/bin/true', env: {}, ...ids }).catch((error) => error)
      say([error.stage, error.field, error.cause.code])
    }
    const child = await spawn({ program: '/bin/true', env: {}, uid: 65534, gid: 65534 })
    say((await child.wait()).code)`
  expect(await hostSays(body, NOBODY)).toEqual([
    ['uid', 'uid', 'EPERM'],
    ['gid', 'gid', 'EPERM'],
    ['groups', 'groups', 'EPERM'],
    ['groups', 'groups', 'EPERM'],
    0,
  ])
})

test('more groups than the kernel takes fail at that stage [P-2]', async () => {
  const groups = Array.from({ length: 65_537 }, (_, i) => i)
  expect(await failed({ groups })).toMatchObject({ stage: 'groups', field: 'groups', cause: 'EINVAL' })
})

test('no new privileges only when asked for, and the parent-death signal by the owner [P-1, X-09]', async () => {
  const SIGKILL = 9
  await onEachWay(async () => {
    expect(await audit()).toMatchObject({ no_new_privs: 0, pdeathsig: SIGKILL })
    expect(await audit({ noNewPrivs: true })).toMatchObject({ no_new_privs: 1, pdeathsig: SIGKILL })
    expect(await audit({ uid: 65534, gid: 65534, groups: [] })).toMatchObject({ pdeathsig: SIGKILL })
  })
  const detached = await spawn({ program: '/bin/sh', args: ['-c', 'exit 5'], env: {}, owner: 'detached' })
  const death = detached.receipt.controls.find(({ control }) => control === 'parent-death signal')
  expect(death?.value).toBe('off')
  expect((await detached.wait()).code).toBe(5)
})

test('a child of another user runs in a directory that only this user may enter [P-1]', async () => {
  expect(await output(['umask'], { ...NOBODY, groups: [], cwd: '/', umask: 0o027 })).toBe('0027\n')
})
