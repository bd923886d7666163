/** What a slot leaves in a worker, as the kernel shows it, and what the worker says unasked. */
import { expect, test } from 'vitest'
import type { WorkerSession } from '../../../lib/worker.js'
import { until } from '../../support/until.js'
import { anyExecute, anyPrepare, connect, expectGone, rejection, reused, said } from '../../support/worker.js'

async function doing(session: WorkerSession, ...acts: unknown[]): Promise<void> {
  await session.prepare({ ...anyPrepare, implementation_parameters: { execute: acts } })
  await session.execute(anyExecute)
  await session.reset()
}

test('a slot that leaves nothing behind leaves the traces as they were [R-12]', async () => {
  const { session, process } = await connect(reused())
  const before = await process.traces()
  expect(before.members).toEqual([])
  expect(before.cwd).toBe(process.workingDirectory)
  expect(before.fds?.map((fd) => fd.split(' ')[0]).toSorted()).toEqual(['0', '1', '2', '3', '4'])
  await doing(session)
  await process.renewDirectory()
  expect(await process.traces()).toEqual(before)
  expect(() => session.checkSilent()).not.toThrow()
  await session.shutdown()
})

test('a member of the group, a changed directory and an open descriptor are seen [R-12, B053]', async () => {
  const { session, process } = await connect(reused())
  await doing(session, 'member', ['chdir', '/usr'], ['open', '/etc/passwd'])
  const member = await said(process, 'member')
  const { members, cwd, fds } = await process.traces()
  expect(members).toEqual([expect.stringMatching(new RegExp(`^${member} \\d+$`))])
  expect(cwd).toBe('/usr')
  expect(fds).toContain('5 /etc/passwd')
  await session.shutdown()
})

test('a file that was open before and is removed from the directory is the same descriptor [R-12]', async () => {
  const { session, process } = await connect(reused())
  await doing(session, ['open', '/proc/self/cmdline'], 'litter', ['open', 'marker'])
  const before = await process.traces()
  expect(before.fds).toContain(`6 ${process.workingDirectory}/marker`)
  await process.renewDirectory()
  expect((await process.traces()).fds).toEqual(before.fds)
  await session.shutdown()
})

test('of a worker that has gone nothing is shown [R-12]', async () => {
  const { session, process } = await connect(reused())
  process.kill()
  await until('the exit', () => process.tryWait() !== null)
  expect(await process.traces()).toMatchObject({ members: [], cwd: null })
  await session[Symbol.asyncDispose]()
  expectGone(process)
})

test.each([
  ['a response', 'late', 'ERR_RESPONSE_EXTRA'],
  ['bytes that are none', 'no-frame', 'ERR_FRAME_MALFORMED_JSON'],
])('%s that nobody has asked for is seen, and belongs to no later request [B122]', async (_, act, code) => {
  const { session, process } = await connect(reused())
  await session.prepare({ ...anyPrepare, implementation_parameters: { reset: [act] } })
  const answered = session.reset()
  if (act === 'no-frame') {
    expect(await rejection(answered)).toMatchObject({ code })
  } else {
    await answered
    await until('what came late', () => {
      try {
        session.checkSilent()
        return false
      } catch (error) {
        return (error as { code: string }).code === code
      }
    })
  }
  await session[Symbol.asyncDispose]()
  expectGone(process)
})
