/** However a host ends, the children that belong to their handles end with it. */
import { expect, test } from 'vitest'
import type { HostResult } from '../../support/host.js'
import { runHost, startHost } from '../../support/host.js'
import { alive, groupMembers } from '../../support/process-table.js'
import { until, within } from '../../support/until.js'
import { checkedPid, endMembers, gone, hostTools } from './children.js'


/** Two children, each with a member and ignoring what can be ignored; says their numbers. */
const twoGroups = `${hostTools}
  const script = 'trap "" TERM INT HUP; sleep 60 & echo up; while :; do sleep 60; done';
  const start = () => shell(script, { fds: { 1: capture({ headBytes: 9 }) } });
  const children = await Promise.all([start(), start()]);
  for (const child of children) await until('up', () => child.log(1).snapshot().totalBytes === 3);
  say(children.map((child) => child.pid));
`

const pidsIn = (result: HostResult): number[] => (JSON.parse(result.stdout) as number[]).map(checkedPid)

const doors: [name: string, end: string, outcome: object][] = [
  ['process.exit', 'process.exit(7)', { code: 7, signal: null }],
  ['an uncaught exception', "setImmediate(() => { throw new Error('lost') })", { code: 1, signal: null }],
  ['an unhandled rejection', "Promise.reject(new Error('lost'))", { code: 1, signal: null }],
  ['a normal end', 'for (const child of children) child.unref()', { code: 0, signal: null }],
  ['process.reallyExit', 'process.reallyExit(3)', { code: 3, signal: null }],
]

test('a host that ends by a door of its own leaves no process of its children\'s groups [M-45, P-7]', async () => {
  const ends = doors.map(async ([name, end, outcome]) => {
    const result = await runHost(`${twoGroups}\n${end}`)
    expect(result, name).toMatchObject(outcome)
    for (const pid of pidsIn(result)) await until(`no group ${pid} after ${name}`, () => groupMembers(pid).length === 0)
  })
  await Promise.all(ends)
})

test('a host that a signal ends takes its leaders along, and says nothing of it to JS [M-45, P-7, B090]', async () => {
  const ends = (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const).map(async (signal) => {
    // No listener was added, so the host dies as it would without us.
    const result = await runHost(`${twoGroups}\nprocess.kill(process.pid, '${signal}'); await pause(20000)`)
    expect(result).toMatchObject({ code: null, signal })
    for (const pid of pidsIn(result)) {
      await gone(pid)
      // Without a guard members stay when no code of ours runs: the receipt's note says so.
      await endMembers('sleep', ...groupMembers(pid))
    }
  })
  await Promise.all(ends)
})

test('a host that is killed during a start leaves no leader [P-7, B086]', async () => {
  const host = startHost(`${hostTools}
    // The first start also makes children that try what the kernel offers.
    await (await shell('exit 0')).wait();
    addon().setTestHooks({ delayBeforeExecMs: 400 });
    const start = shell('exec sleep 60');
    const [pid] = await until('the child', () => { const pids = childrenOfHost(); return pids.length > 0 && pids });
    say(Number(pid));
    await start;`)
  const said = await new Promise<Buffer>((resolve) => host.stdout?.once('data', resolve))
  const pid = checkedPid(Number(said))
  expect(alive(pid)).toBe(true)
  host.kill('SIGKILL')
  await gone(pid)
})

test('a user\'s own exit listener still has the child to ask [P-7, P-8]', async () => {
  const { stdout, code } = await runHost(`${hostTools}
    const child = await shell('exec sleep 60');
    process.on('exit', () => say({ status: child.tryWait() }));
    process.exit(5);`)
  expect(code).toBe(5)
  expect(JSON.parse(stdout)).toEqual({ status: { code: null, signal: 'SIGKILL', coreDumped: false, lost: false } })
})

test('the host\'s exit waits for the leaders that it killed [P-5, P-7]', async () => {
  const { stdout, code } = await runHost(`${hostTools}
    const children = await Promise.all(Array.from({ length: 40 }, () => shell('exec sleep 60')));
    const start = performance.now();
    process.on('exit', () => {
      const states = children.map(({ pid }) => stateOf(pid) ?? 'reaped');
      say({ ms: performance.now() - start, states: [...new Set(states)] });
    });
    process.exit(0);`)
  expect(code).toBe(0)
  const said = JSON.parse(stdout) as { ms: number; states: string[] }
  expect(said.ms).toBeLessThan(within(400))
  // X: in the middle of its reaping.
  for (const state of said.states) expect(state).toBeOneOf(['Z', 'X', 'reaped'])
})
