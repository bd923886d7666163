/** The guard against more work: what it reads out of a trace and how it compares. */
import { expect, test } from 'vitest'
import { load } from './load.js'

interface Line {
  name: string
  counted: number
  budget: number
  verdict: 'ok' | 'over' | 'under'
}
type Counts = Record<string, unknown>
const compare = load<{ compare: (budget: Counts, counted: Counts) => Line[] }>('counts/compare')
interface Syscalls {
  readTrace: (text: string) => { child: Counts; host: Counts }
  fewest: (counts: Counts[]) => Counts
}
const syscalls = load<Syscalls>('counts/syscalls')

const budget = {
  tolerance: { syscalls: 0.05, waking: 0.5, single: { waitid: 0.5 }, instructions: 0.1, allocatedBytes: 0.1 },
  syscalls: { child: { dup3: 3 }, host: { close: 6, waitid: 3 }, waking: 20 },
  instructions: { filter: 100 },
  allocatedBytes: 1000,
}
const asBudgeted = { syscalls: budget.syscalls, instructions: budget.instructions, allocatedBytes: budget.allocatedBytes }

test('a trace is sorted into the calls of a child up to its exec and those of the host [P-3]', async () => {
  const { readTrace } = await syscalls
  const { child, host } = readTrace(
    [
      '10 execve("node", [], 0) = 0',
      '10 clone3({flags=CLONE_THREAD}) = 11',
      '11 clone3({flags=CLONE_VFORK} <unfinished ...>',
      '12 dup3(5, 1, 0) = 1',
      '12 execve("program", [], 0 <unfinished ...>',
      '11 <... clone3 resumed>, 64) = 12',
      '12 <... execve resumed>) = 0',
      '12 write(1, "", 0) = 0',
      '11 close(5) = 0',
      '10 --- SIGCHLD {} ---',
      '12 +++ exited with 0 +++',
    ].join('\n'),
  )

  expect(child).toEqual({ dup3: 1, execve: 1 })
  expect(host).toEqual({ execve: 1, clone3: 2, close: 1 })
})

test('of several countings the fewest of each call counts, and a call that one of them lacks does not [P-3]', async () => {
  const { fewest } = await syscalls

  expect(fewest([{ host: { close: 6, ppoll: 1 }, waking: 30 }, { host: { close: 7 }, waking: 24 }])).toEqual({
    host: { close: 6 },
    waking: 24,
  })
})

test('counts that are as budgeted pass, each by its name [P-3]', async () => {
  const lines = (await compare).compare(budget, asBudgeted)

  expect(lines.map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok'])
  expect(lines[0]).toEqual({ name: 'in the child before exec, dup3', counted: 3, budget: 3, verdict: 'ok' })
})

test.each([
  ['one more call', { syscalls: { ...budget.syscalls, child: { dup3: 4 } } }, 'in the child before exec, dup3', 'over'],
  ['a call that nobody budgeted', { syscalls: { ...budget.syscalls, host: { ...budget.syscalls.host, fork: 1 } } }, 'in the host, fork', 'over'],
  ['one call less', { syscalls: { ...budget.syscalls, host: { close: 5, waitid: 3 } } }, 'in the host, close', 'under'],
  ['more instructions than the tolerance', { instructions: { filter: 112 } }, 'instructions, filter', 'over'],
  ['more bytes than the tolerance', { allocatedBytes: 1101 }, 'bytes of JavaScript objects', 'over'],
])('%s is seen [P-3]', async (_, more, name, verdict) => {
  const lines = (await compare).compare(budget, { ...asBudgeted, ...more })

  expect(lines.filter((line) => line.verdict !== 'ok').map((line) => [line.name, line.verdict])).toEqual([[name, verdict]])
})

test('what varies by its nature has a tolerance of its own [P-3]', async () => {
  const counted = { syscalls: { ...budget.syscalls, host: { close: 6, waitid: 4 }, waking: 29 } }

  expect((await compare).compare(budget, counted).every(({ verdict }) => verdict === 'ok')).toBe(true)
})

test('what this machine cannot count is not compared [P-3]', async () => {
  const lines = (await compare).compare(budget, { allocatedBytes: 1000 })

  expect(lines.map(({ name }) => name)).toEqual(['bytes of JavaScript objects'])
})
