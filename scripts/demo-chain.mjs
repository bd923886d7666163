// The second half of the demonstration: three workers of wire protocol v1, one a role, from a seed to a judged result.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KiB } from '../dist/index.js'
import { LocalProcessExecutor } from '../dist/executor.js'
import { WorkerSession } from '../dist/worker.js'

const workerFile = fileURLToPath(new URL('../fixtures/workers/sorting.py', import.meta.url))
const workerId = `mw1-resolved-worker-${'5'.repeat(64)}`
const PHASE_MS = 10_000
const phases = ['hello', 'materialize', 'prepare', 'execute', 'evaluate', 'reset', 'shutdown']
const timeouts = Object.fromEntries(phases.map((phase) => [phase, PHASE_MS]))
const COUNT = 1_000
const SEED = 42
const contract = { problem_contract_id: 'sorting', problem_parameters: { descending: true } }

// The first thousand numbers of the generator that the workers use, sorted here, to compare with.
function expectedSum() {
  let sum = 0
  for (let number = BigInt(SEED + 1), i = 0; i < COUNT; i++) sum += Number((number = (number * 48271n) % 2147483647n))
  return sum
}

/** Runs the chain and tells it line by line with `say`. Leaves nothing behind. */
export async function showChain(say) {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-demo-'))
  const [privateRoot, dataset, result] = ['private', 'dataset', 'result'].map((name) => join(folder, name))
  for (const path of [privateRoot, dataset, result]) mkdirSync(path, { mode: 0o700 })
  const executor = new LocalProcessExecutor({ privateRoot, logs: { stdoutBytes: 4 * KiB, stderrBytes: 4 * KiB } })
  const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', ...(process.env.PATH ?? '').split(':')]
  const program = folders.map((path) => join(path, 'python3')).find((path) => path.startsWith('/') && existsSync(path))
  if (program === undefined) throw new Error('no python3 in the usual places or in PATH')
  const record = { program, args: ['-I', workerFile], environment: {}, secretChannels: [] }

  const withWorker = async (role, work) => {
    const worker = await executor.spawn(record)
    const session = await WorkerSession.connect(worker, { role, workerId, timeouts })
    const told = await work(session)
    const { exit, stdout, stderr } = await session.shutdown()
    const logs = `logs ${stdout.totalBytes} and ${stderr.totalBytes} bytes, whole: ${stdout.complete && stderr.complete}`
    say(`${role.padEnd(21)} process ${worker.pid}, exit code ${exit.code}, ${logs}`)
    say(`${' '.repeat(21)} ${told}`)
  }

  try {
    const report = await executor.preflight({ privateWorkingDirectories: 'required', processGroups: 'required' })
    for (const { capability, status } of report.lines) say(`${capability.padEnd(31)} ${status}`)
    await withWorker('dataset_materializer', async (session) => {
      const fields = { source_dir: '/', dataset_parameters: { count: COUNT }, dataset_seed: SEED, output_dir: dataset }
      return `made ${(await session.materialize(fields)).dataset.manifest}`
    })
    await withWorker('implementation', async (session) => {
      const implementation = { implementation_parameters: { descending: true }, implementation_seed: 7 }
      await session.prepare({ dataset_dir: dataset, ...contract, ...implementation })
      const { statistics } = await session.execute({ result_dir: result })
      await session.reset()
      return `sorted ${COUNT} numbers, sum ${statistics.sum}, expected ${expectedSum()}`
    })
    const metrics = join(folder, 'metrics.json')
    await withWorker('problem_evaluator', async (session) => {
      await session.evaluate({ dataset_dir: dataset, result_dir: result, ...contract, metrics_path: metrics })
      return `judged it: ${readFileSync(metrics, 'utf8').trim()}`
    })
    say(`left in the private root        ${readdirSync(privateRoot).length} entries`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
