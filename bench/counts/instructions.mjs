// Instructions of the core's own work, from callgrind: what twice the work has more. Of one thread and without system
// calls, so that the number is the same on a busy machine.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { folder } from '../programs.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const program = `${folder}/count`

// What one unit is divided by, to have a number that can be read.
const works = {
  // Not a byte: numbers below 1 would all be within the stray quarter that compare.mjs allows.
  'filter, 1 KiB': { words: ['filter', 4], unit: 4 * 1024 },
  'retain, 64 KiB': { words: ['retain', 16], unit: (16 * 1024) / 64 },
  'plan of 8 descriptors': { words: ['plan', 200], unit: 200 },
}

export function whyNoInstructions() {
  const { status } = spawnSync('valgrind', ['--version'])
  return status === 0 ? undefined : 'there is no valgrind; install the package valgrind'
}

/** Gives instructions by work. */
export function countInstructions() {
  const flags = ['-std=c++20', '-O2', '-fno-exceptions', '-fno-rtti', '-I', `${root}/native/core`]
  const core = ['filter', 'retention', 'fd_plan'].map((name) => `native/core/${name}.cpp`)
  const sources = ['bench/native/count.cpp', ...core]
  const { status, stderr } = spawnSync('c++', [...flags, '-o', program, ...sources], { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`count.cpp does not compile: ${stderr}`)
  const entries = Object.entries(works).map(([name, { words: [verb, amount], unit }]) => {
    const more = instructionsOf(verb, amount * 2) - instructionsOf(verb, amount)
    return [name, Number((more / unit).toPrecision(4))]
  })
  return Object.fromEntries(entries)
}

function instructionsOf(verb, amount) {
  const args = ['--tool=callgrind', '--callgrind-out-file=/dev/null', program, verb, String(amount)]
  const { stderr } = spawnSync('valgrind', args, { encoding: 'utf8' })
  const match = /Collected : (\d+)/.exec(stderr)
  if (match === null) throw new Error(`valgrind counted nothing: ${stderr}`)
  return Number(match[1])
}
