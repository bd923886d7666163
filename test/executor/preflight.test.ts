/** What a local executor says it can do, and that it starts nothing which it cannot do. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import type { Requirements, WorkerExecutor } from '../../lib/executor.js'
import { LocalProcessExecutor } from '../../lib/executor.js'
import { PosixWorkerProcess, WorkerSession } from '../../lib/worker.js'
import { childrenOf, openFds } from '../support/process-table.js'
import { tmpFolder } from '../support/tmp.js'
import { record, rejection, sortingWorker, timeouts, workerId } from '../support/worker.js'

const logs = { stdoutBytes: 999, stderrBytes: 999 }

function executorOf(options: object = {}) {
  const privateRoot = mkdtempSync(join(tmpdir(), 'exactspawn-root-'))
  onTestFinished(() => rmSync(privateRoot, { recursive: true }))
  return { executor: new LocalProcessExecutor({ privateRoot, logs, ...options }), privateRoot }
}

const capabilities = {
  privateWorkingDirectories: 'supported',
  processGroups: 'supported',
  cgroupContainment: 'unsupported',
  completeProcessTreeContainment: 'unsupported',
  filesystemIsolation: 'unsupported',
}

test('the report says of every capability whether it is there, needed, and why [M-74, M-76, M-77]', async () => {
  const { executor } = executorOf()
  const report = await executor.preflight()
  expect(report.capabilities).toEqual(capabilities)
  expect(report.satisfied).toBe(true)
  expect(report.lines.map(({ capability, status, required }) => [capability, status, required])).toEqual(
    Object.entries(capabilities).map(([name, status]) => [name, status, false]),
  )
  const reasons = Object.fromEntries(report.lines.map(({ capability, reason }) => [capability, reason]))
  expect(reasons['completeProcessTreeContainment']).toContain('leave its group by making a session')
  expect(reasons['filesystemIsolation']).toContain('restricts no access')
  expect([report, report.lines, report.lines[0], report.capabilities].every(Object.isFrozen)).toBe(true)
})

test('a requirement that is none, or neither needed nor not, is refused [M-72]', async () => {
  const { executor } = executorOf()
  for (const [name, value] of [['sandbox', 'required'], ['processGroups', true], ['toString', 'required']]) {
    const error = await rejection(executor.preflight({ [name as string]: value } as Requirements))
    expect(error).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field: `requirements.${String(name)}` } })
  }
})

test('what is not there is told before anything is made, also by spawn [M-72, M-73, M-75]', async () => {
  const { executor, privateRoot } = executorOf()
  const before = openFds().size
  const cases: [Requirements, string][] = [
    [{ completeProcessTreeContainment: 'required' }, 'ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE'],
    [
      { filesystemIsolation: 'required', completeProcessTreeContainment: 'required' },
      'ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE',
    ],
    [{ filesystemIsolation: 'required' }, 'ERR_PREFLIGHT_FAILED'],
    [{ cgroupContainment: 'required' }, 'ERR_PREFLIGHT_FAILED'],
  ]
  for (const [requirements, code] of cases) {
    expect((await executor.preflight(requirements)).satisfied).toBe(false)
    const error = await rejection(executor.spawn(record('/bin/true', []), { requirements }))
    expect(error.code).toBe(code)
    if (code.includes('TREE')) expect(error.message).toContain('making a session')
  }
  expect(readdirSync(privateRoot)).toEqual([])
  expect(childrenOf()).toEqual([])
  expect(openFds().size).toBe(before)
})

test('what is met starts a worker that a session can use [M-69, M-71]', async () => {
  const { executor, privateRoot } = executorOf()
  const requirements = { processGroups: 'required', filesystemIsolation: 'not-required' } as const
  const worker = await executor.spawn(sortingWorker(), { requirements })
  expect(worker).toBeInstanceOf(PosixWorkerProcess)
  await using session = await WorkerSession.connect(worker, { role: 'implementation', workerId, timeouts })
  expect((await session.shutdown()).exit.code).toBe(0)
  expect(readdirSync(privateRoot)).toEqual([])
})

test('controls go to the core, and one that is none is refused before anything is made [M-66]', async () => {
  const { executor, privateRoot } = executorOf()
  const limited = await executor.spawn(record('/bin/sh', ['-c', 'ulimit -n']), { controls: { limits: { nofile: 77 } } })
  expect(Buffer.from((await limited.wait()).stdout.bytes).toString()).toBe('77\n')
  for (const control of ['lifetime', 'owner', 'leftovers', 'env', 'cgroup', 'drainMs']) {
    const controls = { [control]: {} } as never
    const error = await rejection(executor.spawn(record('/bin/true', []), { controls }))
    expect(error).toMatchObject({ code: 'ERR_UNSUPPORTED_CONTROL', details: { control } })
  }
  expect(readdirSync(privateRoot)).toEqual([])
})

test('options that an executor does not have are refused where it is made [M-69, P-2]', async () => {
  const options = { privateRoot: '/tmp', logs }
  for (const [changed, field] of [
    [{ privateRoot: null }, 'privateRoot'],
    [{ cgroup: { parent: 'relative' } }, 'cgroup.parent'],
    [{ cgroup: null }, 'cgroup'],
    [{ cgroups: {} }, 'options.cgroups'],
  ] as const) {
    const make = () => new LocalProcessExecutor({ ...options, ...changed } as never)
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_INVALID_SPEC', details: expect.objectContaining({ field }) as object }))
  }
  expect(() => new LocalProcessExecutor({ ...options, logs: null } as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_LOG_LIMITS' }),
  )
  const terminated = rejection(new LocalProcessExecutor(options).terminate({} as never, null as never))
  expect(await terminated).toMatchObject({ code: 'ERR_INVALID_SPEC' })
})

test('a folder that only looks like a cgroup is none [M-74, M-76]', async () => {
  const parent = tmpFolder()
  writeFileSync(join(parent, 'cgroup.procs'), '')
  const report = await executorOf({ cgroup: { parent } }).executor.preflight()
  expect(report.capabilities.cgroupContainment).toBe('unsupported')
  const line = report.lines.find(({ capability }) => capability === 'cgroupContainment')
  expect(line?.reason).toContain('no cgroup v2 file system')
})

interface Job {
  readonly queue: string
}

class QueueExecutor implements WorkerExecutor<Job, { requirements?: Requirements; queue: string }> {
  preflight = () => executorOf().executor.preflight()
  spawn = () => Promise.resolve({ queue: 'long' })
  terminate = (job: Job) => Promise.resolve({ code: job.queue.length, signal: null, coreDumped: false } as never)
}

test('another backend has a process type of its own, and three concerns [M-69, M-70]', async () => {
  const other: WorkerExecutor<Job, { requirements?: Requirements; queue: string }> = new QueueExecutor()
  expectTypeOf<keyof typeof other>().toEqualTypeOf<'preflight' | 'spawn' | 'terminate'>()
  const job = await other.spawn(record('/bin/true', []), { queue: 'long' })
  expectTypeOf(job).toEqualTypeOf<Job>()
  // @ts-expect-error a job is no process of this machine
  void ((local: LocalProcessExecutor) => local.terminate(job, { graceMs: 1 }))
  expect(await other.terminate(job, { graceMs: 1 })).toMatchObject({ code: 4 })
})
