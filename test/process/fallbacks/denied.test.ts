/** A kernel, or the sandbox of a container, that refuses what a start ordinarily uses: found out, and done without. */
import { expect, test } from 'vitest'
import { denysys } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import type { Told } from './birth.js'
import { born } from './birth.js'

let first: Told | undefined
const ordinary = async (): Promise<Told> => (first ??= await born())

const noPidfd = { pidfd: false, pidfdGroupSignal: false, pidfdExitInfo: false }
const byThread = { exitControl: 'watched by a thread', waiters: [1, 0] }
const rest = { closeRange: false, memfdExec: false, ...noPidfd }
const calls = ['close_range', 'pidfd_send_signal', 'waitid:P_PIDFD', 'memfd_create']

test('a bytes source without memory files is refused with its call, and the next start works [N-8, P-2]', async () => {
  const said = await hostSays(
    `const start = { program: '/bin/true', env: {} };
    const { code, stage, errno, syscall, field } = await spawn({ ...start, fds: { 0: { bytes: Buffer.from('x') } } }).catch((error) => error);
    say({ code, stage, errno, syscall, field });
    say((await (await spawn(start)).wait()).code);`,
    { wrapper: [denysys(), 'EPERM', 'memfd_create', '--'] },
  )
  const refused = { code: 'ERR_SPAWN_FAILED', stage: 'file', errno: -1, syscall: 'memfd_create', field: 'fds.0' }
  expect(said).toEqual([refused, 0])
})

test('where no child may use the memory of the host it gets a copy, and a guard is refused [N-8, P-2]', async () => {
  const said = await hostSays(
    `const start = { program: '/bin/true', env: {} };
    const { code, stage, errno } = await spawn({ ...start, guard: true }).catch((error) => error);
    const child = await spawn(start);
    say([{ code, stage, errno }, child.receipt.mechanism, (await child.wait()).code]);`,
    { wrapper: [denysys(), 'ENOSYS', 'clone3', 'EPERM', 'clone:CLONE_VM+VFORK', '--'] },
  )
  expect(said).toEqual([[{ code: 'ERR_SPAWN_FAILED', stage: 'clone', errno: -1 }, 'fork', 0]])
})

test('the ordinary birth, by which the others are measured, is whole [N-8, P-1]', async () => {
  const { audit, mechanism, exitControl, waiters, outcomes } = await ordinary()
  expect({ mechanism, exitControl, waiters }).toEqual({
    mechanism: 'clone3',
    exitControl: 'watched by pidfd',
    waiters: [0, 0],
  })
  expect((audit['fds'] as number[][]).map(([fd]) => fd)).toEqual([0, 1, 2, 4, 5, 9])
  expect(audit).toMatchObject({ argv: ['named', 'audit', '9', '--', 'exit', '7'], env: ['A=1'], cwd: '/', umask: 0o027 })
  expect(audit).toMatchObject({ leads: [true, true, true], nice: 3, affinity: [0], pdeathsig: 9, ignored: [], handled: [] })
  const ended = { code: null, signal: 'SIGTERM', groupLeft: 0, lost: false }
  expect(outcomes).toEqual([
    { ...ended, code: 7, signal: null, endedBy: 'self' },
    { ...ended, endedBy: 'terminate' },
    { members: 3, living: 0 },
    { ...ended, code: 0, signal: null, endedBy: 'self', groupLeft: 1 },
    { ...ended, signal: 'SIGKILL', endedBy: 'kill' },
    { ...ended, endedBy: 'timeout' },
    { code: 'ERR_SPAWN_FAILED', stage: 'exec', errno: -2 },
    { code: 'ERR_SPAWN_FAILED', stage: 'chdir', errno: -2 },
  ])
})

test.each([
  ['close_range', ['ENOSYS', 'close_range'], { closeRange: false }, {}],
  ['signals by pidfd', ['ENOSYS', 'pidfd_send_signal'], noPidfd, byThread],
  ['waits by pidfd', ['ENOSYS', 'waitid:P_PIDFD'], noPidfd, byThread],
  ['memory files', ['ENOSYS', 'memfd_create'], { memfdExec: false }, {}],
  ['what a filter forbids', ['EPERM', ...calls], rest, byThread],
  ['what a filter calls invalid', ['EINVAL', ...calls], rest, byThread],
  ['clone3', ['ENOSYS', 'clone3'], { clone3: false }, { mechanism: 'clone' }],
  ['any pidfd', ['ENOSYS', 'clone:CLONE_PIDFD'], noPidfd, byThread],
  ['any pidfd, forbidden', ['EPERM', 'clone:CLONE_PIDFD'], noPidfd, byThread],
  ['any pidfd, invalid', ['EINVAL', 'clone:CLONE_PIDFD'], noPidfd, byThread],
  [
    'all that came after Linux 4.18',
    ['ENOSYS', 'clone3', 'pidfd_open', ...calls, 'EINVAL', 'clone:CLONE_PIDFD'],
    { ...rest, clone3: false },
    { ...byThread, mechanism: 'clone' },
  ],
])('a child is the same without %s [N-8, P-1]', async (_, denied, missing, differs) => {
  const { capabilities, ...others } = await ordinary()
  expect(await born(denied)).toEqual({ ...others, ...differs, capabilities: { ...capabilities, ...missing } })
})

test.each([
  ['a copy of the memory', { forceFork: true }, { sharedMemoryClone: false }, { mechanism: 'fork' }],
  ['an older kernel of signals to groups', { noGroupPidfd: true }, { pidfdGroupSignal: false }, {}],
  ['an older kernel of statuses', { noExitInfo: true }, { pidfdExitInfo: false }, {}],
  [
    'a copy of the memory and nothing newer',
    { forceFork: true, noPidfd: true, noCloseRange: true, noMemfdExec: true },
    { ...rest, sharedMemoryClone: false },
    { ...byThread, mechanism: 'fork' },
  ],
])('a child is the same with %s [N-8, P-1]', async (_, hooks, missing, differs) => {
  const { capabilities, ...others } = await ordinary()
  expect(await born([], hooks)).toEqual({ ...others, ...differs, capabilities: { ...capabilities, ...missing } })
})
