/** Which numbers a child has, and what lies behind each. */
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { FdSource } from 'exactspawn'
import { capture, pipe, spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { connectedAddon } from '../../../lib/addon/events.js'
import { audit, auditedNumbers } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { tmpFolder } from '../../support/tmp.js'
import { aftermath, auditIntoFile, onEachWay, openFile, openPath, output, rounds, withHooks } from './starts.js'

const RLIMIT_NOFILE = 7

/** The lines of fdinfo that belong to the caller: flags with close-on-exec among them, and the offset. */
function hostView(fd: number): string {
  return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').replace(/^(?:mnt_id|lock|ino).*\n/gm, '')
}

test('a program that names no descriptor has 0, 1 and 2 on /dev/null and nothing else [P-1, B093, M-43]', async () => {
  await onEachWay(async () => {
    const report = await auditIntoFile()
    expect(auditedNumbers(report)).toEqual([0, 1, 2])
    for (const { mode, rdev } of report.fds) {
      expect(mode & constants.S_IFMT).toBe(constants.S_IFCHR)
      expect(rdev).toBe(String(statSync('/dev/null', { bigint: true }).rdev))
    }
  })
})

test('a sparse map arrives exactly, on each way to start and to close [B016, P-1, I-2]', async () => {
  const [a, b, c] = [openFile(), openFile(), openFile()]
  const fds = { 12: { hostFd: a.fd }, 40: { hostFd: b.fd }, 900: { hostFd: c.fd } }
  const check = async () => {
    const report = await audit({ fds })
    expect(auditedNumbers(report)).toEqual([0, 1, 2, 12, 40, 900])
    expect(report.fds.slice(3).map(({ ino }) => ino)).toEqual([a.ino, b.ino, c.ino])
    expect(report.fds.map(({ fdflags }) => fdflags)).toEqual([0, 0, 0, 0, 0, 0])
  }
  await onEachWay(check)
  await withHooks({ noCloseRange: true }, check)
})

test('the highest number below the hard limit can be had, and the limit itself is refused [B016]', async () => {
  const hard = connectedAddon().limit(RLIMIT_NOFILE)[1]
  const report = await audit({ fds: { [hard - 1]: 'null' }, args: ['audit', '1', String(hard + 1)] })
  expect(auditedNumbers(report)).toEqual([0, 1, 2, hard - 1])
  expect(report.rlimits['nofile']).toEqual([1024, hard])

  const refused = await aftermath(() => audit({ fds: { [hard]: 'null' } }))
  expect(refused).toMatchObject({
    error: { code: 'ERR_INVALID_SPEC', details: { field: `fds.${hard}` }, cause: { code: 'EBADF' } },
    starts: 0,
    fds: [],
    children: [],
  })
})

test('one file on two numbers, and on three, takes what all of them write [B002]', async () => {
  for (const more of [{}, { 7: true }]) {
    const file = openFile('a')
    const source = { hostFd: file.fd }
    const fds: Record<number, FdSource> = { 1: source, 2: source }
    if (7 in more) fds[7] = source
    const child = await spawn({ program: '/bin/sh', args: ['-c', 'echo out; echo err >&2'], env: {}, fds })
    expect((await child.wait()).code).toBe(0)
    expect(readFileSync(file.path, 'utf8')).toBe('out\nerr\n')
    writeSync(file.fd, 'host\n')
    expect(readFileSync(file.path, 'utf8')).toBe('out\nerr\nhost\n')
  }
})

test('a descriptor at its own number is there, and stays close-on-exec in the host [B003, M-04]', async () => {
  const { fd, ino } = openFile()
  await onEachWay(async () => {
    const before = hostView(fd)
    const report = await audit({ fds: { [fd]: { hostFd: fd } } })
    expect(report.fds.find((entry) => entry.fd === fd)).toMatchObject({ ino, fdflags: 0 })
    expect(hostView(fd)).toBe(before)
  })
  const other = spawnSync(fixtureChild(), ['fds'], { encoding: 'utf8' }).stdout
  expect(other.split('\n').some((line) => line.startsWith(`${fd} `))).toBe(false)
})

test('a target that is by chance a number of the start’s own gets its descriptor all the same [B003]', async () => {
  const { fd, ino } = openFile()
  // The start's own copies take the lowest free numbers: these.
  const targets = Array.from({ length: 16 }, (_, index) => fd + 1 + index)
  await onEachWay(async () => {
    const { fds } = await audit({ fds: Object.fromEntries(targets.map((target) => [target, { hostFd: fd }])) })
    const found = fds.slice(3).map((entry) => [entry.fd, entry.ino, entry.fdflags])
    expect(found).toEqual(targets.map((target) => [target, ino, 0]))
  })
})

test('descriptors that change places arrive at each other’s numbers [B003, P-1]', async () => {
  const files = [openFile(), openFile(), openFile()]
  const numbers = files.map(({ fd }) => fd)
  const fds = Object.fromEntries(files.map(({ fd }, index) => [fd, { hostFd: numbers[(index + 1) % 3] as number }]))
  await onEachWay(async () => {
    const report = await audit({ fds })
    const found = numbers.map((number) => report.fds.find(({ fd }) => fd === number)?.ino)
    expect(found).toEqual(files.map((_, index) => files[(index + 1) % 3]?.ino))
  })
})

test('a descriptor of the caller is the same after good starts, failed ones and the handle’s end [B017]', async () => {
  const { fd } = openFile('r+', 'some content')
  readSync(fd, Buffer.alloc(4))
  const before = hostView(fd)
  expect(before).toContain('pos:\t4')
  for (let round = 0; round < rounds(10); round++) {
    const good = await spawn({ program: '/bin/true', env: {}, fds: { 5: { hostFd: fd } } })
    expect(hostView(fd)).toBe(before)
    await good[Symbol.asyncDispose]()
    const { error } = await aftermath(() => spawn({ program: '/nonexistent', env: {}, fds: { 5: { hostFd: fd } } }))
    expect(error.details).toMatchObject({ stage: 'exec' })
    expect(hostView(fd)).toBe(before)
  }
  globalThis.gc?.()
  expect(hostView(fd)).toBe(before)
})

test('a child gets what a number meant at the call, also when it is closed and reused at once [B017]', async () => {
  const path = join(tmpFolder(), 'given')
  writeFileSync(path, 'given')
  const fd = openSync(path, 'r')
  const started = output(['cat', '5', '1'], { fds: { 2: 'null', 5: { hostFd: fd } } })
  closeSync(fd)
  openPath('/dev/null')
  expect(await started).toBe('given')
})

test('two numbers that are the same share one description, through a chain in any order [X-04]', async () => {
  const fds = { 9: { sameAs: 4 }, 4: { sameAs: 7 }, 7: { bytes: Buffer.from('content') } } as const
  await onEachWay(async () => {
    const report = await audit({ fds })
    const [four, seven, nine] = [4, 7, 9].map((fd) => report.fds.find((entry) => entry.fd === fd))
    expect(four).toMatchObject({ ino: seven?.ino, dev: seven?.dev })
    expect(nine).toMatchObject({ ino: seven?.ino, dev: seven?.dev })
  })
  // The offset belongs to the description: after one has read it all there is nothing left for the other.
  expect(await output(['cat', '9', '1', '--', 'cat', '4', '1'], { fds: { ...fds, 2: 'null' } })).toBe('content')
})

test('with 2 the same as 1 both write into one pipe, in the order of their writes [X-04]', async () => {
  const args = Array.from({ length: 20 }, (_, i) => ['text', `${i} `, String(1 + (i % 2)), '--']).flat()
  const child = await spawn({
    program: fixtureChild(),
    args: [...args, 'exit'],
    env: {},
    fds: { 1: capture({ headBytes: 1000 }), 2: { sameAs: 1 } },
  })
  const { logs } = await child.wait()
  expect(logs[1]?.text()).toBe(Array.from({ length: 20 }, (_, i) => `${i} `).join(''))
  expect(Object.keys(logs)).toEqual(['1'])
  expect(child.log(2).snapshot()).toBe(logs[1])
})

test('1 and 2 captured apart are two pipes [X-04, M-02]', async () => {
  const { fds } = await audit({ fds: { 2: capture({ headBytes: 10 }) } })
  const [out, err] = [fds[1], fds[2]]
  expect(out?.ino).not.toBe(err?.ino)
  for (const entry of [out, err]) expect((entry?.mode ?? 0) & constants.S_IFMT).toBe(constants.S_IFIFO)
})

test('a closed standard number is closed, and a later one is not moved there [P-1, X-03]', async () => {
  await onEachWay(async () => {
    const report = await auditIntoFile({ fds: { 0: 'closed', 2: 'closed', 5: 'null' } })
    expect(auditedNumbers(report)).toEqual([1, 5])
  })
})

test('a non-blocking description of the host is refused, or shared when asked for [P-1]', async () => {
  const { fd } = openFile(constants.O_RDWR | constants.O_NONBLOCK)
  const refused = await aftermath(() => audit({ fds: { 5: { hostFd: fd } } }))
  expect(refused).toMatchObject({
    error: { code: 'ERR_INVALID_SPEC', details: { field: 'fds.5.hostFd' } },
    starts: 0,
    fds: [],
  })
  const { fds } = await audit({ fds: { 5: { hostFd: fd, nonblock: 'keep' } } })
  expect((fds[3]?.statusflags ?? 0) & constants.O_NONBLOCK).toBe(constants.O_NONBLOCK)
  expect(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')).toMatch(/flags:\t0?2?\d*4\d{3}/)
})

test('no source gives the child a non-blocking description [P-1, B036]', async () => {
  const input = pipe('childReads')
  const path = join(tmpFolder(), 'log')
  const { fds } = await audit({
    fds: {
      0: 'pipe',
      2: 'pipe',
      3: input.child,
      4: { bytes: Buffer.from('x') },
      5: { file: path, mode: 'append' },
      6: { hostFd: openFile().fd },
    },
  })
  expect(fds.map(({ fd, statusflags }) => [fd, statusflags & constants.O_NONBLOCK])).toEqual(
    [0, 1, 2, 3, 4, 5, 6].map((fd) => [fd, 0]),
  )
  input.host.close()
})
