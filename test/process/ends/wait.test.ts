/** Waits: their bounds, their one record, and what can be had without one. */
import type { Exit } from 'exactspawn'
import { capture, spawn } from 'exactspawn'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { processFacts } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import { announced, env, fixture, logged, rounds, shell } from './children.js'

test('a wait refuses a bound that is none, and the child goes on [P-5]', async () => {
  await using child = await shell('exec sleep 60')
  await expect(child.wait({ timeoutMs: 'soon' as unknown as number })).rejects.toThrow(TypeError)
  await expect(child.wait({ timeoutMs: -1 })).rejects.toThrow(RangeError)
  await expect(child.wait({ signal: {} as AbortSignal })).rejects.toThrow(TypeError)
  expect(child.tryWait()).toBeNull()
})

test('a wait ends at its own limit, never before, and the child goes on [P-5]', async () => {
  await using child = await fixture('wait-for-file /proc/self/none')
  const wait = timed(() => child.wait({ timeoutMs: 60 }).catch((error: unknown) => error))
  const { result, ms } = await wait
  expect(result).toMatchObject({ name: 'LifecycleError', code: 'ERR_WAIT_TIMEOUT', details: { timeoutMs: 60 } })
  expect(ms).toBeGreaterThanOrEqual(60)
  expect(ms).toBeLessThan(within(1_000))
  expect(child.tryWait()).toBeNull()
  expect(child.signal('SIGTERM')).toBe(true)
  expect(await child.wait()).toMatchObject({ signal: 'SIGTERM', endedBy: 'self' })
})

test('an aborted wait rejects with the reason, and the child goes on [P-5]', async () => {
  await using child = await shell('exec sleep 60')
  const reason = new Error('enough')
  const abort = new AbortController()
  const wait = child.wait({ signal: abort.signal })
  abort.abort(reason)
  const expected = { name: 'AbortError', code: 'ERR_ABORTED', cause: reason }
  await expect(wait).rejects.toMatchObject(expected)
  await expect(child.wait({ signal: abort.signal })).rejects.toMatchObject(expected)
  expect(child.tryWait()).toBeNull()
})

test('a wait that was given up settles no group [P-5, B053]', async () => {
  await using child = await fixture('fork-pause 1 -- wait-for-file /proc/self/none')
  await announced(child, 1)
  await child.wait({ timeoutMs: 0 }).catch(() => {})
  child.signal('SIGKILL')
  await until('the exit', () => child.tryWait())
  // The zombie is held: nobody has asked for the end of its group.
  expect(processFacts(child.pid)?.state).toBe('Z')
  expect(await child.wait()).toMatchObject({ signal: 'SIGKILL', endedBy: 'self', groupLeft: 1 })
})

test('an exit is known without a wait and a turn of the loop, and nothing is reaped [M-39]', async () => {
  await using child = await shell('exit 19')
  const end = performance.now() + within(5_000)
  while (child.tryWait() === null && performance.now() < end);
  const status = child.tryWait()
  expect(status).toEqual({ code: 19, signal: null, coreDumped: false, lost: false })
  expect(Object.isFrozen(status)).toBe(true)
  expect(child.tryWait()).toBe(status)
  expect(processFacts(child.pid)?.state).toBe('Z')
  const exit = await child.wait()
  expect(exit).toMatchObject({ code: 19, endedBy: 'self' })
  expect(child.tryWait()).toBe(exit)
})

test('a running child has no exit to give [M-39]', async () => {
  await using child = await shell('echo up; exec sleep 60')
  await logged(child, 'up\n')
  expect(child.tryWait()).toBeNull()
})

test('an exit record has its fields and no other, and nothing in it can be changed [P-8]', async () => {
  const child = await shell('echo out; exit 3', { fds: { 2: capture({ headBytes: 10 }) } })
  const exit = await child.wait()
  expect(Object.keys(exit).sort()).toEqual(
    'code coreDumped endedBy escalated groupLeft logs lost signal usage'.split(' '),
  )
  expect(exit).toMatchObject({
    code: 3,
    signal: null,
    coreDumped: false,
    lost: false,
    endedBy: 'self',
    escalated: false,
    groupLeft: 0,
  })
  expect(Object.keys(exit.logs)).toEqual(['1', '2'])
  expect(exit.logs[1]).toMatchObject({ totalBytes: 4, omittedBytes: 0, truncated: false, complete: true })
  expect(exit.logs[1]?.text()).toBe('out\n')
  for (const value of [exit, exit.usage, exit.logs, exit.logs[1]]) expect(Object.isFrozen(value)).toBe(true)
})

test('a child that a signal ended has that signal and no code [P-8]', async () => {
  for (const signal of ['SIGTERM', 'SIGABRT', 'SIGKILL'] as const) {
    const child = await fixture(`raise ${signal}`, { limits: { core: 0 } })
    expect(await child.wait()).toMatchObject({ code: null, signal, coreDumped: false, endedBy: 'self', lost: false })
  }
})

test('every exit code comes as it is, and none rejects [P-8]', async () => {
  const codes = [0, 1, 2, 19, 126, 127, 128, 254, 255]
  const children = await Promise.all(codes.map((code) => fixture(`exit ${code}`)))
  const exits = await Promise.all(children.map((child) => child.wait()))
  expect(exits.map(({ code }) => code)).toEqual(codes)
})

test('every wait gives the same record, also beside waits that were aborted or timed out [B066, P-8]', async () => {
  const seed = Date.now() % 1_000
  for (let round = 0; round < rounds(8); round++) {
    const child = await shell('sleep 0.03; exit 19')
    const abort = [10, 25, 35].map((ms, index) => AbortSignal.timeout(ms + ((seed + round * 7 + index) % 10)))
    const bounds = [...abort.map((signal) => ({ signal })), { timeoutMs: 15 }]
    const bounded = Promise.allSettled(bounds.map((bound) => child.wait(bound)))
    const free = Array.from({ length: 6 }, () => child.wait())
    const first = await child.wait()
    expect(first).toMatchObject({ code: 19, signal: null, lost: false })
    for (const exit of await Promise.all(free)) expect(exit).toBe(first)
    for (const result of await bounded) {
      if (result.status === 'fulfilled') expect(result.value).toBe(first)
      else expect(result.reason.code).toBeOneOf(['ERR_ABORTED', 'ERR_WAIT_TIMEOUT'])
    }
    await child[Symbol.asyncDispose]()
    expect(await child.wait()).toBe(first)
    expect(await child.terminate()).toBe(first)
    expect(child.tryWait()).toBe(first)
  }
})

test('a child that ended before anyone asked is told all the same [B067]', async () => {
  for (const delayMs of [0, 1, 300]) {
    const starts = Array.from({ length: rounds(50) }, async (): Promise<Exit> => {
      const child = await spawn({ program: '/bin/true', env })
      if (delayMs > 0) await pause(delayMs) // the case: nobody watches for so long
      return await child.wait({ timeoutMs: within(10_000) })
    })
    for (const exit of await Promise.all(starts)) expect(exit).toMatchObject({ code: 0, lost: false })
  }
})

test('a wait that begins at the exit itself settles at once [B067]', async () => {
  const child = await shell('exit 5')
  await until('the exit', () => child.tryWait())
  const { result, ms } = await timed(() => child.wait())
  expect(result.code).toBe(5)
  expect(ms).toBeLessThan(within(500))
})

test('options that are none, or that a call does not have, are refused with their name [P-2, P-5]', async () => {
  const options = (given: unknown) => given as never
  const refusal = (field: string) => ({ name: 'TypeError', code: 'ERR_INVALID_SPEC', field })
  const spec = { program: '/bin/true', env }
  await expect(spawn(spec, options(null))).rejects.toMatchObject(refusal('options'))
  await expect(spawn(spec, options({ timeoutMs: 5 }))).rejects.toMatchObject(refusal('options.timeoutMs'))
  await using child = await shell('exec sleep 60')
  for (const none of [null, 5, 'x', [], AbortSignal.abort()]) {
    await expect(child.wait(options(none))).rejects.toMatchObject(refusal('options'))
    await expect(child.terminate(options(none))).rejects.toMatchObject(refusal('options'))
  }
  await expect(child.wait(options({ timeout: 5 }))).rejects.toMatchObject(refusal('options.timeout'))
  await expect(child.terminate(options({ grace: 5 }))).rejects.toMatchObject(refusal('options.grace'))
  expect(child.tryWait()).toBe(null)
})
