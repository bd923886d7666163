/** The umask is the child's alone. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'exactspawn'
import { expect, onTestFinished, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { dist } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { tmpFolder } from '../../support/tmp.js'
import { onEachWay, output, rounds } from './starts.js'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const script = 'umask; : > f; mkdir d'

test('a child’s umask is 0077 and its files are its own, whatever the host’s is [M-61, B097, P-1]', async () => {
  const before = process.umask()
  onTestFinished(() => void process.umask(before))
  for (const mask of [0, 0o022, 0o777]) {
    process.umask(mask)
    await onEachWay(async () => {
      const folder = mkdtempSync(join('/tmp', 'exactspawn-test-'))
      // mkdtemp obeys the host's mask; root may work in it all the same.
      const shell = { program: '/bin/sh', args: ['-c', script], env: { PATH: '/bin:/usr/bin' }, cwd: folder }
      expect(await output([], shell)).toBe('0077\n')
      expect([modeOf(join(folder, 'f')), modeOf(join(folder, 'd'))]).toEqual(['600', '700'])
      rmSync(folder, { recursive: true })
    })
    expect(process.umask()).toBe(mask)
  }
})

test('another umask is that one, and "inherit" is the host’s [P-1, C-03]', async () => {
  const before = process.umask(0o013)
  onTestFinished(() => void process.umask(before))
  await onEachWay(async () => {
    for (const umask of [0, 0o022, 0o777]) expect((await audit({ umask })).umask).toBe(umask)
    expect((await audit({ umask: 'inherit' })).umask).toBe(0o013)
  })
})

test('the files that the host makes during starts have the host’s modes, each of them [M-61, B097, P-10]', async () => {
  const maker = `
    const fs = require('node:fs')
    const { parentPort, workerData } = require('node:worker_threads')
    let [ended, count] = [false, 0]
    const wrong = new Set()
    parentPort.on('message', () => (ended = true))
    parentPort.postMessage('ready')
    setImmediate(function again() {
      for (let i = 0; i < 20; i++, count++) {
        const path = workerData + '/' + count
        fs.closeSync(fs.openSync(path, 'w', 0o666))
        const mode = fs.statSync(path).mode & 0o777
        if (mode !== 0o644) wrong.add(mode.toString(8))
        fs.unlinkSync(path)
      }
      if (ended) parentPort.postMessage({ wrong: [...wrong], enough: count > 100 })
      else setImmediate(again)
    })`
  const starter = `
    const { spawn } = require(${JSON.stringify(dist)})
    ;(async () => {
      for (let i = 0; i < ${rounds(60)}; i++) {
        const child = await spawn({ program: '/bin/true', env: {}, fds: { 1: { file: '/dev/null', mode: 'append' } } })
        await child.wait()
      }
      require('node:worker_threads').parentPort.postMessage('done')
    })()`
  const body = `
    const { Worker } = require('node:worker_threads')
    const { once } = require('node:events')
    process.umask(0o022)
    const folder = require('node:fs').mkdtempSync('/tmp/exactspawn-test-')
    const makers = [0, 1].map((n) => {
      const workerData = folder + '/' + n
      require('node:fs').mkdirSync(workerData)
      return new Worker(${JSON.stringify(maker)}, { eval: true, workerData })
    })
    await Promise.all(makers.map((maker) => once(maker, 'message')))
    await once(new Worker(${JSON.stringify(starter)}, { eval: true }), 'message')
    const results = makers.map((maker) => once(maker, 'message'))
    for (const maker of makers) maker.postMessage('end')
    for (const [result] of await Promise.all(results)) say(result)
    say(process.umask())
    for (const maker of makers) await maker.terminate()
    require('node:fs').rmSync(folder, { recursive: true })`
  const right = { wrong: [], enough: true }
  expect(await hostSays(body)).toEqual([right, right, 0o022])
})

test('a start from a worker thread, where no umask can be set, gives the child its umask [B097]', async () => {
  const worker = `
    const { spawn, capture } = require(${JSON.stringify(dist)})
    ;(async () => {
      const spec = { program: '/bin/sh', args: ['-c', 'umask'], env: {}, fds: { 1: capture({ headBytes: 99 }) } }
      const said = []
      for (const umask of [undefined, 0o022, 'inherit']) {
        const child = await spawn(umask === undefined ? spec : { ...spec, umask })
        said.push((await child.wait()).logs[1].text().trim())
      }
      require('node:worker_threads').parentPort.postMessage(said)
    })()`
  const body = `
    process.umask(0o002)
    const worker = new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}, { eval: true })
    say((await require('node:events').once(worker, 'message'))[0])`
  expect(await hostSays(body)).toEqual([['0077', '0022', '0002']])
})

test('a file of the map is 0600 under a host umask of 0 and whatever the child’s own mask is [B097]', async () => {
  const before = process.umask(0)
  onTestFinished(() => void process.umask(before))
  const file = join(tmpFolder(), 'log')
  const child = await spawn({ program: '/bin/echo', env: {}, umask: 0, fds: { 1: { file, mode: 'append' } } })
  await child.wait()
  expect(modeOf(file)).toBe('600')
})
