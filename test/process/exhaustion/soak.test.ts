/** The soak of a hundred thousand starts, in small: that it counts, and that nothing grows. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const script = join(__dirname, '../../../scripts/soak.mjs')
const LINE = /^(\d+) starts: (\d+) descriptors, (\d+) zombies, (\d+) threads/gm

test('a soak of two thousand starts ends each round with the same descriptors, no zombie and no thread a start [N-20]', () => {
  // Its verdict on memory needs the whole length: a collector's own room outweighs so few starts.
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', script, '2000'], { encoding: 'utf8' })
  const rounds = [...stdout.matchAll(LINE)].map((match) => match.slice(1).map(Number))
  expect(rounds.map(([starts]) => starts)).toEqual([200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000])
  const [, descriptors, , threads = 0] = rounds[4] as number[]
  for (const [, ...facts] of rounds.slice(5)) {
    expect(facts.slice(0, 2)).toEqual([descriptors, 0])
    // The pool of 16 spawners may still be growing.
    expect(facts[2]).toBeLessThanOrEqual(threads + 16)
  }
})
