/** The receipt says what the child was born with: as the child itself sees it, and no secret. */
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { Child, Receipt, SpawnSpec } from 'exactspawn'
import { capture, MiB, pipe, spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import type { Audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { tmpFolder } from '../../support/tmp.js'
import { onEachWay, openFile, withHooks } from './starts.js'

/** A child that audits itself on 1, and its receipt. */
async function both(spec: Partial<SpawnSpec> = {}): Promise<{ receipt: Receipt; report: Audit; child: Child }> {
  const fds = { 1: capture({ headBytes: MiB }), ...spec.fds }
  const child = await spawn({ program: fixtureChild(), args: ['audit', '1'], env: {}, ...spec, fds })
  const { logs } = await child.wait()
  return { receipt: child.receipt, report: JSON.parse(logs[1]?.text() ?? '') as Audit, child }
}

const valueOf = (receipt: Receipt, control: string): string | undefined =>
  receipt.controls.find((entry) => entry.control === control)?.value

test('the receipt equals what the child sees of itself, on each way to start [P-1]', async () => {
  await onEachWay(async (way) => {
    const file = join(tmpFolder(), 'log')
    const spec: Partial<SpawnSpec> = {
      env: { A: '1', B: '2' },
      cwd: '/usr',
      umask: 0o027,
      argv0: 'name',
      fds: {
        2: { sameAs: 1 },
        5: { bytes: Buffer.from('abc') },
        7: { file, mode: 'append' },
        9: { hostFd: openFile().fd },
      },
      limits: { core: 0, fsize: { soft: 1e6, hard: Infinity } },
      nice: 3,
      noNewPrivs: true,
    }
    const { receipt, report } = await both(spec)
    expect(receipt).toMatchObject({
      pid: report.pid,
      program: fixtureChild(),
      argv: report.argv,
      env: report.env.map((entry) => entry.split('=')[0]),
      cwd: report.cwd,
      umask: report.umask,
      group: 'new',
      signals: { blocked: [], ignored: report.ignored },
      owner: 'handle',
      mechanism: way,
    })
    expect(receipt.fds.map(({ fd }) => fd)).toEqual(report.fds.map(({ fd }) => fd))
    expect(receipt.fds.map(({ source }) => source)).toEqual(['null', 'capture', 'sameAs', 'bytes', 'file', 'hostFd'])
    expect(valueOf(receipt, 'descriptors')).toBe(`exactly ${report.fds.length}`)
    expect(valueOf(receipt, 'environment')).toBe(`exactly ${report.env.length} variables`)
    expect(valueOf(receipt, 'umask')).toBe('0027')
    expect(valueOf(receipt, 'nice')).toBe(String(report.nice))
    expect(report.rlimits).toMatchObject({ core: [0, 0], fsize: [1e6, -1] })
    expect(valueOf(receipt, 'limit core')).toBe('soft 0, hard 0')
    expect(valueOf(receipt, 'limit fsize')).toBe('soft 1000000, hard infinity')
    expect(valueOf(receipt, 'limit nofile')).toContain(`soft ${report.rlimits['nofile']?.[0]}`)
    expect(valueOf(receipt, 'no new privileges')).toBe('set')
    expect(valueOf(receipt, 'parent-death signal')).toBe('SIGKILL')
  })
})

test('what a spec leaves out stands in the receipt as what it is taken for [P-1, X-01]', async () => {
  const { receipt, report } = await both()
  expect(receipt).toMatchObject({ cwd: null, umask: 0o077, group: 'new', owner: 'handle', argv: report.argv })
  expect(receipt.fds.map(({ fd, source }) => [fd, source])).toEqual([
    [0, 'null'],
    [1, 'capture'],
    [2, 'null'],
  ])
  expect(receipt.fds[1]?.detail).toBe(`head ${MiB} bytes, tail 0 bytes`)
  expect(Math.abs(Date.now() - receipt.startedAtMs)).toBeLessThan(60_000)
  expect((await both({ umask: 'inherit', limits: { nofile: 'inherit' } })).receipt).toMatchObject({
    umask: null,
    controls: expect.arrayContaining([
      { control: 'umask', value: 'inherited', status: 'enforced' },
      { control: 'limit nofile', value: 'inherited', status: 'enforced' },
    ]) as unknown,
  })
})

test('groups that a change of user leaves as the host\'s stand in the receipt as that [P-1, M-74]', async () => {
  const inherited = (control: string, ids: readonly (number | undefined)[] | undefined) => ({
    control,
    value: `inherited: ${ids?.join(',')}`,
    status: 'enforced',
    note: expect.stringContaining("the host's") as unknown,
  })
  const groups = inherited('groups', process.getgroups?.())
  const gid = inherited('gid', [process.getegid?.()])
  const onlyUser = (await both({ uid: 65534 })).receipt.controls
  expect(onlyUser).toEqual(expect.arrayContaining([groups, gid]))
  const userAndGroup = (await both({ uid: 65534, gid: 65534 })).receipt.controls
  expect(userAndGroup).toEqual(expect.arrayContaining([groups, { control: 'gid', value: '65534', status: 'enforced' }]))
  const neither = (await both()).receipt.controls
  expect(neither.filter(({ control }) => control === 'groups' || control === 'gid')).toEqual([])
})

test('each control says how far it is held to, and none is left to be guessed [P-1, M-74]', async () => {
  const { receipt } = await both({ affinity: [0], groups: [], gid: 65534, uid: 65534, noNewPrivs: true })
  const always = ['descriptors', 'environment', 'umask', 'signal mask', 'signal dispositions', 'limit nofile']
  const asked = ['affinity', 'groups', 'gid', 'uid', 'no new privileges']
  const names = [...always, ...asked, 'parent-death signal', 'exit']
  expect(receipt.controls.map(({ control }) => control)).toEqual(names)
  expect(receipt.controls.map(({ status }) => status)).toEqual(receipt.controls.map(() => 'enforced'))
  expect(receipt.containment).toEqual({
    processGroup: 'enforced',
    cgroup: 'unsupported',
    completeProcessTree: 'unsupported',
  })
  // A program with a set-user-id bit clears the signal, and only no_new_privs forbids that.
  const plain = (await both()).receipt.controls.find(({ control }) => control === 'parent-death signal')
  expect(plain).toMatchObject({ status: 'best-effort', note: expect.stringContaining('set-user-id') as unknown })
})

test('the mechanism is the one that was used, and a watch without a pidfd is told [P-1]', async () => {
  const mechanism = async () => (await both()).receipt.mechanism
  expect(await mechanism()).toBe('clone3')
  await withHooks({ noClone3: true }, async () => expect(await mechanism()).toBe('clone'))
  await withHooks({ forceFork: true }, async () => expect(await mechanism()).toBe('fork'))
  await withHooks({ noPidfd: true }, async () => {
    const exit = (await both()).receipt.controls.find(({ control }) => control === 'exit')
    expect(exit).toMatchObject({ value: 'watched by a thread', status: 'best-effort' })
  })
})

test('the receipt is frozen throughout and is plain data [P-1]', async () => {
  const { receipt } = await both({ fds: { 5: 'null' } })
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen))
  expect(frozen(receipt)).toBe(true)
  expect(JSON.parse(JSON.stringify(receipt))).toEqual(receipt)
  expect(structuredClone(receipt)).toEqual(receipt)
})

test('no value of a variable and no registered secret stands in the receipt or the handle [P-1, P-9]', async () => {
  const secret = 'hunter22'
  const folder = tmpFolder()
  const { child, report } = await both({
    program: fixtureChild(),
    args: ['audit', '1', '--', 'exit', '0', `--token=${secret}`, Buffer.from(secret)],
    argv0: `name-${secret}`,
    env: { [`NAME_${secret}`]: 'innocent value', TOKEN: secret, OTHER: 'other value' },
    secrets: [secret],
    fds: { 7: { file: join(folder, secret), mode: 'append' }, 8: { bytes: Buffer.from(secret) } },
  })
  const all = JSON.stringify(child.receipt) + inspect(child, { depth: 9, showHidden: true })
  for (const hidden of [secret, 'innocent value', 'other value']) expect(all).not.toContain(hidden)
  expect(child.receipt.argv).toContain('--token=[redacted]')
  expect(child.receipt.env).toEqual(['NAME_[redacted]', 'TOKEN', 'OTHER'])
  // The child itself has it; its own report went through the filter of the capture.
  expect(report.env).toContain('TOKEN=[redacted]')
})

test('an endpoint stands in the receipt with its direction, a stream as a pipe [P-1, X-03]', async () => {
  const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
  const { receipt } = await both({ fds: { 0: 'pipe', 3: requests.child, 4: responses.child } })
  expect(receipt.fds.map(({ fd, source, detail }) => [fd, source, detail])).toEqual([
    [0, 'pipe', undefined],
    [1, 'capture', `head ${MiB} bytes, tail 0 bytes`],
    [2, 'null', undefined],
    [3, 'endpoint', 'childReads'],
    [4, 'endpoint', 'childWrites'],
  ])
  requests.host.close()
  responses.host.close()
})
