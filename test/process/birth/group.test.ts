/** Which group a child is born into, from its first instruction on. */
import { spawn } from 'exactspawn'
import type { Child } from 'exactspawn'
import { expect, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { childrenOf, groupMembers, processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import { aftermath, onEachWay, rounds } from './starts.js'

const own = processFacts(process.pid) as NonNullable<ReturnType<typeof processFacts>>
const paused = { program: fixtureChild(), args: ['pause'], env: {} }

test('a child leads a group of its own, in the host’s session, unless told otherwise [M-42, X-01]', async () => {
  await onEachWay(async () => {
    for (const spec of [{}, { group: 'new' } as const]) {
      const { pid, pgid, sid, ppid } = await audit(spec)
      expect({ pgid, sid, ppid }).toEqual({ pgid: pid, sid: own.sid, ppid: process.pid })
      expect(pgid).not.toBe(own.pgid)
    }
  })
})

test('a child in a session of its own leads that and its group [M-42, X-01]', async () => {
  await onEachWay(async () => {
    const { pid, pgid, sid } = await audit({ group: 'session' })
    expect({ pgid, sid }).toEqual({ pgid: pid, sid: pid })
  })
})

test('a child in the host’s group is a member of that, and group signals are refused [X-01, B072]', async () => {
  await onEachWay(async () => {
    const child = await spawn({ ...paused, group: 'inherit' })
    expect(processFacts(child.pid)).toMatchObject({ pgid: own.pgid, sid: own.sid })
    expect(() => child.interrupt()).toThrow(expect.objectContaining({ code: 'ERR_UNSUPPORTED' }))
    expect(child.receipt.containment.processGroup).toBe('unsupported')
    expect(child.kill()).toBe(true)
    expect(await child.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'kill' })
  })
})

test('a child joins the group of another, ends alone and with its group’s leader [M-42, X-01]', async () => {
  await onEachWay(async () => {
    const leader = await spawn(paused)
    const member = await spawn({ ...paused, group: { join: leader } })
    expect(processFacts(member.pid)).toMatchObject({ pgid: leader.pid })
    expect(member.receipt.group).toBe('join')
    expect(() => member.interrupt()).toThrow(expect.objectContaining({ code: 'ERR_UNSUPPORTED' }))
    const another = await spawn({ ...paused, group: { join: leader } })
    expect(groupMembers(leader.pid).sort()).toEqual([leader.pid, member.pid, another.pid].sort())
    member.kill()
    expect((await member.wait()).signal).toBe('SIGKILL')
    expect([leader.tryWait(), another.tryWait()]).toEqual([null, null])
    leader.kill()
    expect((await another.wait()).signal).toBe('SIGKILL')
    expect((await leader.wait()).endedBy).toBe('kill')
  })
})

test('a child that has exited cannot be joined, whether it was waited for or not [M-42, X-01]', async () => {
  const gone = async (leader: Child) => {
    const spec = { ...paused, group: { join: leader }, fds: { 1: 'pipe' } } as const
    const { error, starts, fds } = await aftermath(() => spawn(spec))
    expect([error.name, error.code, starts, fds]).toEqual(['LifecycleError', 'ERR_PROCESS_GONE', 0, []])
    expect(error.details).toEqual({ pid: leader.pid })
  }
  const waited = await spawn({ program: '/bin/true', env: {} })
  await waited.wait()
  await gone(waited)
  const seen = await spawn({ program: '/bin/true', env: {} })
  await until('the exit', () => seen.tryWait() !== null)
  await gone(seen)
  await seen.wait()
})

test('a child without a group of its own has none to join [X-01]', async () => {
  const leader = await spawn(paused)
  const members = [await spawn({ ...paused, group: 'inherit' }), await spawn({ ...paused, group: { join: leader } })]
  for (const member of members) {
    const { error, starts } = await aftermath(() => spawn({ ...paused, group: { join: member } }))
    expect([error.code, error.details?.['field'], starts]).toEqual(['ERR_INVALID_SPEC', 'group.join', 0])
  }
  for (const child of [...members, leader]) await child[Symbol.asyncDispose]()
})

test('a group that cannot be entered fails the start at setpgid, and nothing runs [B064, M-42]', async () => {
  const session = await spawn({ ...paused, group: 'session' })
  // Only what is ours: the group is that of the whole test run, in which other files start and end hosts.
  const ours = () => groupMembers(own.pgid).filter((pid) => childrenOf().includes(pid))
  await onEachWay(async () => {
    const { error, fds, children } = await aftermath(() => spawn({ ...paused, group: { join: session } }))
    expect(error.details).toMatchObject({ stage: 'setpgid', syscall: 'setpgid', field: 'group' })
    expect([error.cause?.code, fds, children]).toEqual(['EPERM', [], []])
  })
  expect(ours()).toEqual([])
  expect(session.tryWait()).toBe(null)
  await session[Symbol.asyncDispose]()
})

test('an end that is asked for in the turn of the start always reaches the group [B064]', async () => {
  for (let round = 0; round < rounds(25); round++) {
    const args = ['-c', 'sleep 60 & sleep 60']
    const child = await spawn({ program: '/bin/sh', args, env: { PATH: '/usr/bin:/bin' } })
    const { result, ms } = await timed(() => child.terminate({ firstSignal: 'SIGTERM' }))
    expect(result.signal).toBe('SIGTERM')
    expect(ms).toBeLessThan(within(1_000))
    expect(groupMembers(child.pid)).toEqual([])
  }
})

test('the pid of a child is the real one, on its handle and in its receipt [X-06, M-42]', async () => {
  const child = await spawn(paused)
  expect(processFacts(child.pid)).toMatchObject({ ppid: process.pid, pgid: child.pid })
  expect(child.receipt.pid).toBe(child.pid)
  await child[Symbol.asyncDispose]()
})
