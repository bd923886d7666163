/** A child ignores no signal and blocks none, whatever the host does. */
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { dist, fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { onEachWay, output } from './starts.js'

const clean = { sigmask: '0000000000000000', ignored: [], handled: [] }

test('a child ignores no signal, catches none and blocks none [B055, P-1]', async () => {
  for (const name of ['SIGINT', 'SIGHUP', 'SIGUSR2'] as const) {
    const listener = () => {}
    process.on(name, listener)
    onTestFinished(() => void process.off(name, listener))
  }
  await onEachWay(async () => {
    expect(await audit()).toMatchObject(clean)
    expect(await audit({ group: 'inherit' })).toMatchObject(clean)
  })
  for (const name of ['SIGINT', 'SIGHUP', 'SIGUSR2']) process.removeAllListeners(name)
})

test('a writer whose reader has gone dies by SIGPIPE, where Node’s own child would get an error [B055]', async () => {
  const script = 'yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}'
  const control = spawnSync('/bin/bash', ['-c', `trap '' PIPE; bash -c '${script}'`], { encoding: 'utf8' })
  expect(control.stdout).toBe('1\n')
  const bash = { program: '/bin/bash', args: ['-c', script], env: { PATH: '/usr/bin:/bin' } }
  await onEachWay(async () => expect(await output([], { ...bash, fds: { 2: 'null' } })).toBe('141\n'))
})

test('signals that the host was started with as ignored are not ignored in its children [B055, P-1]', async () => {
  // A real-time signal and SIGCHLD are among what a launcher can leave ignored and Node keeps.
  const wrapper = ['/bin/bash', '-c', `trap '' HUP INT TERM USR1 CHLD 40; exec "$@"`, 'bash']
  const inWorker = `
    const { spawn, capture } = require(${JSON.stringify(dist)})
    ;(async () => {
      const program = ${JSON.stringify(fixtureChild())}
      const child = await spawn({ program, args: ['audit', '1'], env: {}, fds: { 1: capture({ headBytes: 1e6 }) } })
      require('node:worker_threads').parentPort.postMessage((await child.wait()).logs[1].text())
    })()`
  const body = `
    const facts = (text) => {
      const { sigmask, ignored, handled } = JSON.parse(text)
      say({ sigmask, ignored, handled })
    }
    const { stdout } = require('node:child_process').spawnSync(fixture, ['audit', '1'], { encoding: 'utf8' })
    say(JSON.parse(stdout).ignored.includes(40))
    const fds = { 1: capture({ headBytes: 1e6 }) }
    const child = await spawn({ program: fixture, args: ['audit', '1'], env: {}, fds })
    facts((await child.wait()).logs[1].text())
    const worker = new (require('node:worker_threads').Worker)(${JSON.stringify(inWorker)}, { eval: true })
    facts((await require('node:events').once(worker, 'message'))[0])`
  expect(await hostSays(body, { wrapper })).toEqual([true, clean, clean])
})
