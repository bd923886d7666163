/** `exactspawn lanes`: runs a plan on lanes and shows it. */
import { tmpdir } from 'node:os'
import { toError } from '../base/errors.js'
import { createPrivateDirectory } from '../directory/private-directory.js'
import { LocalProcessExecutor } from '../executor/local-process-executor.js'
import { AttemptJournal } from '../reuse/attempt-journal.js'
import type { AttemptEvidence } from '../reuse/evidence.js'
import type { OwnerEvent } from '../reuse/owner-events.js'
import { WorkerLanes } from '../reuse/worker-lanes.js'
import { readOptions, UsageError } from './arguments.js'
import { LANES_HELP } from './help.js'
import { Interruption } from './interruption.js'
import { readPlan } from './lanes-plan.js'
import { LanesView } from './lanes-view.js'
import { printable, say, write, writeJson } from './terminal.js'

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
  const begun = new Set<string>()
  const undone: { id: string; reason: unknown }[] = []
  const closed = new AbortController()
  {
    using view = options.json ? undefined : new LanesView(plan.lanes, (error) => closed.abort(error))
    const onEvent = (event: OwnerEvent) => {
      if (event.type === 'begun') begun.add(event.attempt)
      view?.tell(event)
    }
    await using run = new WorkerLanes({ lanes: plan.lanes, executor, publish, onEvent })
    const signal = AbortSignal.any([interruption.signal, closed.signal])
    for (const { attempts } of plan.batches) {
      const results = await run.run(attempts, { signal })
      results.forEach((result, at) => {
        if (result.status === 'rejected') undone.push({ id: (attempts[at] as { id: string }).id, reason: result.reason })
      })
    }
  }
  closed.signal.throwIfAborted()
  if (options.json) {
    // What has no evidence stands in no document.
    for (const { id, reason } of undone) if (!told.some(({ attempt }) => attempt === id)) say(`${id}: ${toError(reason).message}`)
    writeJson({ attempts: told })
  } else write(1, summary(plan.batches.reduce((sum, { attempts }) => sum + attempts.length, 0), undone, begun))
  return interruption.exitCode ?? (undone.length === 0 ? 0 : FAILED)
}

// Also what no event told: a slot that was not begun, and one whose evidence could not be published.
function summary(attempts: number, undone: readonly { id: string; reason: unknown }[], begun: ReadonlySet<string>): string {
  const failed = undone.filter(({ id }) => begun.has(id))
  const counts = [`attempts ${attempts}`, `completed ${attempts - undone.length}`, `failed ${failed.length}`]
  const left = undone.length - failed.length
  const lines = failed.map(({ id, reason }) => `${printable(`${id}: ${toError(reason).message}`)}\n`)
  return `${lines.join('')}${counts.join(', ')}${left === 0 ? '' : `, not begun ${left}`}\n`
}
