/** What outlives its leader: members of the group, and those that have left it. */
import type { Child, Exit } from 'exactspawn'
import { capture, spawn } from 'exactspawn'
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { alive, groupMembers, processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import { announced, endEscapee, endMembers, env, escapee, fixture, gone, shell } from './children.js'

const outcome = (child: Child) => child.wait().catch((error: unknown) => error as Error & { details: { exit: Exit } })

test('a wait kills what is left of the group before it waits for the logs [M-44, B048]', async () => {
  const child = await fixture('fork-and-hold 1 60000 -- text done -- exit 3', { drainMs: 5_000 })
  const { result, ms } = await timed(() => child.wait())
  const [holder] = (await announced(child, 1)) as [number]
  expect(alive(holder)).toBe(false)
  expect(result).toMatchObject({ code: 3, endedBy: 'self', groupLeft: 1 })
  expect(result.logs[1]).toMatchObject({ complete: true })
  expect(result.logs[1]?.text()).toContain('done')
  expect(ms).toBeLessThan(within(500))
})

test('an escapee that holds the output delays a wait by the drain\'s deadline and no more [B048]', async () => {
  const child = await fixture('setsid-and-hold 1 20000 -- text done -- exit 3', { drainMs: 200 })
  const exited = timed(() => until('the exit', () => child.tryWait()))
  const { result: error, ms } = await timed(() => outcome(child))
  expect((await exited).ms).toBeLessThan(within(150))
  expect(ms).toBeGreaterThanOrEqual(200)
  expect(ms).toBeLessThan(within(600))
  expect(error).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE', details: { streams: [1], deadlineMs: 200 } })
  const { exit } = (error as Error & { details: { exit: Exit } }).details
  expect(exit).toMatchObject({ code: 3, endedBy: 'self', groupLeft: 0 })
  expect(exit.logs[1]).toMatchObject({ complete: false })
  expect(exit.logs[1]?.text()).toContain('done')
  expect(child.tryWait()).toBe(exit)
  await expect(child.wait()).rejects.toBe(error)
  const [holder] = (await announced(child, 1)) as [number]
  expect(alive(holder)).toBe(true)
  endEscapee(holder, 'setsid-and-hold')
  await gone(holder)
})

test('two held streams share one deadline [B048]', async () => {
  const fds = { 1: capture({ headBytes: 999 }), 2: capture({ headBytes: 999 }) }
  const verbs = 'setsid-and-hold 1 20000 -- setsid-and-hold 2 20000 -- exit 3'
  const child = await fixture(verbs, { fds, drainMs: 250 })
  const { result, ms } = await timed(() => outcome(child))
  for (const holder of await announced(child, 2)) escapee(holder)
  expect(result).toMatchObject({ details: { streams: [1, 2], deadlineMs: 250 } })
  expect(ms).toBeGreaterThanOrEqual(250)
  expect(ms).toBeLessThan(within(475))
})

test('output that nobody holds adds no delay [B048]', async () => {
  const child = await shell('echo done; exit 3')
  await until('the exit', () => child.tryWait())
  const { result, ms } = await timed(() => child.wait())
  expect(result.logs[1]).toMatchObject({ complete: true })
  expect(ms).toBeLessThan(within(50))
})

test('helpers that a natural exit leaves are counted and killed [B053]', async () => {
  const child = await shell('sleep 60 >/dev/null 2>&1 & sleep 61 >/dev/null 2>&1 & exit 0')
  const exit = await child.wait()
  expect(exit).toMatchObject({ code: 0, groupLeft: 2, endedBy: 'self', escalated: false })
  expect(groupMembers(child.pid)).toEqual([])
})

test('helpers that are kept are counted and live on [B053]', async () => {
  const child = await fixture('fork-pause 2 -- exit 0', { leftovers: 'keep', drainMs: 50 })
  const exit = await outcome(child)
  const members = await announced(child, 2)
  // They hold the output: the drain ends without its end.
  expect(exit).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE', details: { exit: { code: 0, groupLeft: 2 } } })
  expect(members.filter(alive)).toHaveLength(2)
  for (const member of members) endEscapee(member, 'fork-pause')
  await gone(...members)
})

test('the leader is reaped though members are kept, and a kill says that it has exited [B053, M-46]', async () => {
  const child = await spawn({ program: '/bin/sh', args: ['-c', 'sleep 60 & exit 0'], env, leftovers: 'keep' })
  expect(await child.wait()).toMatchObject({ code: 0, groupLeft: 1 })
  expect(processFacts(child.pid)).toBeUndefined()
  const members = groupMembers(child.pid)
  expect(members).toHaveLength(1)
  expect([child.kill(), child.interrupt(), child.signal('SIGTERM')]).toEqual([false, false, false])
  expect(members.filter(alive)).toHaveLength(1)
  await endMembers('sleep', ...members)
})

test('without a cgroup nothing claims to hold what leaves the group [B054]', async () => {
  const child = await fixture('setsid-and-hold 0 20000 -- exit 0')
  expect(child.receipt.containment).toEqual({
    processGroup: 'enforced',
    cgroup: 'unsupported',
    completeProcessTree: 'unsupported',
  })
  expect(Object.isFrozen(child.receipt.containment)).toBe(true)
  const [held] = (await announced(child, 1)) as [number]
  escapee(held)
  // The holder is told before the program ends.
  await until('the exit', () => child.tryWait())
  child.kill()
  expect(await child.wait()).toMatchObject({ code: 0, groupLeft: 0 })
  expect(alive(held)).toBe(true)
})

test('a child of the host\'s group has nothing that holds its descendants [B054, X-01]', async () => {
  await using child = await shell('exec sleep 60', { group: 'inherit' })
  expect(child.receipt.containment).toEqual({
    processGroup: 'unsupported',
    cgroup: 'unsupported',
    completeProcessTree: 'unsupported',
  })
})

const leavesOf = (parent: string) => readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())

/** Where the second hierarchy is mounted: a folder of a test's own beneath it. */
function cgroupParent(): string {
  const mount = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((line) => / - cgroup2 /.test(line))
    ?.split(' ')[4]
  if (mount === undefined) throw new Error('no cgroup2 is mounted here')
  const parent = join(mount, `exactspawn-test-${process.pid}-${performance.now()}`)
  mkdirSync(parent)
  onTestFinished(async () => {
    await until('an empty cgroup', () => leavesOf(parent).length === 0)
    rmdirSync(parent)
  })
  return parent
}

test('what leaves the group dies with its cgroup, and the leaf is removed [B054]', async () => {
  const parent = cgroupParent()
  const bystander = await fixture('setsid-and-hold 1 20000 -- pause')
  const [stranger] = (await announced(bystander, 1)) as [number]
  escapee(stranger)
  for (const end of ['wait', 'kill', 'terminate', 'dispose', 'timeout'] as const) {
    // The timeout comes after both holders have been told.
    const lifetime = end === 'timeout' ? { timeoutMs: within(250), graceMs: 50 } : {}
    const verbs = `setsid-and-hold 1 60000 -- setsid-and-hold 1 60000 -- ${end === 'wait' ? 'exit 0' : 'pause'}`
    const child = await fixture(verbs, { cgroup: { parent }, lifetime })
    const held = await announced(child, 2)
    expect(child.receipt.containment).toEqual({
      processGroup: 'enforced',
      cgroup: 'enforced',
      completeProcessTree: 'unsupported',
    })
    if (end === 'kill') child.kill()
    else if (end === 'terminate') await child.terminate({ graceMs: 2_000 })
    else if (end === 'dispose') await child[Symbol.asyncDispose]()
    if (end !== 'dispose') expect((await child.wait()).logs[1], end).toMatchObject({ complete: true })
    expect(held.filter(alive), end).toEqual([])
    await until(`no leaf after ${end}`, () => leavesOf(parent).length === 0)
  }
  expect(alive(stranger)).toBe(true)
  bystander.kill()
  await outcome(bystander)
})

test('containment is complete only for a child that cannot write to the cgroup tree [B054]', async () => {
  const parent = cgroupParent()
  const ids = { uid: 65534, gid: 65534, groups: [] }
  const complete = async (spec: object) => {
    const child = await spawn({ program: '/bin/true', env, cgroup: { parent }, ...spec })
    await child.wait()
    return child.receipt.containment.completeProcessTree
  }
  expect(await complete({})).toBe('unsupported')
  expect(await complete(ids)).toBe('unsupported')
  expect(await complete({ noNewPrivs: true })).toBe('unsupported')
  expect(await complete({ ...ids, noNewPrivs: true })).toBe('enforced')
})

test('a cgroup that cannot be had fails the start and leaves no leaf [B054]', async () => {
  const parent = cgroupParent()
  const spec = { program: '/bin/true', env }
  await expect(spawn({ ...spec, cgroup: { parent: join(parent, 'none') } })).rejects.toMatchObject({
    code: 'ERR_SPAWN_FAILED',
    details: { stage: 'cgroup', field: 'cgroup.parent' },
  })
  await expect(spawn({ ...spec, program: '/none', cgroup: { parent } })).rejects.toMatchObject({
    code: 'ERR_SPAWN_FAILED',
    details: { stage: 'exec' },
  })
  await until('no leaf', () => leavesOf(parent).length === 0)
})
