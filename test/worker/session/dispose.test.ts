/** The end that nobody asked the worker for: dispose in every state, and handles that were forgotten. */
import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { launchTrustedLocalWorker, WorkerSession } from '../../../lib/worker.js'
import { alive, childrenOf, openFds } from '../../support/process-table.js'
import { timed, until, within } from '../../support/until.js'
import {
  abuse,
  anyExecute,
  begin,
  connect,
  expectEnd,
  expectGone,
  launch,
  privateRoot,
  rejection,
  said,
  sortingWorker,
  timeouts,
  workerId,
} from '../../support/worker.js'
import { checkedPid, escapee, gone } from '../../process/ends/children.js'

const terms = { role: 'implementation', workerId, timeouts } as const
const PROMPT_MS = within(800)

test('a disposed session is unusable and has no cause to tell: nothing failed [M-86, MP-14]', async () => {
  const { session, process } = await connect(sortingWorker())
  await Promise.all([session[Symbol.asyncDispose](), session[Symbol.asyncDispose]()])
  expectGone(process)
  expect(session.usable).toBe(false)
  const later = await rejection(begin(session, 'prepare'))
  expect(later).toMatchObject({ code: 'ERR_SESSION_UNUSABLE', details: { phase: 'prepare' } })
  expect(later.cause).toBe(undefined)
  await session[Symbol.asyncDispose]()
})

test('a scope that is left by a throw ends the worker [M-45, M-86]', async () => {
  const { session, process } = await connect(sortingWorker())
  const scope = async () => {
    await using owned = session
    await begin(owned, 'nothing that is known')
  }
  await expect(scope()).rejects.toThrow('no phase')
  expectGone(process)
})

test('dispose ends a call that is pending, at once [M-86, P-5]', async () => {
  const connected = await connect(abuse('sleeps'))
  const call = connected.session.execute(anyExecute)
  const disposal = connected.session[Symbol.asyncDispose]()
  const details = { phase: 'execute', by: 'host' }
  const { ms } = await timed(() => expectEnd(connected, call, { code: 'ERR_PROTOCOL_CLOSED', details }))
  await disposal
  expect(ms).toBeLessThan(PROMPT_MS)
})

test('dispose of the process ends a greeting that is pending [M-86, P-5]', async () => {
  const process = await launch(abuse('sleeps', 'hello'))
  const connecting = rejection(WorkerSession.connect(process, terms))
  await process[Symbol.asyncDispose]()
  expect(await connecting).toMatchObject({ code: 'ERR_PROTOCOL_CLOSED', details: { phase: 'hello', by: 'host' } })
  expectGone(process)
})

test('dispose ends a shutdown that waits for the exit [M-86, P-5]', async () => {
  const { session, process } = await connect(abuse('acks-then-sleeps', 'shutdown', '0'))
  const call = rejection(session.shutdown())
  await until('the acknowledgement', () => !session.usable)
  const { ms } = await timed(() => session[Symbol.asyncDispose]())
  expect(ms).toBeLessThan(PROMPT_MS)
  expect(await call).toMatchObject({ code: 'ERR_UNSUCCESSFUL_EXIT', details: { exit: { signal: 'SIGKILL' } } })
  expectGone(process)
})

test('dispose after a failure, and after a shutdown, does nothing more [M-82, MP-14]', async () => {
  const failed = await connect(abuse('mismatched-id'))
  await rejection(begin(failed.session, 'execute'))
  await failed.session[Symbol.asyncDispose]()
  const ended = await connect(sortingWorker())
  const output = await ended.session.shutdown()
  await ended.session[Symbol.asyncDispose]()
  expect(await ended.process.wait()).toBe(output)
  for (const { process } of [failed, ended]) expectGone(process)
})

test('dispose is prompt and complete while an escapee holds logs and both ends [B049, M-86, M-89]', async () => {
  const before = openFds().size
  const { session, process } = await connect(abuse('escapes'))
  await begin(session, 'execute')
  const pid = escapee(await said(process, 'escapee'), 'abuse.py')
  const { ms } = await timed(() => session[Symbol.asyncDispose]())
  expect(ms).toBeLessThan(PROMPT_MS)
  expectGone(process)
  await until('the descriptors as before', () => openFds().size === before)
  expect(process.logSnapshot().complete).toBe(false)
  expect(alive(pid)).toBe(true)
})

test('a session that nobody holds any more ends with its worker and its directory [M-45, M-89, P-7]', async () => {
  const folder = privateRoot()
  const pid = await forgotten(folder)
  await until('the end of a forgotten worker', () => {
    globalThis.gc?.()
    return !childrenOf().includes(pid) && readdirSync(folder).length === 0
  })
  await gone(pid)
  expect(existsSync(folder)).toBe(true)
})

/** Leaves a connected session unreachable. */
async function forgotten(folder: string): Promise<number> {
  const logs = { stdoutBytes: 1, stderrBytes: 1 }
  const process = await launchTrustedLocalWorker(sortingWorker(), { privateRoot: folder, logs })
  const session = await WorkerSession.connect(process, terms)
  return checkedPid(session.pid)
}
