/** What a start costs beside a gigabyte of the host's memory, relative to a small host and to node:child_process. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { load } from './load.js'

interface Figures {
  wallLowUs: number
  blockedUs: number
}
const host = join(__dirname, '../../bench/host.mjs')
let program: string

beforeAll(async () => {
  const programs = await load<{ buildPrograms: () => string[]; nothing: string }>('programs')
  programs.buildPrograms()
  program = programs.nothing
})

// The runs that the machine left alone: a tenth of all, however busy it is.
function start(rival: string, memoryGiB: number, count: number): Figures {
  const words = [`program=${program}`, `count=${count}`, `memoryGiB=${memoryGiB}`]
  return JSON.parse(execFileSync(process.execPath, ['--expose-gc', host, rival, 'start', ...words], { encoding: 'utf8' })) as Figures
}

test('a start beside 1 GiB takes at most three times one in a small host and a twentieth of child_process [N-19, B075]', () => {
  const small = start('exactspawn', 0, 100)
  const large = start('exactspawn', 1, 100)
  const theirs = start('child-process', 1, 20)

  expect(large.wallLowUs / small.wallLowUs).toBeLessThan(3)
  expect(large.wallLowUs / theirs.wallLowUs).toBeLessThan(1 / 20)
  expect(large.blockedUs / theirs.blockedUs).toBeLessThan(1 / 20)
})
