/** A start that fails leaves nothing, whatever fails and however often. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SpawnSpec } from 'exactspawn'
import { capture, pipe, spawn } from 'exactspawn'
import { expect, test } from 'vitest'
import { dist, fixtureChild } from '../../support/fixture.js'
import { hostSays, startHost } from '../../support/host.js'
import { allProcesses, childrenOf, foreignThreads, openFds, processFacts } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { until, within } from '../../support/until.js'
import { aftermath, failure, onEachWay, rounds, withHooks } from './starts.js'

/** One failing start of each sort: before the clone, in the child, at the exec. */
function failingSpecs(marker: string): Record<string, Partial<SpawnSpec>> {
  const program = fixtureChild()
  const args = ['marker', marker]
  return {
    'a missing program': { program: '/nonexistent' },
    'a missing directory': { program, args, cwd: '/nonexistent' },
    'a NUL in the environment': { program, args, env: { A: '\0' } },
    'a bad map': { program, args, fds: { 3: { hostFd: 1e6 } } },
    'a missing file': { program, args, fds: { 3: { file: '/nonexistent/x', mode: 'write' } } },
    'a limit beyond the system’s': { program, args, limits: { nofile: 2 ** 40 } },
    'processors that are not there': { program, args, affinity: [8191] },
    'too many groups': { program, args, groups: Array.from({ length: 65537 }, (_, i) => i) },
    'a missing cgroup': { program, args, cgroup: { parent: '/nonexistent' } },
  }
}

const fullMap = () => ({ 0: 'pipe', 1: capture({ headBytes: 1 }), 2: 'pipe', 9: { bytes: Buffer.from('x') } }) as const

test('a failed start leaves no descriptor, process, thread or listener, and nothing ran [P-2, B010]', async () => {
  const marker = join(tmpFolder(), 'ran')
  const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)])
  await onEachWay(async () => {
    for (const [sort, spec] of Object.entries(failingSpecs(marker))) {
      const before = { threads: foreignThreads(), listeners: listeners() }
      const after = await aftermath(() =>
        spawn({ program: '/bin/true', env: {}, guard: true, ...spec, fds: { ...fullMap(), ...spec.fds } }),
      )
      expect([sort, after.fds, after.children]).toEqual([sort, [], []])
      expect({ threads: foreignThreads(), listeners: listeners() }).toEqual(before)
    }
  })
  expect(existsSync(marker)).toBe(false)
})

test('after hundreds of failing starts and good ones the host has what it had before [B010, M-12, P-2]', async () => {
  const marker = join(tmpFolder(), 'ran')
  const count = { fds: openFds().size, threads: foreignThreads().length }
  for (let round = 0; round < rounds(15); round++) {
    for (const spec of Object.values(failingSpecs(marker))) {
      await failure(spawn({ program: '/bin/true', env: {}, ...spec, fds: { ...fullMap(), ...spec.fds } }))
    }
    const child = await spawn({ program: '/bin/true', env: {}, fds: fullMap() })
    child.stdin?.destroy()
    child.stderr?.destroy()
    await child.wait()
  }
  globalThis.gc?.()
  expect(foreignThreads()).toHaveLength(count.threads)
  // The end of a start is told before its last descriptors are closed.
  await until(`${count.fds} descriptors`, () => openFds().size === count.fds)
})

test('failing starts leave no zombie, seen from outside right after the last rejection [B030]', async () => {
  const body = `
    for (let i = 0; i < ${rounds(40)}; i++) {
      await spawn({ program: '/nonexistent', env: {} }).catch(() => {})
      await spawn({ program: '/bin/true', env: {}, cwd: '/nonexistent' }).catch(() => {})
      await spawn({ program: '/bin/true', env: {}, fds: { 5: { hostFd: 99 } } }).catch(() => {})
    }
    say('done')
    setInterval(() => {}, 1000)`
  const host = startHost(body)
  await new Promise((resolve) => host.stdout?.once('data', resolve))
  expect(allProcesses().filter(({ ppid }) => ppid === host.pid)).toEqual([])
  host.kill('SIGKILL')
  await new Promise((resolve) => host.once('close', resolve))
})

test('no zombie is left by a worker thread that ends with its failing starts on their way [B030]', async () => {
  const script = `
    const { spawn } = require(${JSON.stringify(dist)})
    for (let i = 0; i < 20; i++) spawn({ program: '/nonexistent', env: {} }).catch(() => {})
    setImmediate(() => process.exit())`
  const body = `
    const { Worker } = require('node:worker_threads')
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => new Worker(${JSON.stringify(script)}, { eval: true }).once('exit', resolve))
    }
    say('done')
    setInterval(() => {}, 1000)`
  const host = startHost(body)
  await new Promise((resolve) => host.stdout?.once('data', resolve))
  await until('no child of the host', () => childrenOf(host.pid).length === 0, within(1_000))
  host.kill('SIGKILL')
  await new Promise((resolve) => host.once('close', resolve))
})

test('a failed child runs no exit handler of the host: the one that ends all children among them [B032]', async () => {
  // Our own last door is an exit handler of the library: a failed child that ran it would kill this one.
  const child = await spawn({ program: fixtureChild(), args: ['pause'], env: {} })
  await onEachWay(async () => {
    for (let round = 0; round < rounds(10); round++) await failure(spawn({ program: '/nonexistent', env: {} }))
  })
  expect(child.tryWait()).toBe(null)
  expect(processFacts(child.pid)?.ppid).toBe(process.pid)
  await child[Symbol.asyncDispose]()
})

test('what the host has buffered is written once, whatever fails in between [B032]', async () => {
  const log = join(tmpFolder(), 'log')
  const body = `
    const fs = require('node:fs')
    process.on('exit', () => fs.appendFileSync(${JSON.stringify(log)}, 'exit '))
    const stream = fs.createWriteStream(${JSON.stringify(log)}, { flags: 'a' })
    stream.cork()
    stream.write('MARK ')
    for (let i = 0; i < ${rounds(20)}; i++) await spawn({ program: '/nonexistent', env: {} }).catch(() => {})
    await new Promise((resolve) => stream.end(resolve))
    say('done')`
  expect(await hostSays(body)).toEqual(['done'])
  expect(readFileSync(log, 'utf8')).toBe('MARK exit ')
})

test('a start that the host has no descriptors left for fails with its stage and leaves none [P-2, B079]', async () => {
  const body = `
    const fs = require('node:fs')
    const open = () => fs.readdirSync('/proc/self/fd').length
    const attempt = () => {
      const requests = pipe('childReads')
      const sources = { 4: { hostFd: 0 }, 5: { bytes: Buffer.from('x') }, 6: capture({ headBytes: 1 }) }
      const file = { file: '/dev/null', mode: 'read' }
      const fds = { 0: 'pipe', 1: 'pipe', 2: 'pipe', 3: requests.child, ...sources, 7: file }
      const consumed = () => requests.child.consumed
      return spawn({ program: '/bin/true', env: {}, fds, guard: true }).then(
        async (child) => {
          child.stdin.destroy()
          child.stdout.destroy()
          child.stderr.destroy()
          await child.wait()
          requests.host.close()
          return 'started'
        },
        ({ code, details, cause }) => {
          requests.host.close()
          return [code, details.stage ?? '', cause.code, consumed()].join(' ')
        })
    }
    await attempt()
    await attempt()
    let before = open()
    // The end of a start is told before its last descriptors are closed, that of the first ones too.
    const settled = async () => {
      const end = performance.now() + ${within(1_000)}
      while (open() > before && performance.now() < end) await new Promise(setImmediate)
      before = Math.min(before, open())
      return open()
    }
    const outcomes = new Set()
    const kept = []
    // One less to be had each time, until nothing can be made at all.
    for (let room = 40; room >= 2; room--) {
      const held = []
      try { for (;;) held.push(fs.openSync('/dev/null', 'r')) } catch {}
      for (const fd of held.splice(0, room)) fs.closeSync(fd)
      const outcome = await attempt().catch((error) => error.code)
      for (const fd of held) fs.closeSync(fd)
      outcomes.add(outcome)
      if ((await settled()) !== before) kept.push([room, outcome, open() - before])
    }
    say({ outcomes: [...outcomes].sort(), kept })`
  const [said] = await hostSays<{ outcomes: string[]; kept: unknown[] }>(body, {
    wrapper: ['/usr/bin/prlimit', '--nofile=200:200'],
  })
  expect(said?.kept).toEqual([])
  expect(said?.outcomes).toContain('started')
  expect(said?.outcomes).toContain('ERR_PIPE_CREATE_FAILED  EMFILE true')
  for (const outcome of said?.outcomes.filter((one) => one !== 'started') ?? []) expect(outcome).toMatch(/EMFILE true$/)
})

test('an endpoint is used up by a start that fails, and its host’s end is at its end [M-09, M-12]', async () => {
  const { child, host } = pipe('childWrites')
  expect((await failure(spawn({ program: '/nonexistent', env: {}, fds: { 3: child } }))).code).toBe('ERR_SPAWN_FAILED')
  expect(child.consumed).toBe(true)
  expect(await host.read()).toBe(null)
  host.close()
})

/** Runs with each start held back before its exec, long enough to be met there. */
async function onEachSlowWay(run: () => Promise<void>): Promise<void> {
  const ways = [{}, { noClone3: true }, { forceFork: true }]
  for (const way of ways) await withHooks({ ...way, delayBeforeExecMs: within(150) }, run, JSON.stringify(way))
}

const childOnItsWay = () => until('the child on its way', () => childrenOf()[0], within(5_000))

test('a start aborted on its way rejects at once, and its child goes as soon as it appears [P-2, B086]', async () => {
  await onEachSlowWay(async () => {
    const before = openFds().size
    const controller = new AbortController()
    const spec = { program: fixtureChild(), args: ['pause'], env: {}, fds: fullMap() }
    const error = failure(spawn(spec, { signal: controller.signal }))
    const pid = await childOnItsWay()
    controller.abort('late')
    expect(await error).toMatchObject({ code: 'ERR_ABORTED', cause: 'late' })
    await until('no child', () => processFacts(pid) === undefined, within(2_000))
    await until('no descriptor', () => openFds().size === before, within(1_000))
  })
})

test('a child killed before its exec is told as that, with the signal, and its program never ran [P-2]', async () => {
  const marker = join(tmpFolder(), 'ran')
  await onEachSlowWay(async () => {
    const error = failure(spawn({ program: fixtureChild(), args: ['marker', marker], env: {}, fds: fullMap() }))
    const pid = await childOnItsWay()
    if (!(pid > 1) || processFacts(pid)?.ppid !== process.pid) throw new Error(`${pid} is no child of this test`)
    process.kill(pid, 'SIGKILL')
    expect((await error).details).toEqual({ stage: 'killed-before-exec', signal: 'SIGKILL' })
  })
  expect(existsSync(marker)).toBe(false)
})
