/** The figures of the benchmark are as good as these few functions. */
import { expect, test } from 'vitest'
import { load } from './load.js'

interface Statistics {
  median: (values: number[]) => number
  quantile: (values: number[], share: number) => number
  pairedRatio: (above: number[], below: number[]) => number
  pairs: (above: number[], below: number[]) => number
}
const statistics = load<Statistics>('statistics')

test('a median is the middle one, between two their mean, and of nothing no number [N-19]', async () => {
  const { median } = await statistics

  expect(median([3, 1, 100])).toBe(3)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(median([])).toBeNaN()
})

test('values are sorted as numbers, and the list that was given stays as it was [N-19]', async () => {
  const { median, quantile } = await statistics
  const values = [100, 9, 80]

  expect(median(values)).toBe(80)
  expect(quantile(values, 0)).toBe(9)
  expect(values).toEqual([100, 9, 80])
})

test.each([
  [0, 1],
  [0.5, 6],
  [0.99, 10],
  [1, 10],
])('the quantile %f of ten values is one of them [N-19]', async (share, expected) => {
  const { quantile } = await statistics

  expect(quantile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], share)).toBe(expected)
})

test('a ratio is taken inside each round, so that one slow round changes nothing [N-19]', async () => {
  const { pairedRatio } = await statistics

  // Twice as fast in each round, of which the second was ten times slower for both.
  expect(pairedRatio([10, 100, 12], [5, 50, 6])).toBe(2)
})

test('a round in which one of two is missing does not count [N-19]', async () => {
  const { pairedRatio, pairs } = await statistics
  const ours = [10, NaN, 30]
  const theirs = [5, 5]

  expect(pairedRatio(ours, theirs)).toBe(2)
  expect(pairs(ours, theirs)).toBe(1)
  expect(pairedRatio([], theirs)).toBeNaN()
})
