/** What ends a child whoever waits for it: an abort, a timeout; and what keeps a host alive or lets it go. */
import { capture, spawn } from 'exactspawn'
import { getEventListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { hostSays, startHost } from '../../support/host.js'
import { childrenOf, groupMembers } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { timed, until, within } from '../../support/until.js'
import { announced, checkedPid, env, escapee, fixture, hostTools, logged, shell } from './children.js'


test('a signal that has aborted starts nothing [B086]', async () => {
  const marker = join(tmpFolder(), 'marker')
  const reason = new Error('never')
  const signal = AbortSignal.abort(reason)
  const args = ['-c', 'echo started > "$0"; exec sleep 30', marker]
  const before = childrenOf()
  const starts = [
    spawn({ program: '/bin/sh', args, env }, { signal }),
    spawn({ program: '/bin/sh', args, env, lifetime: { signal } }),
  ]
  for (const start of starts) await expect(start).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: reason })
  expect(childrenOf()).toEqual(before)
  expect(existsSync(marker)).toBe(false)
})

test('an abort in the turn of the start rejects with the reason and leaves no child [B086]', async () => {
  for (const bounds of ['lifetime', 'start'] as const) {
    const abort = new AbortController()
    const { signal } = abort
    const spec = { program: '/bin/sleep', args: ['30'], env }
    const start = bounds === 'start' ? spawn(spec, { signal }) : spawn({ ...spec, lifetime: { signal } })
    const reason = new Error(bounds)
    abort.abort(reason)
    await expect(start).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: reason })
    await until('no child', () => childrenOf().length === 0, 1_000)
  }
})

test('a start\'s own signal has no say once the child is there [B087]', async () => {
  const abort = new AbortController()
  await using child = await spawn({ program: '/bin/sleep', args: ['0.1'], env }, { signal: abort.signal })
  abort.abort()
  expect(await child.wait()).toMatchObject({ code: 0, endedBy: 'self' })
})

test('an aborted child is gone with its group before its waits reject with the reason [B087, B088]', async () => {
  class Enough extends Error {}
  const reason = new Enough('enough')
  const abort = new AbortController()
  const child = await fixture('ignore TERM -- fork-ignore TERM 60000 -- pause', {
    lifetime: { signal: abort.signal, graceMs: 120 },
  })
  await announced(child, 1)
  await logged(child, 'ready')
  const start = performance.now()
  abort.abort(reason)
  const error = await child.wait().catch((error: unknown) => error)
  expect(groupMembers(child.pid)).toEqual([])
  expect(performance.now() - start).toBeGreaterThanOrEqual(120)
  expect(performance.now() - start).toBeLessThan(within(1_500))
  expect(error).toMatchObject({ name: 'AbortError', code: 'ERR_ABORTED', cause: reason })
  expect(error).toHaveProperty('details.exit', child.tryWait())
  expect(child.tryWait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'abort', escalated: true })
  await expect(child.wait()).rejects.toBe(error)
})

test('an abort after the end changes nothing [B087]', async () => {
  for (const seen of [true, false]) {
    const abort = new AbortController()
    const child = await shell('exit 0', { lifetime: { signal: abort.signal } })
    await until('the exit', () => child.tryWait())
    if (seen) await child.wait()
    abort.abort(new Error('late'))
    expect(await child.wait()).toMatchObject({ code: 0, signal: null, endedBy: 'self', escalated: false })
  }
})

test('an abort uses the first signal it was given, then SIGKILL [B088]', async () => {
  for (const firstSignal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const abort = new AbortController()
    const child = await fixture('trap INT INT; -- trap TERM TERM; -- pause', {
      lifetime: { signal: abort.signal, firstSignal, graceMs: 60 },
    })
    await logged(child, 'ready')
    abort.abort()
    await expect(child.wait()).rejects.toMatchObject({ code: 'ERR_ABORTED' })
    const said = firstSignal === 'SIGKILL' ? '' : `${firstSignal.slice(3)};`
    expect(child.log(1).snapshot().text()).toBe(`ready\n${said}`)
    expect(child.tryWait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'abort' })
  }
})

test('a terminate that finds an abort under way ends well with it [B088, M-81]', async () => {
  const abort = new AbortController()
  const reason = new Error('enough')
  const child = await fixture('ignore TERM -- pause', { lifetime: { signal: abort.signal, graceMs: 60 } })
  await logged(child, 'ready')
  abort.abort(reason)
  await expect(child.terminate()).rejects.toMatchObject({ code: 'ERR_ABORTED', cause: reason })
  expect(child.tryWait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'abort', escalated: true })
})

test('an abort that nobody waits for leaves no zombie [B087, B068]', async () => {
  const abort = new AbortController()
  const child = await fixture('ignore TERM -- pause', { lifetime: { signal: abort.signal, graceMs: 20 } })
  await logged(child, 'ready')
  abort.abort()
  await until('the end', () => childrenOf().length === 0)
  expect(child.tryWait()).toMatchObject({ signal: 'SIGKILL' })
})

test('each cause of an end has its own name [B088]', async () => {
  const abort = new AbortController()
  const ended = async (child: Promise<Awaited<ReturnType<typeof shell>>>, end: (pid: number) => unknown) => {
    const handle = await child
    await logged(handle, 'up')
    end(handle.pid)
    const exit = await handle.wait().catch((error) => error.details.exit)
    return exit.endedBy
  }
  const loop = 'echo up; exec sleep 60'
  expect(await ended(shell('echo up'), () => {})).toBe('self')
  expect(await ended(shell(loop), (pid) => process.kill(checkedPid(pid), 'SIGTERM'))).toBe('self')
  expect(await ended(shell(loop, { lifetime: { timeoutMs: within(100) } }), () => {})).toBe('timeout')
  expect(await ended(shell(loop, { lifetime: { signal: abort.signal } }), () => abort.abort())).toBe('abort')
  await using terminated = await shell(loop)
  expect(await terminated.terminate()).toHaveProperty('endedBy', 'terminate')
  await using killed = await shell(loop)
  killed.kill()
  expect(await killed.wait()).toHaveProperty('endedBy', 'kill')
})

test('a timeout ends a child in time whatever holds its output [B049]', async () => {
  // Long enough for all of a group to end within the grace.
  const timeout = { lifetime: { timeoutMs: 200, graceMs: within(150) }, drainMs: 150 }
  const inGroup = ['sleep 30; true', 'sleep 30 | cat', '(sleep 30); true'].map(async (script) => {
    const child = await shell(script, timeout)
    const { result, ms } = await timed(() => child.wait())
    expect(result, script).toMatchObject({ endedBy: 'timeout', escalated: false })
    expect(result.logs[1]?.complete).toBe(true)
    expect(ms).toBeLessThan(within(1_000))
    expect(groupMembers(child.pid)).toEqual([])
  })
  await Promise.all(inGroup)
})

test('a timeout also ends the wait for a child whose escapee holds its output [B049]', async () => {
  const verbs = 'setsid-and-hold 1 20000 -- pause'
  // The timeout comes after the holder has been told.
  const child = await fixture(verbs, { lifetime: { timeoutMs: within(200), graceMs: 100 }, drainMs: 150 })
  const [holder] = (await announced(child, 1)) as [number]
  escapee(holder)
  const { result, ms } = await timed(() => child.wait().catch((error: unknown) => error))
  expect(result).toMatchObject({ code: 'ERR_LOG_DRAIN_DEADLINE', details: { streams: [1], deadlineMs: 150 } })
  expect(result).toHaveProperty('details.exit.endedBy', 'timeout')
  expect(ms).toBeLessThan(within(1_300))
})

test('a timeout ends a child that nobody waits for, and not before its time [B049]', async () => {
  const start = performance.now()
  // It ignores the first signal by the time that this comes.
  const timeoutMs = within(150)
  const child = await fixture('ignore TERM -- pause', { lifetime: { timeoutMs, graceMs: 50 } })
  await until('the exit', () => child.tryWait())
  expect(performance.now() - start).toBeGreaterThanOrEqual(timeoutMs + 50)
  expect(await child.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'timeout', escalated: true })
})

test('a child that ends in time is no timeout, and its timer holds no host [B091]', async () => {
  const [said] = await hostSays<{ ms: number; endedBy: string }>(`
    const child = await spawn({ program: '/bin/true', env: {}, lifetime: { timeoutMs: 60000 } });
    const { endedBy } = await child.wait();
    const start = performance.now();
    process.on('exit', () => say({ ms: performance.now() - start, endedBy }));`)
  expect(said?.endedBy).toBe('self')
  expect(said?.ms).toBeLessThan(within(150))
})

test('a timeout is enforced for a child that was let go of [B091]', async () => {
  const [said] = await hostSays<{ ms: number; state?: string }>(`${hostTools}
    const start = performance.now();
    const child = await spawn({ program: '/bin/sleep', args: ['60'], env, lifetime: { timeoutMs: 300, graceMs: 100 } });
    child.unref();
    process.on('exit', () => say({ ms: performance.now() - start, status: child.tryWait().signal }));`)
  expect(said?.ms).toBeGreaterThanOrEqual(300)
  expect(said?.ms).toBeLessThan(within(900))
  expect(said).toHaveProperty('status', 'SIGTERM')
})

test('a grace that was not needed holds no host [B091]', async () => {
  const [said] = await hostSays<{ ms: number }>(`${hostTools}
    const script = 'trap "sleep 0.05; exit 0" TERM; echo up; while :; do sleep 0.01; done';
    const child = await shell(script, { fds: { 1: capture({ headBytes: 9 }) } });
    await until('up', () => child.log(1).snapshot().totalBytes > 0);
    const start = performance.now();
    await child.terminate({ graceMs: 5000 });
    process.on('exit', () => say({ ms: performance.now() - start }));`)
  expect(said?.ms).toBeLessThan(within(400))
})

test('a running child keeps its host alive, also after it was let go of and taken back [B091]', async () => {
  const [said] = await hostSays<{ code: number; ms: number }>(`${hostTools}
    const start = performance.now();
    const child = await shell('exec sleep 0.3');
    child.unref();
    child.unref();
    child.ref();
    child.ref();
    process.on('exit', () => say({ ms: performance.now() - start, code: child.tryWait().code }));`)
  expect(said?.code).toBe(0)
  expect(said?.ms).toBeGreaterThanOrEqual(300)
})

test('a host ends under a child that it let go of, and takes it along [B091, P-7]', async () => {
  const host = startHost(`${hostTools}
    const child = await shell('exec sleep 60');
    child.unref();
    say(child.pid);`)
  let said = ''
  host.stdout?.on('data', (bytes: Buffer) => (said += bytes.toString()))
  const start = performance.now()
  await new Promise((resolve) => host.once('close', resolve))
  expect(performance.now() - start).toBeLessThan(within(5_000))
  expect(groupMembers(checkedPid(Number(said)))).toEqual([])
})

test('fifty children add one listener for the exit, none for signals, and take it away [B090]', async () => {
  const events = ['exit', 'beforeExit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGCHLD', 'uncaughtException']
  const counts = () => events.map((event) => process.listenerCount(event))
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const before = counts()
  const children = await Promise.all(Array.from({ length: 50 }, () => shell('exec sleep 60')))
  const during = counts()
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.wait()))
  await pause(0) // warnings come a turn later
  process.off('warning', onWarning)
  expect(during).toEqual(before.map((count, index) => count + (index === 0 ? 1 : 0)))
  expect(counts()).toEqual(before)
  expect(warnings).toEqual([])
})

test('a signal that many children, starts and waits share gets one listener, and keeps none [B090]', async () => {
  const { signal } = new AbortController()
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const many = Array.from({ length: 12 })
  const starting = many.map(() => spawn({ program: '/bin/sleep', args: ['60'], env, lifetime: { signal } }, { signal }))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  const children = await Promise.all(starting)
  const waits = children.map((child) => child.wait({ signal }))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const child of children) child.kill()
  await Promise.all(waits)
  await pause(0) // warnings come a turn later
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a lifetime\'s signal is listened to only while the child lives [B090]', async () => {
  const abort = new AbortController()
  let listeners = 0
  const { signal } = abort
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args))
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args))
  const child = await spawn({ program: '/bin/true', env, fds: { 1: capture({ headBytes: 1 }) }, lifetime: { signal } })
  expect(listeners).toBe(1)
  await child.wait()
  expect(listeners).toBe(0)
})
