/** What a launched worker is born with: nothing but what its record and this page say. */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join, sep } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FIXED_VALUES, PRIVATE_PLACES } from '../../../lib/worker/worker-environment.js'
import type { LaunchRecord, PosixWorkerProcess } from '../../../lib/worker.js'
import { launchIdentity, launchTrustedLocalWorker } from '../../../lib/worker.js'
import { LocalProcessExecutor } from '../../../lib/executor.js'
import type { Audit } from '../../support/audit.js'
import { fixtureChild } from '../../support/fixture.js'
import { childrenOf } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { launch, privateRoot, record, rejection } from '../../support/worker.js'

const PREFIX = /^worker-/

async function output(worker: PosixWorkerProcess): Promise<string> {
  const { exit, stdout, stderr } = await worker.wait()
  expect(Buffer.from(stderr.bytes).toString().replaceAll('ready\n', '')).toBe('')
  expect(exit).toMatchObject({ code: 0, signal: null })
  return Buffer.from(stdout.bytes).toString('latin1')
}

async function audited(launched: LaunchRecord, options = {}) {
  const worker = await launch(launched, options)
  const directory = worker.workingDirectory as string
  return { report: JSON.parse(await output(worker)) as Audit, directory }
}

const auditing = (environment: Record<string, string> = {}): LaunchRecord => {
  return { ...record(fixtureChild(), ['audit', '1']), environment }
}

test('the environment is what is declared, and no more [M-50, M-51, M-58, M-60, M-62]', async () => {
  process.env['EXACTSPAWN_TEST_SECRET'] = '1'
  onTestFinished(() => void delete process.env['EXACTSPAWN_TEST_SECRET'])
  const { report, directory } = await audited(auditing({ APP_MODE: 'fast=1', EMPTY: '' }))
  const places = Object.entries(PRIVATE_PLACES).map(([name, place]) => `${name}=${join(directory, place)}`)
  const fixed = ['LANG=C.UTF-8', 'LC_ALL=C.UTF-8', 'TZ=UTC']
  expect(Object.keys(FIXED_VALUES)).toHaveLength(fixed.length)
  const transport = ['METEWAND_PROTOCOL_READ_FD=3', 'METEWAND_PROTOCOL_WRITE_FD=4']
  expect(report.env.toSorted()).toEqual([...fixed, ...places, ...transport, 'APP_MODE=fast=1', 'EMPTY='].sort())
})

test('program and arguments arrive byte by byte, in order, unexpanded [M-48, M-49]', async () => {
  const args = ['', ' ', '$HOME', '${X}', '*', '-', '--', '{{x}}', 'é\u2028', '"\'', 'a\nb', '%s', 'a']
  const all = ['argv', '--', 'exit', '0', ...args]
  const worker = await launch(record(fixtureChild(), all))
  expect(await output(worker)).toBe(Buffer.from(`${[fixtureChild(), ...all].join('\n')}\n`).toString('latin1'))
})

test('descriptors, directory, umask and group are the worker\'s own [M-42, M-43, M-54, M-61]', async () => {
  const mask = process.umask()
  const { report, directory } = await audited(auditing())
  expect(report.fds.map(({ fd }) => fd)).toEqual([0, 1, 2, 3, 4])
  expect(report.fds[0]).toMatchObject({ rdev: String(statSync('/dev/null').rdev) })
  expect(report).toMatchObject({ umask: 0o077, cwd: directory })
  expect(report.pgid).toBe(report.pid)
  expect(process.umask()).toBe(mask)
  const made = await launch(record('/bin/sh', ['-c', ': >made; ls -l made; ls -ld "$HOME"']))
  expect(await output(made)).toMatch(/^-rw------- .*\ndrwx------ .*\n$/)
})

test('every private place is there, the owner\'s alone, under any umask of the host [M-55, M-62, B112]', async () => {
  for (const mask of [0o000, 0o777]) {
    const root = privateRoot()
    const before = process.umask(mask)
    const worker = await launch(record('/bin/cat', ['/dev/fd/3']), { privateRoot: root }).finally(() => {
      process.umask(before)
    })
    const directory = worker.workingDirectory as string
    expect(directory.startsWith(root + sep)).toBe(true)
    for (const place of ['', ...Object.values(PRIVATE_PLACES)]) {
      const { mode, uid } = statSync(join(directory, place))
      expect([place, mode & 0o7777, uid]).toEqual([place, 0o700, process.getuid?.()])
    }
    await output(worker)
    expect(readdirSync(root)).toEqual([])
  }
})

test('two launches have two directories and, whatever their descriptors, one identity [M-53, M-54]', async () => {
  const root = privateRoot()
  const launched = auditing({ A: '1' })
  const both = [launched, structuredClone(launched)] as const
  const workers = await Promise.all([
    launch(both[0], { privateRoot: root }),
    launch(both[1], { privateRoot: root, protocolFds: { read: 17, write: 9 } }),
  ])
  const names = workers.map(({ workingDirectory }) => (workingDirectory as string).slice(root.length + 1))
  expect(new Set(names).size).toBe(2)
  for (const name of names) expect(name).toMatch(/^worker-?[0-9a-z]{26}$/i)
  const [, moved] = (await Promise.all(workers.map(output))).map((text) => JSON.parse(text) as Audit)
  expect(moved?.fds.map(({ fd }) => fd)).toEqual([0, 1, 2, 9, 17])
  expect(moved?.env).toEqual(expect.arrayContaining(['METEWAND_PROTOCOL_READ_FD=17', 'METEWAND_PROTOCOL_WRITE_FD=9']))
  expect(launchIdentity(both[0])).toBe(launchIdentity(both[1]))
  expect(launchIdentity(both[0])).not.toMatch(/PROTOCOL|worker|17/)
})

test('protocol descriptors that are one or standard ones are refused before a directory is made [M-10]', async () => {
  for (const protocolFds of [[3, 3], [0, 3], [3, 2], [3.5, 4]].map(([read = 0, write = 0]) => ({ read, write }))) {
    const root = privateRoot()
    const error = await rejection(launch(auditing(), { privateRoot: root, protocolFds }))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: 'protocolFds' } })
    expect(readdirSync(root)).toEqual([])
  }
})

test('whatever a start could refuse is refused before the private root is looked at [M-47, M-56, P-2]', async () => {
  const privateRoot = join(tmpFolder(), 'none')
  const logs = { stdoutBytes: 0, stderrBytes: 0 }
  const given = (options: object) => ({ privateRoot, logs, ...options }) as never
  const launched = (options: object) => rejection(launchTrustedLocalWorker(auditing(), given(options)))
  const executed = (options: object) => rejection(new LocalProcessExecutor(given({})).spawn(auditing(), options))
  const cases: [Promise<unknown>, string][] = [
    [launched({ protocolFds: null }), 'protocolFds'],
    [launched({ protocolFds: { read: 3, write: 2 ** 31 - 1 } }), 'fds.2147483647'],
    [launched({ secrets: null }), 'secrets'],
    [launched({ secret: {} }), 'options.secret'],
    [launched({ privateRoot: 7 }), 'privateRoot'],
    [executed({ controls: { nice: 99 } }), 'nice'],
    [executed({ controls: { limits: { nofiles: 1 } } }), 'limits.nofiles'],
    [executed({ controls: null }), 'controls'],
    [executed({ requirements: null }), 'requirements'],
    [executed({ control: {} }), 'options.control'],
  ]
  for (const [error, field] of cases) {
    expect(await error, field).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field } })
  }
  expect((await launched({ signal: new EventTarget() })).message).toBe('signal must be an AbortSignal')
  expect(existsSync(privateRoot)).toBe(false)
})

test('places that cannot be made are an error with the call that failed, and nothing is left [M-54, M-47]', async () => {
  const folder = privateRoot()
  let root = folder
  // So long that the private directory fits and a place in it does not.
  while (root.length < 4_050) root = join(root, 'd'.repeat(Math.min(200, 4_054 - root.length)))
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const error = await rejection(launch(auditing(), { privateRoot: root }))
  expect(error).toMatchObject({
    code: 'ERR_PRIVATE_DIRECTORY_CREATE_FAILED',
    details: { errno: -constants.errno.ENAMETOOLONG, syscall: 'mkdir' },
  })
  expect(readdirSync(root)).toEqual([])
  rmSync(join(folder, readdirSync(folder)[0] as string), { recursive: true })
})

test('a worker of another user owns its private places [M-62, M-66]', async () => {
  const root = privateRoot()
  chmodSync(root, 0o711)
  const executor = new LocalProcessExecutor({ privateRoot: root, logs: { stdoutBytes: 999, stderrBytes: 999 } })
  const controls = { uid: 61_235, gid: 61_235, groups: [] }
  const script = 'id -u; touch "$HOME/x" "$TMPDIR/x" ./x && stat -c "%u %a" . "$HOME"'
  const launched = { ...record('/bin/sh', ['-c', script]), environment: { PATH: '/usr/bin:/bin' } }
  const worker = await executor.spawn(launched, { controls })
  expect(await output(worker)).toBe('61235\n61235 700\n61235 700\n')
})

test('a later change of what was given changes nothing of a launch [M-48, M-66]', async () => {
  const logs = { stdoutBytes: 5, stderrBytes: 5 }
  const controls = { limits: { nofile: 64 } }
  const options = { privateRoot: privateRoot(), logs }
  const launched = { ...record('/bin/sh', ['-c', 'ulimit -n; echo 123456789']) }
  const executor = new LocalProcessExecutor(options)
  logs.stdoutBytes = 999
  const starting = executor.spawn(launched, { controls })
  controls.limits.nofile = 99
  expect(await output(await starting)).toBe('64\n12')
})

test('an env entry point needs a PATH in its record, and says so in its own way [M-59]', async () => {
  const script = join(tmpFolder(), 'tool')
  const folder = tmpFolder()
  writeFileSync(script, '#!/usr/bin/env exactspawn-test-tool\n')
  chmodSync(script, 0o755)
  symlinkSync('/bin/echo', join(folder, 'exactspawn-test-tool'))
  const without = await launch(record(script, []))
  const { exit, stderr } = await without.wait()
  expect(exit).toMatchObject({ code: 127, signal: null })
  expect(Buffer.from(stderr.bytes).toString()).toContain('exactspawn-test-tool')
  const given = await launch({ ...record(script, ['x']), environment: { PATH: folder } })
  expect(await output(given)).toBe(`${script} x\n`)
})

test('a missing root is not made, and a start that fails leaves no directory [M-56, M-57, M-47]', async () => {
  const folder = tmpFolder()
  const logs = { stdoutBytes: 0, stderrBytes: 0 }
  const missing = join(folder, 'none')
  expect(await rejection(launchTrustedLocalWorker(auditing(), { privateRoot: missing, logs }))).toMatchObject({
    code: 'ERR_PRIVATE_ROOT_UNAVAILABLE',
    details: { path: missing },
  })
  expect(existsSync(missing)).toBe(false)
  mkdirSync(join(folder, 'root'), 0o700)
  const started = launchTrustedLocalWorker(record(join(folder, 'no-program'), []), {
    privateRoot: join(folder, 'root'),
    logs,
  })
  expect(await rejection(started)).toMatchObject({ code: 'ERR_SPAWN_FAILED', details: { stage: 'exec' } })
  const aborted = launchTrustedLocalWorker(auditing(), {
    privateRoot: join(folder, 'root'),
    logs,
    signal: AbortSignal.abort(),
  })
  expect(await rejection(aborted)).toMatchObject({ code: 'ERR_ABORTED' })
  expect(readdirSync(join(folder, 'root'))).toEqual([])
  expect(childrenOf()).toEqual([])
})

test('a directory goes with its worker, however it ends, and no link in it is followed [M-56]', async () => {
  const canary = tmpFolder()
  writeFileSync(join(canary, 'stays'), '')
  const script = `ln -s '${canary}' link; ln -s '${canary}' home/link; read line <&3; exit 3`
  const planting = record('/bin/sh', ['-c', script])
  const ends: Record<string, (worker: PosixWorkerProcess) => Promise<unknown>> = {
    wait: (worker) => worker.wait(),
    kill: (worker) => (worker.kill(), worker.wait()),
    dispose: (worker) => worker[Symbol.asyncDispose](),
  }
  for (const [name, end] of Object.entries(ends)) {
    const root = privateRoot()
    const worker = await launch(planting, { privateRoot: root })
    const directory = worker.workingDirectory as string
    expect(readdirSync(root).filter((entry) => PREFIX.test(entry)).length, name).toBeGreaterThan(0)
    expect(existsSync(directory)).toBe(true)
    await end(worker)
    expect(readdirSync(root), name).toEqual([])
    expect(readdirSync(canary)).toEqual(['stays'])
  }
})

test('a private directory restricts no access to other files: this is no sandbox [M-67, M-77]', async () => {
  const worker = await launch(record('/bin/cat', ['/proc/sys/kernel/ostype']))
  expect(await output(worker)).toBe('Linux\n')
})
