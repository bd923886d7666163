/** The guard: a process in the child's group that ends the group when the host is killed. */
import { spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { startHost } from '../../support/host.js'
import { alive, childrenOf, groupMembers, openFds, processFacts } from '../../support/process-table.js'
import { until, within } from '../../support/until.js'
import { announced, checkedPid, commandLine, env, fixture, gone, hostTools, logged, rounds, shell } from './children.js'

// A start does not wait until the guard has a name.
const guardOf = (pgid: number) =>
  until(`the guard of ${pgid}`, () => groupMembers(pgid).find((pid) => commandLine(pid).startsWith('xs-guard')))

test('a guard needs a group to guard and a host to outlive [P-7]', async () => {
  const spec = { program: '/bin/true', env, guard: true } as const
  for (const contradiction of [{ group: 'inherit' }, { owner: 'detached' }] as const) {
    await expect(spawn({ ...spec, ...contradiction })).rejects.toMatchObject({
      code: 'ERR_INVALID_SPEC',
      details: { field: 'guard' },
    })
  }
})

test('a guard is the host\'s, in the child\'s group, holds one pipe and counts for nobody [P-7, B053]', async () => {
  const child = await fixture('fork-pause 1 -- exit 0', { guard: true })
  await until('the exit', () => child.tryWait())
  const guard = await guardOf(child.pid)
  expect(processFacts(guard)?.ppid).toBe(process.pid)
  expect([...openFds(guard).values()].filter((target) => !target.includes('xs-guard'))).toEqual([
    expect.stringMatching(/^pipe:/),
  ])
  expect(child.receipt.controls).toContainEqual(expect.objectContaining({ control: 'guard', status: 'enforced' }))
  const exit = await child.wait()
  expect(exit).toMatchObject({ code: 0, groupLeft: 1, endedBy: 'self' })
  expect(alive(guard)).toBe(false)
  expect(childrenOf()).not.toContain(guard)
})

test('a guard bears every signal to the group that can be borne [P-7, M-40]', async () => {
  await using child = await fixture('ignore INT TERM HUP USR1 -- pause', { guard: true })
  await logged(child, 'ready')
  const guard = await guardOf(child.pid)
  expect(child.interrupt()).toBe(true)
  expect(await child.terminate({ graceMs: 50, killDeadlineMs: 5_000 })).toMatchObject({ escalated: true })
  await gone(guard)
})

test('a guarded child ends as any other does [P-7, P-8]', async () => {
  const trapped = await fixture('trap TERM bye 4 -- pause', { guard: true })
  await logged(trapped, 'ready')
  expect(await trapped.terminate({ graceMs: 10_000 })).toMatchObject({ code: 4, escalated: false, groupLeft: 0 })
  const killed = await shell('exec sleep 60', { guard: true })
  killed.kill()
  expect(await killed.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'kill', groupLeft: 0 })
  const failed = spawn({ program: '/none', env, guard: true })
  await expect(failed).rejects.toMatchObject({ code: 'ERR_SPAWN_FAILED', details: { stage: 'exec' } })
  const disposed = await shell('exec sleep 60', { guard: true })
  await disposed[Symbol.asyncDispose]()
  expect(childrenOf()).toEqual([])
})

/** A host that starts guarded children for ever and says the number of each as soon as it is known. */
const guardedHost = (hooks: object) => `${hostTools}
  addon().setTestHooks(${JSON.stringify(hooks)});
  say({ up: true });
  for (;;) {
    const child = await shell('sleep 60 & sleep 61 & exec sleep 62', { guard: true });
    say({ pid: child.pid });
  }`

async function killHostAfter(ms: number, hooks: object): Promise<number[]> {
  const host = startHost(guardedHost(hooks))
  let said = ''
  host.stdout?.on('data', (text: Buffer) => (said += text.toString()))
  await until('a host that is up', () => said.includes('up'))
  const seen = new Set<number>()
  // Also those whose start is under way, which the host cannot know of.
  const look = () => {
    for (const pid of childrenOf(host.pid)) if (processFacts(pid)?.pgid === pid) seen.add(checkedPid(pid))
    return seen.size > 0
  }
  // Before its first start there is nothing that it could leave.
  await until('a start', look)
  const end = performance.now() + ms
  while (performance.now() < end) {
    look()
    await new Promise((resolve) => setImmediate(resolve))
  }
  look()
  host.kill('SIGKILL')
  await new Promise((resolve) => host.once('exit', resolve))
  return [...seen]
}

test('a host that is killed at any moment leaves no member of a guarded group [P-7]', async () => {
  let groups = 0
  for (let round = 0; round < rounds(5); round++) {
    const pgids = await killHostAfter((round * 5) % 21, {})
    groups += pgids.length
    for (const pgid of pgids) await until(`the end of group ${pgid}`, () => groupMembers(pgid).length === 0)
  }
  expect(groups).toBeGreaterThan(0)
})

test('a host that is killed during a slow exec leaves no member of a guarded group [P-7]', async () => {
  const pgids = await killHostAfter(30, { delayBeforeExecMs: within(300) })
  expect(pgids).toHaveLength(1)
  await until('no member', () => groupMembers(pgids[0] as number).length === 0)
})

test('members of a guarded group that outlived their leader end with the host [P-7]', async () => {
  for (const hooks of [{}, { noMemfdExec: true }]) {
    const host = startHost(`${hostTools}
      addon().setTestHooks(${JSON.stringify(hooks)});
      const child = await shell('trap "" HUP; sleep 60 & sleep 61 & exit 0', { guard: true });
      await until('the exit', () => child.tryWait());
      say(child.pid);
      await pause(30000);`)
    const said = await new Promise<string>((resolve) => host.stdout?.once('data', (text) => resolve(String(text))))
    const pgid = checkedPid(Number(said))
    const members = groupMembers(pgid)
    expect(members.length).toBe(3)
    host.kill('SIGKILL')
    await gone(...members)
  }
})

test('a host that ends by process.exit leaves neither guard nor member [P-7, M-45]', async () => {
  const host = startHost(`${hostTools}
    const child = await shell('sleep 60 & exec sleep 61', { guard: true });
    say(child.pid);
    process.exit(0);`)
  const said = await new Promise<string>((resolve) => host.stdout?.once('data', (text) => resolve(String(text))))
  const pgid = checkedPid(Number(said))
  await until('no member', () => groupMembers(pgid).length === 0)
})
