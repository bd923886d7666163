// The command: `npm run bench`. Prepares, lets every rival run in rotated order round by round, and tells what came out.
// docs/performance.md says how to read it.
import { writeFileSync } from 'node:fs'
import { drawChart } from './chart.mjs'
import { describeMachine } from './machine.mjs'
import { readOptions, usage, UsageError } from './options.mjs'
import { buildPrograms } from './programs.mjs'
import { Progress } from './progress.mjs'
import { toRecords } from './records.mjs'
import { headerText, summaryText, workloadText } from './report.mjs'
import { quickRivals, rivals } from './rivals/list.mjs'
import { installRivals } from './rivals/install.mjs'
import { Rounds } from './rounds.mjs'
import { workloads } from './workloads/list.mjs'

try {
  run(readOptions(process.argv.slice(2), workloads.map(({ id }) => id)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`bench: ${error.message}\n\n${usage}`)
  process.exitCode = 2
}

function run(options) {
  if (options.list) {
    for (const { id, title, cases } of workloads) {
      console.log(`${id}  ${title}: ${cases.map(({ name }) => name).join('; ')}`)
    }
    return
  }
  const begin = Date.now()
  const progress = new Progress(process.stderr)
  progress.show('building the C programs')
  const notes = buildPrograms()
  progress.show('installing the rivals (the first time, 190 MB)')
  const failure = installRivals()
  if (failure !== undefined) notes.push(failure)
  const { present, absent } = checkRivals(options.quick)
  progress.clear()
  console.log(headerText(describeMachine(), present, [...notes, ...absent]))

  const chosen = workloads.filter(({ id }) => options.only.includes(id))
  const rounds = new Rounds({ rivals: present, quick: options.quick, progress })
  const results = []
  try {
    rounds.plan(chosen)
    for (const workload of chosen) {
      const result = rounds.run(workload)
      results.push(result)
      progress.clear()
      console.log(`\n${workloadText(result)}`)
    }
  } finally {
    rounds.close()
  }
  console.log(`\n${summaryText(results, (Date.now() - begin) / 1000, rounds.quietness)}`)
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(toRecords(results), null, 1)}\n`)
  if (options.chart !== undefined) writeFileSync(options.chart, drawChart(toRecords(results)))
}

function checkRivals(quick) {
  const present = []
  const absent = []
  for (const rival of rivals) {
    const why = quick && !quickRivals.includes(rival.name) ? 'left out by --quick' : rival.check?.()
    if (why === undefined) present.push({ ...rival, version: rival.version() })
    else absent.push(`${rival.name} is not here: ${why}`)
  }
  return { present, absent }
}
