/** One signal at a time: to the leader, to the group, and to nobody else. None of them escalates. */
import { readFileSync } from 'node:fs'
import type { Child } from 'exactspawn'
import { expect, test } from 'vitest'
import { hostSays } from '../../support/host.js'
import { alive, groupMembers, processFacts } from '../../support/process-table.js'
import { until, within } from '../../support/until.js'
import { announced, fixture, gone, hostTools, logged, shell } from './children.js'

// script(1) takes one string for a command: the host's words come to it in the environment.
const words = 'export NODE="$1" FLAG="$2" BODY="$3"; exec script -qfec \'exec "$NODE" "$FLAG" "$BODY"\' /dev/null'
const onTerminal = ['/bin/sh', '-c', words, 'sh']

const exited = (child: Child) => until(`the exit of ${child.pid}`, () => child.tryWait())

test('a signal that does not exist is refused by name, and nothing is sent [M-40]', async () => {
  await using child = await shell('exec sleep 60')
  for (const name of ['SIGNONE', 'INT', 'toString', 9]) {
    expect(() => child.signal(name as NodeJS.Signals)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_SIGNAL', details: { signal: String(name) } }),
    )
    await expect(child.terminate({ firstSignal: name as NodeJS.Signals })).rejects.toMatchObject({
      code: 'ERR_INVALID_SIGNAL',
    })
  }
  expect(child.tryWait()).toBeNull()
})

test('an interrupt reaches all of a group, once each, and ends nothing by itself [M-40, X-02]', async () => {
  await using child = await fixture('trap INT int; -- fork-pause 2 -- pause')
  const members = await announced(child, 2)
  await logged(child, 'ready')
  expect(child.interrupt()).toBe(true)
  await logged(child, 'int;', 3)
  expect([child.pid, ...members].filter(alive)).toHaveLength(3)
  expect(child.tryWait()).toBeNull()
})

test('a kill ends the group whatever it ignores [M-41]', async () => {
  await using child = await fixture('ignore INT TERM HUP -- fork-pause 2 -- pause')
  const members = await announced(child, 2)
  expect(child.interrupt()).toBe(true)
  expect(child.kill()).toBe(true)
  await gone(child.pid, ...members)
  expect(await child.wait()).toMatchObject({ code: null, signal: 'SIGKILL', endedBy: 'kill', escalated: false })
})

test('a signal to the leader reaches no member [M-40]', async () => {
  await using child = await fixture('trap USR1 usr; -- fork-pause 2 -- trap USR1 leader; -- pause')
  await announced(child, 2)
  await logged(child, 'ready')
  expect(child.signal('SIGUSR1')).toBe(true)
  await logged(child, 'leader;')
  // Sent later to all: had the first reached the members, each would have said it twice.
  expect(child.interrupt()).toBe(true)
  const exit = await child.wait()
  expect(exit.signal).toBe('SIGINT')
  expect(exit.logs[1]?.text()).not.toContain('usr;')
})

test('after the exit nothing is sent, and each call says so [M-40, B069]', async () => {
  for (const guard of [false, true]) {
    const child = await shell('exit 4', { guard })
    await exited(child)
    // The zombie is held until the group is settled; a guard counts for nobody.
    const before = [child.signal('SIGTERM'), child.kill()]
    const exit = await child.wait()
    const after = [child.signal('SIGTERM'), child.interrupt(), child.kill()]
    expect([...before, ...after]).toEqual([false, false, false, false, false])
    expect(exit).toMatchObject({ code: 4, endedBy: 'self' })
  }
})

test('an interrupt tells whether anybody is left in the group of a leader that has gone [M-40, B057]', async () => {
  await using alone = await shell('exit 0')
  await exited(alone)
  expect(alone.interrupt()).toBe(false)

  await using child = await fixture('ignore INT -- fork-pause 1 -- exit 0')
  await exited(child)
  const [member] = await announced(child, 1)
  expect(child.interrupt()).toBe(true)
  expect(alive(member as number)).toBe(true)
})

test('a kill after the exit still ends the members, and is no cause of the exit [M-41, B069]', async () => {
  await using child = await fixture('fork-pause 2 -- exit 6')
  await exited(child)
  const members = await announced(child, 2)
  expect(child.kill()).toBe(false)
  await gone(...members)
  expect(await child.wait()).toMatchObject({ code: 6, signal: null, endedBy: 'self' })
})

test('an interrupt leaves the background job of a script, and says so until the job has gone [B057]', async () => {
  await using child = await shell('sleep 63 & wait')
  // Not as soon as there are two: the copy of the shell ignores SIGINT only right before it becomes the job.
  const job = (pid: number): boolean => readFileSync(`/proc/${pid}/comm`, 'latin1') === 'sleep\n'
  await until('the job', () => groupMembers(child.pid).some(job))
  expect(child.interrupt()).toBe(true)
  const status = await exited(child)
  expect(status).toMatchObject({ code: null, signal: 'SIGINT' })
  expect(status).not.toHaveProperty('endedBy')
  expect(groupMembers(child.pid)).toHaveLength(1)
  expect(child.interrupt()).toBe(true)
  const exit = await child.terminate({ graceMs: 10_000 })
  expect(groupMembers(child.pid)).toEqual([])
  // The job takes SIGTERM, so no SIGKILL was needed.
  expect(exit).toMatchObject({ signal: 'SIGINT', endedBy: 'self', escalated: false })
  expect(child.interrupt()).toBe(false)
})

test('each way to end a child reaches four levels of shells [B071]', async () => {
  const levels = 'sh -c "sh -c \\"sleep 60; :\\"; :"; :'
  const ways: ((child: Child) => unknown)[] = [
    (child) => child.terminate({ graceMs: 300 }),
    (child) => child.kill(),
    (child) => child.interrupt(),
  ]
  for (const end of ways) {
    await using child = await shell(levels)
    await until('four levels', () => groupMembers(child.pid).length === 4)
    await end(child)
    await until('no process of the group', () => groupMembers(child.pid).length === 0)
  }
})

// In a session of its own: what went astray would end this host and nobody else.
test('calls on a child of the host\'s group reach that child alone [B072, X-01]', async () => {
  const [said] = await hostSays<Record<string, unknown>>(
    `${hostTools}
    const start = () => shell('exec sleep 60', { group: 'inherit' });
    const [sibling, ...children] = await Promise.all([start(), start(), start(), start()]);
    let refused;
    try { children[0].interrupt() } catch (error) { refused = error.code }
    const receipt = children[0].receipt.containment.processGroup;
    const ends = [await children[0].terminate({ graceMs: 10000 })];
    children[1].kill();
    ends.push(await children[1].wait());
    children[2].signal('SIGHUP');
    ends.push(await children[2].wait());
    const kept = !'ZX'.includes(stateOf(sibling.pid) ?? 'X');
    await sibling[Symbol.asyncDispose]();
    const signals = ends.map((end) => end.signal + ' ' + end.endedBy);
    say({ refused, receipt, signals, kept, left: childrenOfHost() });`,
    { wrapper: ['setsid'] },
  )
  expect(said).toEqual({
    refused: 'ERR_UNSUPPORTED',
    receipt: 'unsupported',
    signals: ['SIGTERM terminate', 'SIGKILL kill', 'SIGHUP self'],
    kept: true,
    left: [],
  })
})

test('a child that joined a group is ended alone, and with the group by its leader [X-01, M-42]', async () => {
  await using leader = await shell('exec sleep 60')
  const join = { group: { join: leader } }
  const [first, second] = await Promise.all([shell('exec sleep 60', join), shell('exec sleep 60', join)])
  expect(processFacts(first.pid)?.pgid).toBe(leader.pid)
  expect(() => first.interrupt()).toThrow(expect.objectContaining({ code: 'ERR_UNSUPPORTED' }))
  expect(await first.terminate({ graceMs: 10_000 })).toMatchObject({ signal: 'SIGTERM', endedBy: 'terminate' })
  expect(alive(leader.pid)).toBe(true)
  expect(alive(second.pid)).toBe(true)
  expect(leader.interrupt()).toBe(true)
  expect(await second.wait()).toMatchObject({ signal: 'SIGINT', endedBy: 'self' })
})

test('a child of a new group stops at the terminal, one of a new session has none [B059]', async () => {
  const [said] = await hostSays(
    `${hostTools}
    const stops = await shell('read x </dev/tty; echo got', { fds: { 2: 'null' } });
    const limit = await stops.wait({ timeoutMs: 300 }).catch((error) => error.code);
    const state = await until('stopped', () => stateOf(stops.pid) === 'T' && 'T');
    const start = performance.now();
    const end = await stops.terminate({ graceMs: 20000 });
    const fails = await shell('read x </dev/tty', { group: 'session', fds: { 2: capture({ headBytes: 999 }) } });
    const exit = await fails.wait();
    say({
      limit, state, end: end.signal, escalated: end.escalated, quick: performance.now() - start < ${within(2_500)},
      failed: exit.code !== 0, text: exit.logs[2].text(),
    });`,
    { wrapper: onTerminal },
  )
  expect(said).toMatchObject({
    limit: 'ERR_WAIT_TIMEOUT',
    state: 'T',
    end: 'SIGTERM',
    escalated: false,
    quick: true,
    failed: true,
    text: expect.stringContaining('No such device or address'),
  })
})
