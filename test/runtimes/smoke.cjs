// The core in a few steps, for any runtime that loads Node-API addons: plain CommonJS over the compiled package, nothing
// to transform. Each step is told by a line; the last line says that all were right.
const assert = require('node:assert/strict')
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { setTimeout: pause } = require('node:timers/promises')
const { Worker, isMainThread, parentPort } = require('node:worker_threads')

const root = join(__dirname, '..', '..')
const { AbortError, SpawnError, capture, pipe, spawn } = require(join(root, 'dist', 'index.js'))
const program = join(root, 'build', 'Release', 'fixture_child')

const steps = {
  async 'exact descriptors and environment'() {
    const fds = { 1: capture({ headBytes: 65536 }), 7: 'null' }
    const { logs } = await (await spawn({ program, args: ['audit'], env: { A: '1' }, fds })).wait()
    const report = JSON.parse(logs[1].text())
    assert.deepEqual([report.fds.map(({ fd }) => fd), report.env, report.umask], [[0, 1, 2, 7], ['A=1'], 0o077])
  },

  async 'protocol pipes in both directions, with a read that waits'() {
    const [request, response] = [pipe('childReads'), pipe('childWrites')]
    const child = await spawn({ program, args: ['echo-lines', '3', '4'], env: {}, fds: { 3: request.child, 4: response.child } })
    const answer = response.host.read()
    await request.host.write(Buffer.from('one line\n'))
    assert.equal(String(await answer), 'one line\n')
    request.host.close()
    assert.equal(await response.host.read(), null)
    response.host.close()
    assert.equal((await child.wait()).code, 0)
  },

  async 'streams'() {
    const child = await spawn({ program: '/bin/cat', env: {}, fds: { 0: 'pipe', 1: 'pipe' } })
    child.stdin.end(Buffer.alloc(300_000, 'x'))
    let bytes = 0
    for await (const chunk of child.stdout) bytes += chunk.length
    assert.deepEqual([bytes, (await child.wait()).code], [300_000, 0])
  },

  async 'captures with a secret'() {
    const fds = { 1: capture({ headBytes: 100 }) }
    const child = await spawn({ program, args: ['split-secret', '1', 'hid', '20', 'den!'], env: {}, fds, secrets: ['hidden'] })
    assert.equal((await child.wait()).logs[1].text(), '[redacted]!')
  },

  async 'a group is terminated, with its members'() {
    const child = await spawn({ program, args: ['fork-pause', '2', '--', 'pause'], env: {}, fds: { 1: 'pipe', 2: 'pipe' } })
    let text = ''
    for await (const chunk of child.stderr) if ((text += chunk).includes('ready')) break
    const exit = await child.terminate({ graceMs: 5_000 })
    assert.deepEqual([exit.signal, exit.endedBy, exit.groupLeft], ['SIGTERM', 'terminate', 0])
  },

  async 'kill, timeout and abort'() {
    const killed = await spawn({ program, args: ['pause'], env: {} })
    await assert.rejects(killed.wait({ timeoutMs: 10 }), { code: 'ERR_WAIT_TIMEOUT' })
    killed.kill()
    assert.equal((await killed.wait()).signal, 'SIGKILL')
    const timed = await spawn({ program, args: ['pause'], env: {}, lifetime: { timeoutMs: 20 } })
    assert.equal((await timed.wait()).endedBy, 'timeout')
    const { host } = pipe('childWrites')
    await assert.rejects(host.read({ signal: AbortSignal.timeout(10) }), AbortError)
    host.close()
  },

  async 'failed starts'() {
    await assert.rejects(spawn({ program: '/nowhere', env: {} }), SpawnError)
    await assert.rejects(spawn({ program: '/bin/true', env: {}, cwd: '/nowhere' }), { code: 'ERR_SPAWN_FAILED', stage: 'chdir' })
  },

  async 'fifty at once'() {
    const codes = Array.from({ length: 50 }, (_, code) => code)
    const one = async (code) => (await (await spawn({ program, args: ['exit', String(code)], env: {} })).wait()).code
    assert.deepEqual(await Promise.all(codes.map(one)), codes)
  },

  async 'a worker starts a child, which ends with it'() {
    const worker = new Worker(__filename)
    const pid = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    assert.ok(existsSync(`/proc/${pid}`))
    await worker.terminate()
    for (let turn = 0; existsSync(`/proc/${pid}`); turn++) {
      assert.ok(turn < 500, `child ${pid} outlives its worker`)
      await pause(10)
    }
  },
}

async function main() {
  for (const [name, step] of Object.entries(steps)) {
    await step()
    console.log(`ok   ${name}`)
  }
  console.log('smoke: ok')
}

if (isMainThread) {
  main().catch((error) => {
    console.error(error)
    process.exit(1)
  })
} else {
  spawn({ program, args: ['pause'], env: {} }).then((child) => {
    // A handle that nothing can reach would end its child.
    globalThis.kept = child
    parentPort.postMessage(child.pid)
  })
}
