/** What the host has open, whatever it is, reaches no child that did not ask for it. */
import type { StdioOptions } from 'node:child_process'
import { spawn as nodeSpawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connectedAddon } from '../../../lib/addon/events.js'
import { denysys, dist, fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { within } from '../../support/until.js'
import { rounds } from './starts.js'

const STRAYS = [17, 40, 251, 900]
const RLIMIT_NOFILE = 7

// Node itself marks what it finds from 0 up to the first closed number, so only sparse ones tell anything [B004].
const withStrays = ['/bin/bash', '-c', `exec ${STRAYS.map((fd) => `${fd}</etc/hostname`).join(' ')}; exec "$@"`, 'bash']

const numbersIn = `
  const path = require('node:path').join(require('node:fs').mkdtempSync('/tmp/exactspawn-test-'), 'audit')
  const numbers = async (spec = {}) => {
    const child = await spawn({ program: fixture, args: ['auditfile', path], env: {}, ...spec })
    await child.wait()
    return JSON.parse(require('node:fs').readFileSync(path, 'utf8')).fds.map(({ fd }) => fd)
  }
  const done = () => require('node:fs').rmSync(require('node:path').dirname(path), { recursive: true })`

test('strays of whoever started the host reach no child, and those of other code do [B004, P-1, P-10]', async () => {
  const body = `${numbersIn}
    const other = require('node:child_process').spawnSync(fixture, ['fds'], { encoding: 'utf8' }).stdout
    say(other.match(/^\\d+/gm).map(Number))
    say(await numbers())
    say(await numbers({ fds: { 5: 'null' } }))
    say(await numbers({ fds: { 17: 'null', 901: 'null' } }))
    done()`
  for (const wrapper of [withStrays, [denysys(), 'ENOSYS', 'close_range', '--', ...withStrays]]) {
    const [control, ...ours] = await hostSays<number[]>(body, { wrapper })
    expect(control).toEqual(expect.arrayContaining(STRAYS))
    expect(ours).toEqual([
      [0, 1, 2],
      [0, 1, 2, 5],
      [0, 1, 2, 17, 901],
    ])
  }
})

test('no stray reaches a child of a worker thread while another thread opens and closes files [B004]', async () => {
  const script = (body: string): string => JSON.stringify(body)
  const opener = `
    const fs = require('node:fs')
    setImmediate(function again() {
      const fds = Array.from({ length: 50 }, () => fs.openSync('/etc/hostname', 'r'))
      for (const fd of fds) fs.closeSync(fd)
      setImmediate(again)
    })`
  const starter = `
    const { spawn } = require(${JSON.stringify(dist)})
    const fixture = ${JSON.stringify(fixtureChild())}
    ${numbersIn}
    ;(async () => {
      const seen = new Set()
      for (let i = 0; i < ${rounds(20)}; i++) seen.add((await numbers({ fds: { 5: 'null' } })).join())
      done()
      require('node:worker_threads').parentPort.postMessage([...seen])
    })()`
  const body = `
    const { Worker } = require('node:worker_threads')
    const opener = new Worker(${script(opener)}, { eval: true })
    const starter = new Worker(${script(starter)}, { eval: true })
    say((await require('node:events').once(starter, 'message'))[0])
    await opener.terminate()`
  expect(await hostSays(body, { wrapper: withStrays })).toEqual([['0,1,2,5']])
})

/** A host that has a locked file at 100 and a listening socket at 101, starts a child, and then closes both. */
async function closesWhatItHolds(starts: string): Promise<{ lockFree: boolean; portFree: boolean }> {
  const lock = openSync(join(tmpFolder(), 'lock'), 'w')
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(spawnSync('/usr/bin/flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', lock] }).status).toBe(0)

  const { fd: socket } = (server as unknown as { _handle: { fd: number } })._handle
  const stdio: StdioOptions = Array.from({ length: 102 }, (_, fd) => (fd === 1 ? 'pipe' : 'ignore'))
  stdio[100] = lock
  stdio[101] = socket
  const script = `
    const { spawn } = require(${JSON.stringify(dist)})
    const fs = require('node:fs')
    ;(async () => {
      const args = ['-c', 'setsid sleep 20 <&- >&- 2>&- & echo $!; sleep 20']
      const pid = await (${starts})('/bin/sh', args)
      fs.closeSync(100)
      fs.closeSync(101)
      fs.writeSync(1, 'closed ' + pid + '\\n')
      setInterval(() => {}, 1000)
    })()`
  const host = nodeSpawn(process.execPath, ['-e', script], { stdio })
  onTestFinished(() => void host.kill('SIGKILL'))
  const [said] = (await once(host.stdout!, 'data')) as [Buffer]
  const sleeper = Number(/^closed (\d+)\n$/.exec(String(said))?.[1])
  if (!(sleeper > 1)) throw new Error(`the host said ${String(said)}`)
  onTestFinished(() => void process.kill(sleeper, 'SIGKILL'))

  // This test's own copies go first: what is left then is what the host's child has.
  const again = openSync(`/proc/self/fd/${lock}`, 'w')
  closeSync(lock)
  await new Promise((resolve) => server.close(resolve))
  const free = spawnSync('/usr/bin/flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', again] }).status === 0
  closeSync(again)
  const second = createServer()
  const portFree = await new Promise<boolean>((resolve) => {
    second.once('error', () => resolve(false)).listen(port, () => second.close(() => resolve(true)))
  })
  const ended = once(host, 'exit')
  host.kill('SIGKILL')
  await ended
  host.stdout?.destroy()
  return { lockFree: free, portFree }
}

test('a lock and a port that the host gave up are free while a descendant lives on [B011]', async () => {
  const ours = `async (program, args) => {
    const child = await spawn({ program, args, env: { PATH: '/usr/bin:/bin' }, fds: { 1: 'pipe' } })
    return String((await require('node:events').once(child.stdout, 'data'))[0]).trim()
  }`
  const other = `async (program, args) => {
    const child = require('node:child_process').spawn(program, args)
    return String((await require('node:events').once(child.stdout, 'data'))[0]).trim()
  }`
  expect(await closesWhatItHolds(other)).toEqual({ lockFree: false, portFree: false })
  expect(await closesWhatItHolds(ours)).toEqual({ lockFree: true, portFree: true })
})

test('the largest descriptor limit costs a start next to nothing and lets nothing through [B012]', async () => {
  const body = `${numbersIn}
    let quickest = Infinity
    for (let i = 0; i < ${rounds(20)}; i++) {
      const began = performance.now()
      const child = await spawn({ program: '/bin/true', env: {} })
      quickest = Math.min(quickest, performance.now() - began)
      await child.wait()
    }
    say({ quickest, numbers: await numbers() })
    done()`
  const quickestAt = async (limit: number, deny: readonly string[]): Promise<number> => {
    const shell = ['/bin/bash', '-c', `exec ${limit - 1}</etc/hostname; exec "$@"`, 'bash']
    const wrapper = ['/usr/bin/prlimit', `--nofile=${limit}:${limit}`, ...deny, ...shell]
    const [said] = await hostSays<{ quickest: number; numbers: number[] }>(body, { wrapper })
    expect(said?.numbers).toEqual([0, 1, 2])
    return said?.quickest ?? NaN
  }
  const [, hard] = connectedAddon().limit(RLIMIT_NOFILE)
  for (const deny of [[], [denysys(), 'ENOSYS', 'close_range', '--'], [denysys(), 'EPERM', 'close_range', '--']]) {
    // A loop to the limit takes 60 ns a number and more: hidden at 20,000, plain from some 100,000 on.
    expect(await quickestAt(hard, deny)).toBeLessThan(within(2 * (await quickestAt(1_024, deny))) + 1)
  }
})
