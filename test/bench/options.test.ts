/** What the benchmark is asked for is understood, or refused with one line. */
import { expect, test } from 'vitest'
import { load } from './load.js'

interface Options {
  quick: boolean
  only: string[]
  json: string | undefined
  chart: string | undefined
  list: boolean
}
interface Module {
  readOptions: (words: string[], known: string[]) => Options
  UsageError: new () => Error
}
const module = load<Module>('options')
const known = ['W1', 'W2', 'W10']

test.each([
  [['--quik'], /--quik/],
  [['W1'], /W1/],
  [['--only'], /--only/],
  [['--only', 'W3'], /no workload W3; there are W1, W2, W10/],
  [['--only', 'W1,'], /no workload ''/],
  [['--json', ''], /--json needs the name of a file/],
  [['--quick=yes'], /--quick/],
])('%j is refused by its name [N-19]', async (words, message) => {
  const { readOptions, UsageError } = await module

  expect(() => readOptions(words, known)).toThrow(UsageError)
  expect(() => readOptions(words, known)).toThrow(message)
  expect(() => readOptions(words, known)).not.toThrow(/\n/)
})

test('without a word everything runs at full length [N-19]', async () => {
  const { readOptions } = await module

  expect(readOptions([], known)).toEqual({ quick: false, only: known, json: undefined, chart: undefined, list: false })
})

test('workloads are chosen by name in either case, and run in their own order [N-19]', async () => {
  const { readOptions } = await module

  expect(readOptions(['--only', 'w10, W1', '--json', 'a.json'], known)).toMatchObject({ only: ['W1', 'W10'], json: 'a.json' })
})
