// The same slots with a worker that stays and with a fresh one for each: what reuse saves, as a ratio.
// node bench/reuse.mjs [SLOTS]     Ratios are what counts; absolute figures are this machine's mood.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const { LocalProcessExecutor } = require('../dist/executor.js')
const { WorkerOwner } = require('../dist/reuse.js')

const slots = Number(process.argv[2] ?? 40)
if (!Number.isSafeInteger(slots) || slots < 1) throw new RangeError('the number of slots must be an integer of 1 or more')
const phases = ['hello', 'materialize', 'prepare', 'execute', 'evaluate', 'reset', 'shutdown']
const file = (name) => fileURLToPath(new URL(`../fixtures/workers/${name}`, import.meta.url))
const python = ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'].find((path) => existsSync(path))
const launches = {
  node: { program: process.execPath, args: [file('sorting.mjs')] },
  ...(python === undefined ? {} : { python: { program: python, args: ['-S', file('reused.py')] } }),
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

async function measure(launch, workerReuse, executor) {
  const worker = {
    role: 'implementation',
    definition: {},
    sourceBundle: {},
    environment: {},
    launch,
    policy: {
      workerReuse,
      cachePolicy: 'no_persistent_caches',
      timing: 'steady_state',
      warmUps: 0,
      timeouts: Object.fromEntries(phases.map((phase) => [phase, 10_000])),
    },
  }
  const identity = { workerId: `mw1-resolved-worker-${'5'.repeat(64)}`, specification: 'one', implementationSeed: 1 }
  const owner = new WorkerOwner({ executor })
  const took = []
  for (let slot = 0; slot < slots; slot++) {
    const begin = performance.now()
    // The same in both: the slot does no work of its own, so that what is left is the worker's upkeep.
    await owner.run({ ...identity, id: String(slot), worker, slot, measure: async ({ pid }) => pid })
    took.push(performance.now() - begin)
  }
  await owner[Symbol.asyncDispose]()
  return { each: median(took), all: took.reduce((sum, ms) => sum + ms, 0) }
}

const folder = mkdtempSync(join(tmpdir(), 'exactspawn-bench-'))
try {
  const executor = new LocalProcessExecutor({ privateRoot: folder, logs: { stdoutBytes: 1024, stderrBytes: 1024 } })
  for (const [name, launch] of Object.entries(launches)) {
    const fresh = await measure(launch, false, executor)
    const reused = await measure(launch, true, executor)
    console.log(
      `${name.padEnd(7)} ${slots} slots  fresh ${fresh.each.toFixed(1)} ms a slot  reused ${reused.each.toFixed(2)} ms` +
        `  ratio ${(fresh.each / reused.each).toFixed(1)}x a slot, ${(fresh.all / reused.all).toFixed(1)}x in all`,
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
