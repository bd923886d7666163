/** What slips past a count: members that fork all the time, what a leaf holds, bytes that nobody saw the end of. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Exit } from 'exactspawn'
import { capture, spawn } from 'exactspawn'
import { expect, onTestFinished, test } from 'vitest'
import { connectedAddon } from '../../../lib/addon/events.js'
import { reaperAddon } from '../../support/fixture.js'
import { tmpFolder } from '../../support/tmp.js'
import { until, within } from '../../support/until.js'
import { announced, env, escapee, fixture } from './children.js'

// A member that is another process every fraction of a millisecond, and says at its end that it was let live.
const HOPPER = `
import os, signal, sys, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
    open(sys.argv[1], 'w').close()
    os._exit(0)
`

const hopper = (mark: string) => spawn({ program: '/usr/bin/python3', args: ['-c', HOPPER, mark], env })

// Its own end is the only proof that it is over; a pass over /proc can miss it.
const untilOver = () => {
  const end = performance.now() + 1_800
  return until('the time in which a hopper would end by itself', () => performance.now() > end)
}

test('a member that forks all the time is not left by a wait or a terminate, with any kernel [M-44, P-7]', async () => {
  onTestFinished(() => connectedAddon().setTestHooks({}))
  const folder = tmpFolder()
  const marks: string[] = []
  for (const hooks of [{}, { noGroupPidfd: true }]) {
    connectedAddon().setTestHooks(hooks)
    const rounds = Array.from({ length: 4 }, async (_, round) => {
      const mark = join(folder, `${Object.keys(hooks).length}-${round}`)
      marks.push(mark)
      const child = await hopper(mark)
      await until('the leader has gone', () => child.tryWait())
      await (round % 2 === 0 ? child.wait() : child.terminate({ graceMs: 50 }))
    })
    await Promise.all(rounds)
  }
  await untilOver()
  expect(marks.filter((mark) => existsSync(mark))).toEqual([])
})

test('a timeout of the lifetime ends members that outlive the leader, though nobody waits [P-5]', async () => {
  // The timeout comes after the leader's own end.
  const lifetime = { timeoutMs: within(250), graceMs: 50 }
  const child = await fixture('fork-ignore TERM 60000 -- exit 0', { lifetime })
  const [member] = (await announced(child, 1)) as [number]
  await until('the member has gone', () => !existsSync(`/proc/${member}`) || /^\d+ \(.*\) [ZX]/s.test(stat(member)))
  expect(await child.wait()).toMatchObject({ code: 0, endedBy: 'self' })
})

const stat = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return '0 (gone) X'
  }
}

test('a leaf is gone when its end is told, with what the child made in it [P-2]', async () => {
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))
  const parent = (mount as RegExpExecArray)[1] as string
  const child = await spawn({ program: '/bin/cat', env, fds: { 0: 'pipe' }, cgroup: { parent } })
  const own = readFileSync(`/proc/${child.pid}/cgroup`, 'utf8')
  const leaf = join(parent, (/^0::(.*)$/m.exec(own) as RegExpExecArray)[1] as string)
  mkdirSync(join(leaf, 'within'))
  child.kill()
  await child.wait()
  expect(existsSync(leaf)).toBe(false)
})

test('an aborted start that fails later leaves no leaf [P-2]', async () => {
  onTestFinished(() => connectedAddon().setTestHooks({}))
  const mount = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))
  const parent = join((mount as RegExpExecArray)[1] as string, `exactspawn-test-${process.pid}`)
  mkdirSync(parent)
  onTestFinished(() => rmdirSync(parent))
  connectedAddon().setTestHooks({ delayBeforeExecMs: within(200) })
  const abort = new AbortController()
  const starting = spawn({ program: '/nonexistent', env: {}, cgroup: { parent } }, { signal: abort.signal })
  const leaves = () => readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  await until('the leaf holds the unborn child', () =>
    leaves().some(({ name }) => readFileSync(join(parent, name, 'cgroup.procs'), 'utf8') !== ''),
  )
  abort.abort()
  await expect(starting).rejects.toMatchObject({ code: 'ERR_ABORTED' })
  await until('the leaf has gone', () => leaves().length === 0)
})

test('what a filter withholds when the drain deadline comes is counted as at an end [M-24, X-13]', async () => {
  const fds = { 1: capture({ headBytes: 100 }) }
  const verbs = 'setsid-and-hold 1 20000 -- text SECR -- exit 0'
  const child = await fixture(verbs, { fds, drainMs: 100, secrets: ['SECRET-1'] })
  const error = (await child.wait().catch((thrown: unknown) => thrown)) as { exit: Exit }
  const [, holder] = /held (\d+)\n/.exec(error.exit.logs[1]?.text() ?? '') as RegExpExecArray
  escapee(Number(holder))
  expect(error).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE' })
  expect(error.exit.logs[1]?.text()).toBe(`held ${holder}\n[redacted]`)
  expect(error.exit.logs[1]).toMatchObject({ complete: false, totalBytes: `held ${holder}\nSECR`.length })
})

test('a copy of the host that leaves by exit(3) ends no child [P-10]', async () => {
  const addon = { exports: {} as { forkAndExit(): boolean } }
  process.dlopen(addon, reaperAddon())
  const child = await spawn({ program: '/bin/cat', env, fds: { 0: 'pipe' } })
  expect(addon.exports.forkAndExit()).toBe(true)
  expect(child.tryWait()).toBeNull()
  child.stdin?.end()
  expect(await child.wait()).toMatchObject({ code: 0, endedBy: 'self' })
})
