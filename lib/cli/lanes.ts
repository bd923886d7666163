/** `exactspawn lanes`: runs a plan on lanes and shows it. */
import { tmpdir } from 'node:os'
import { createPrivateDirectory } from '../directory/private-directory.js'
import { LocalProcessExecutor } from '../executor/local-process-executor.js'
import { AttemptJournal } from '../reuse/attempt-journal.js'
import type { AttemptEvidence } from '../reuse/evidence.js'
import { WorkerLanes } from '../reuse/worker-lanes.js'
import { readOptions, UsageError } from './arguments.js'
import { LANES_HELP } from './help.js'
import { Interruption } from './interruption.js'
import { readPlan } from './lanes-plan.js'
import { LanesView } from './lanes-view.js'
import { write, writeJson } from './terminal.js'

const OPTIONS = {
  journal: { type: 'string' },
  'private-root': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

const LOG_BYTES = 65_536
const FAILED = 1

/** Gives 0 when every attempt was completed, 1 when one was not. */
export async function lanes(args: readonly string[]): Promise<number> {
  const [path] = args[0]?.startsWith('-') ? [] : args
  const options = readOptions(path === undefined ? args : args.slice(1), OPTIONS)
  if (options.help) {
    write(1, LANES_HELP)
    return 0
  }
  if (path === undefined) throw new UsageError('lanes: the file of the plan comes first')
  const plan = readPlan(path)
  using interruption = new Interruption()
  await using root = await createPrivateDirectory(options['private-root'] ?? tmpdir(), { prefix: 'lanes' })
  await using journal = options.journal === undefined ? undefined : await AttemptJournal.open(options.journal)
  const limits = { stdoutBytes: LOG_BYTES, stderrBytes: LOG_BYTES }
  const executor = new LocalProcessExecutor({ privateRoot: root.path, logs: limits })
  const told: AttemptEvidence[] = []
  const publish = async (evidence: AttemptEvidence) => {
    await journal?.append(evidence)
    told.push(evidence)
  }
  let failed = 0
  {
    using view = options.json ? undefined : new LanesView(plan.lanes)
    const watch = view === undefined ? {} : { onEvent: view.tell }
    await using run = new WorkerLanes({ lanes: plan.lanes, executor, publish, ...watch })
    for (const { attempts } of plan.batches) {
      const results = await run.run(attempts, { signal: interruption.signal })
      failed += results.filter(({ status }) => status === 'rejected').length
    }
  }
  const completed = told.filter(({ outcome }) => outcome === 'completed').length
  if (options.json) writeJson({ attempts: told })
  else write(1, `attempts ${told.length}, completed ${completed}, failed ${told.length - completed}\n`)
  return interruption.exitCode ?? (failed === 0 ? 0 : FAILED)
}
