// `npm run demo:reuse`: three lanes, two specifications, two warm-ups each; a crash, a failed reset and a timeout. Tells
// who was kept, replaced and warmed up, and shows the journal that proves it.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { KiB } from '../dist/index.js'
import { LocalProcessExecutor } from '../dist/executor.js'
import { AttemptJournal, readAttemptJournal, WorkerLanes } from '../dist/reuse.js'

const PHASE_MS = 10_000
const SLOT_MS = 1_000
const phases = ['hello', 'materialize', 'prepare', 'execute', 'evaluate', 'reset', 'shutdown']
const workerFile = fileURLToPath(new URL('../fixtures/workers/reused.py', import.meta.url))

const print = (text = '') => writeSync(1, `${text}\n`)
const colours = isatty(1) && !process.env.NO_COLOR
const heading = (text) => print(`\n${colours ? styleText('bold', text) : text}\n`)

function python() {
  const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', ...(process.env.PATH ?? '').split(':')]
  const program = folders.map((path) => join(path, 'python3')).find((path) => path.startsWith('/') && existsSync(path))
  if (program === undefined) throw new Error('no python3 in the usual places or in PATH')
  return program
}

const worker = {
  role: 'implementation',
  definition: { name: 'reused' },
  sourceBundle: { file: 'fixtures/workers/reused.py' },
  environment: {},
  launch: { program: python(), args: ['-S', workerFile], environment: {}, secretChannels: [] },
  policy: {
    workerReuse: true,
    cachePolicy: 'no_persistent_caches',
    timing: 'steady_state',
    warmUps: 2,
    timeouts: Object.fromEntries(phases.map((phase) => [phase, PHASE_MS])),
  },
}

// The worker does what a slot tells it: fixtures/workers/reused.py.
async function work(session, acts) {
  const contract = { problem_contract_id: 'none', problem_parameters: {} }
  await session.prepare({ dataset_dir: '/', ...contract, implementation_parameters: acts })
  return (await session.execute({ result_dir: '/' })).statistics
}

const warmUps = {
  slots: [{ warm: 0 }, { warm: 1 }],
  run: async (session) => {
    const result = await work(session, {})
    return { measurements: { executes: result.executes }, result }
  },
  validate: async ({ result }, { implementationSeed }) => ({
    valid: result.seed === implementationSeed && result.found.length === 0,
    metrics: { found: result.found },
  }),
}

const attempt = (id, specification, implementationSeed, acts = {}) => ({
  id,
  worker,
  workerId: `mw1-resolved-worker-${'5'.repeat(64)}`,
  specification,
  implementationSeed,
  slot: { acts },
  warmUps,
  timeoutMs: SLOT_MS,
  measure: (session) => work(session, acts),
})

const batches = [
  ['both begin cold, and leave files behind', ['one', 7], [{ execute: ['litter'] }, {}, { execute: ['litter'] }]],
  ['lane 2 crashes; lane 3 will refuse its next reset', ['one', 7], [{}, { execute: ['crash'] }, { reset: ['fail'] }]],
  ['lane 3 pays for that reset; lane 1 leaves a process', ['one', 7], [{ execute: ['member'] }, {}, {}]],
  ['another specification; lane 2 takes too long', ['two', 8], [{}, { execute: [['sleep', 30]] }, {}]],
  ['all three once more', ['two', 8], [{}, {}, {}]],
]

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-demo-'))
  const privateRoot = join(folder, 'private')
  mkdirSync(privateRoot, { mode: 0o700 })
  const path = join(folder, 'attempts.jsonl')
  const notes = new Map()
  try {
    await run(privateRoot, path, notes)
    await tellJournal(path)
    print(`\nleft in the private root   ${readdirSync(privateRoot).length} entries`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(privateRoot, path, notes) {
  const executor = new LocalProcessExecutor({ privateRoot, logs: { stdoutBytes: 4 * KiB, stderrBytes: 4 * KiB } })
  const journal = await AttemptJournal.open(path)
  const onEvent = (event) => note(notes, event)
  const lanes = new WorkerLanes({ lanes: 3, executor, publish: journal.append, onEvent })
  try {
    for (const [number, [title, [specification, seed], acts]] of batches.entries()) {
      heading(`${number + 1}. Specification ${specification}: ${title}`)
      const idOf = (lane) => `${number + 1}.${lane + 1}`
      const results = await lanes.run(acts.map((given, lane) => attempt(idOf(lane), specification, seed, given)))
      results.forEach((result, lane) => tell(lane + 1, result, notes.get(idOf(lane))))
    }
  } finally {
    await lanes[Symbol.asyncDispose]()
    await journal.close()
  }
}

function note(notes, { attempt: id, type, reasons, index, pid }) {
  const seen = notes.get(id) ?? { warmUps: 0, words: [] }
  notes.set(id, seen)
  if (type === 'replaced') seen.words.push(`replaced: ${reasons.join(', ')}`)
  if (type === 'launched') seen.words.push(`new process ${pid}`)
  if (type === 'kept') seen.words.push(`kept process ${pid}`)
  if (type === 'warming-up') seen.warmUps = index + 1
}

function tell(lane, { status, value, reason }, { words, warmUps: warmed }) {
  const cause = reason?.cause?.code === undefined ? '' : ` by ${reason.cause.code}`
  const end = status === 'fulfilled' ? `measured, its slot ${value.value.executes}` : `failed: ${reason.code}${cause}`
  print(`  lane ${lane}   ${[...words, `${warmed} warm-ups`, end].join(' · ')}`)
}

async function tellJournal(path) {
  heading('The journal, read again')
  const { attempts, torn } = await readAttemptJournal(path)
  const names = new Map()
  for (const { attempt: id, lane, outcome, failure, context } of attempts) {
    const { worker: used, startup, replaced, warmups_on_this_attempt: warmed } = context.worker_reuse
    if (used !== undefined && !names.has(used.instance)) names.set(used.instance, `worker ${names.size + 1}`)
    const started = startup === undefined ? 'kept' : `started in ${((startup.spawn_ns + startup.hello_ns) / 1e6).toFixed(0)} ms`
    const before = replaced === undefined ? '' : ` in place of ${names.get(replaced.instance)} (${replaced.reasons.join(', ')})`
    const process = used === undefined ? 'no worker' : `${names.get(used.instance)} ${started}${before}`
    const valid = warmed.filter(({ validation }) => validation === 'valid').length
    print(`  ${id} lane ${lane + 1}   ${outcome} · ${process} · warm-ups ${valid} of ${warmed.length} valid${failure ? ` · ${failure.code}` : ''}`)
  }
  const completed = attempts.filter(({ outcome }) => outcome === 'completed').length
  print(`\nattempts ${attempts.length}, observations ${completed}, torn lines ${torn.length}, processes ${names.size}`)
}

await main()
