/** Dedicated pipes: who has which end, from birth on. */
import { spawn as nodeSpawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipe, spawn } from 'exactspawn'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { dist, fixtureChild } from '../../support/fixture.js'
import { hostSays, runHost } from '../../support/host.js'
import { openFds } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, within } from '../../support/until.js'
import { aftermath, onEachWay, rounds } from './starts.js'

const O_CLOEXEC = 0o2000000

function flagsOf(fd: number): number {
  const [, flags = ''] = /flags:\t(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? []
  return Number.parseInt(flags, 8)
}

/** How many descriptors of this host lead to the pipe with that inode. */
const ends = (inode: string): number => [...openFds().values()].filter((target) => target === `pipe:[${inode}]`).length

const inodeOf = (fd: number): string => /\d+/.exec(openFds().get(fd) ?? '')?.[0] ?? 'none'

test('requests and responses have a unidirectional pipe each, and no socket [M-02, B035]', async () => {
  const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
  const { fds } = await audit({ fds: { 3: requests.child, 4: responses.child } })
  const [three, four] = [fds[3], fds[4]]
  for (const entry of [three, four]) expect((entry?.mode ?? 0) & constants.S_IFMT).toBe(constants.S_IFIFO)
  expect([three, four].map((entry) => (entry?.statusflags ?? 0) & 3)).toEqual([constants.O_RDONLY, constants.O_WRONLY])
  expect(three?.ino).not.toBe(four?.ino)
  requests.host.close()
  responses.host.close()
})

test('what a child writes to its output never reaches the protocol pipe [M-02]', async () => {
  const { child: end, host } = pipe('childWrites')
  const args = ['text', '{"id":"0"}', '1', '--', 'text', '{"id":"1"}', '2', '--', 'text', 'mine', '4']
  const child = await spawn({ program: fixtureChild(), args, env: {}, fds: { 4: end } })
  expect(Buffer.from((await host.read()) ?? '').toString()).toBe('mine')
  expect(await host.read()).toBe(null)
  await child.wait()
  host.close()
})

test('both ends are close-on-exec from birth, and stay so while a child has its copy [M-03, M-04]', async () => {
  const before = new Set(openFds().keys())
  const made = [pipe('childReads'), pipe('childWrites')] as const
  const numbers = [...openFds().keys()].filter((fd) => !before.has(fd))
  expect(numbers).toHaveLength(4)
  for (const fd of numbers) expect([fd, flagsOf(fd) & O_CLOEXEC]).toEqual([fd, O_CLOEXEC])
  const fds = { 3: made[0].child, 4: made[1].child }
  const child = await spawn({ program: fixtureChild(), args: ['pause'], env: {}, fds })
  for (const { host } of made) expect(flagsOf(host.fd) & O_CLOEXEC).toBe(O_CLOEXEC)
  await child[Symbol.asyncDispose]()
  for (const { host } of made) host.close()
})

/** Starts children by other code, one after another, until it is told to end; then says which numbers they had. */
const otherCode = `
  const { spawnSync } = require('node:child_process')
  const { parentPort } = require('node:worker_threads')
  const fixture = ${JSON.stringify(fixtureChild())}
  const numbers = () => spawnSync(fixture, ['fds'], { encoding: 'utf8' }).stdout.match(/^\\d+/gm)
  const own = numbers()
  const strangers = new Set()
  let [ended, count] = [false, 0]
  parentPort.on('message', () => (ended = true))
  parentPort.postMessage('ready')
  setImmediate(function again() {
    for (const number of numbers()) if (!own.includes(number)) strangers.add(number)
    count++
    if (ended) parentPort.postMessage({ strangers: [...strangers], enough: count > 5 })
    else setImmediate(again)
  })`

test('no process that other code starts meanwhile has an end of a pipe of ours [M-03, B015, B007]', async () => {
  const body = `
    const { once } = require('node:events')
    const other = new (require('node:worker_threads').Worker)(${JSON.stringify(otherCode)}, { eval: true })
    await once(other, 'message')
    for (let i = 0; i < ${rounds(60)}; i++) {
      const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
      const fds = { 1: capture({ headBytes: 1 }), 2: 'pipe', 3: requests.child, 4: responses.child }
      const child = await spawn({ program: '/bin/true', env: {}, fds })
      await child.wait()
      child.stderr.destroy()
      requests.host.close()
      responses.host.close()
    }
    other.postMessage('end')
    say((await once(other, 'message'))[0])
    await other.terminate()`
  expect(await hostSays(body)).toEqual([{ strangers: [], enough: true }])
})

test('after the start the host has one end of each pipe, and sees the end at once [M-07]', async () => {
  await onEachWay(async () => {
    const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
    const inodes = [requests, responses].map(({ host }) => inodeOf(host.fd))
    expect(inodes.map(ends)).toEqual([2, 2])
    const args = ['close', '4', '--', 'pause']
    const fds = { 3: requests.child, 4: responses.child }
    const child = await spawn({ program: fixtureChild(), args, env: {}, fds })
    expect(inodes.map(ends)).toEqual([1, 1])
    // The child lives, so only its own closing can end this.
    expect(await responses.host.read({ timeoutMs: within(5_000) })).toBe(null)
    expect(child.tryWait()).toBe(null)
    await child[Symbol.asyncDispose]()
    requests.host.close()
    responses.host.close()
  })
})

test('the child has no copy of the host’s ends, and sees the end of its requests [M-08]', async () => {
  await onEachWay(async () => {
    const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
    const inodes = [requests, responses].map(({ host }) => inodeOf(host.fd))
    const args = ['audit', '4', '--', 'text', '\n', '4', '--', 'read-to-eof', '3', '--', 'text', 'end', '4']
    const fds = { 3: requests.child, 4: responses.child }
    const child = await spawn({ program: fixtureChild(), args, env: {}, fds })
    let text = ''
    const read = async () => {
      const chunk = await responses.host.read({ timeoutMs: within(5_000) })
      text += Buffer.from(chunk ?? '').toString()
    }
    while (!text.includes('\n')) await read()
    const seen = (JSON.parse(text) as { fds: { fd: number; ino: string }[] }).fds
    expect(seen.filter(({ ino }) => inodes.includes(ino)).map(({ fd }) => fd)).toEqual([3, 4])
    expect(seen).toHaveLength(5)
    requests.host.close()
    while (!text.endsWith('end')) await read()
    expect((await child.wait()).code).toBe(0)
    responses.host.close()
  })
})

test('a start that fails closes all four ends of its two pipes, every time [M-12, B010]', async () => {
  for (let round = 0; round < rounds(30); round++) {
    const after = await aftermath(async () => {
      const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
      try {
        const fds = { 0: 'pipe', 1: 'pipe', 3: requests.child, 4: responses.child } as const
        await spawn({ program: '/nonexistent', env: {}, fds })
      } finally {
        // The caller's own ends are the caller's: nobody is at the other one.
        expect(await responses.host.read()).toBe(null)
        requests.host.close()
        responses.host.close()
      }
    })
    expect(after).toMatchObject({ error: { details: { stage: 'exec' } }, starts: 1, fds: [], children: [] })
  }
})

test('a child of other code neither holds our stdin open nor has anything of ours [B015]', async () => {
  const cat = await spawn({ program: '/bin/cat', env: {}, fds: { 0: 'pipe', 1: 'pipe' } })
  const sleeper = nodeSpawn('/bin/sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void sleeper.kill('SIGKILL'))
  await once(sleeper, 'spawn')
  const { ms } = await timed(async () => {
    cat.stdin?.end()
    expect((await cat.wait()).code).toBe(0)
  })
  expect(ms).toBeLessThan(within(500))
  cat.stdout?.destroy()
  sleeper.kill('SIGKILL')
  await once(sleeper, 'exit')
})

/** Starts `cat` after `cat`, and says how long the slowest start or end took. */
const cats = `
  const { spawn } = require(${JSON.stringify(dist)})
  const { parentPort } = require('node:worker_threads')
  ;(async () => {
    let slowest = 0
    for (let i = 0; i < ${rounds(15)}; i++) {
      const began = performance.now()
      const cat = await spawn({ program: '/bin/cat', env: {}, fds: { 0: 'pipe', 1: 'pipe' } })
      const started = performance.now()
      cat.stdin.end('x')
      const chunks = await cat.stdout.toArray()
      await cat.wait()
      slowest = Math.max(slowest, started - began, performance.now() - started)
      if (String(chunks[0]) !== 'x') throw new Error('a byte was lost')
    }
    parentPort.postMessage(slowest)
  })()`

test('children that start at the same time on several threads never hold each other’s pipes [B007]', async () => {
  const body = `
    const { Worker } = require('node:worker_threads')
    const workers = Array.from({ length: 3 }, () => new Worker(${JSON.stringify(cats)}, { eval: true }))
    const slowest = Promise.all(workers.map((worker) => require('node:events').once(worker, 'message')))
    let busy = true
    const churn = (async () => {
      while (busy) {
        const start = () => spawn({ program: '/bin/sleep', args: ['60'], env: {} })
        const others = await Promise.all([start(), start(), start(), start()])
        await Promise.all(others.map((other) => other[Symbol.asyncDispose]()))
      }
    })()
    say(Math.max(...(await slowest).flat()))
    busy = false
    await churn
    await Promise.all(workers.map((worker) => worker.terminate()))`
  const [slowest] = await hostSays<number>(body)
  expect(slowest).toBeLessThan(within(1_000))
})

test('a host without 0, 1 or 2 gives children exactly their own, on numbers above [B009, M-10]', async () => {
  const path = join(tmpFolder(), 'said')
  const body = (closed: readonly number[]) => `
    const fs = require('node:fs')
    for (const fd of ${JSON.stringify(closed)}) fs.closeSync(fd)
    const [requests, responses] = [pipe('childReads'), pipe('childWrites')]
    const numbers = [requests.host.fd, responses.host.fd]
    const log = capture({ headBytes: 99 })
    const fds = { 0: 'pipe', 1: log, 2: log, 3: requests.child, 4: responses.child }
    const args = ['-c', 'cat; echo out; echo err >&2; cat <&3 >&4']
    const child = await spawn({ program: '/bin/sh', args, env: {}, fds })
    child.stdin.end('x')
    await requests.host.write(Buffer.from('exchange'))
    requests.host.close()
    const answer = String(await responses.host.read())
    const { code, logs } = await child.wait()
    const file = fs.openSync(${JSON.stringify(path)}, 'w')
    const low = numbers.filter((number) => number < 3)
    fs.writeSync(file, JSON.stringify({ code, out: logs[1].text(), err: logs[2].text(), answer, low }))
    process.exit(0)`
  const right = { code: 0, out: 'xout\n', err: 'err\n', answer: 'exchange', low: [] }
  for (const closed of [[0], [1], [2], [0, 1], [0, 1, 2]]) {
    await runHost(body(closed))
    expect([closed, JSON.parse(readFileSync(path, 'utf8'))]).toEqual([closed, right])
  }
  // Closed by whoever started the host: Node opens them again on /dev/null.
  await runHost(body([]), { wrapper: ['/bin/sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh'] })
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(right)
})
