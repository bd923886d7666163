// Reads the command line of `npm run bench`. What is not understood is refused: a figure of the wrong run is worse than
// none.
import { parseArgs } from 'node:util'

export const usage = `usage: npm run bench -- [--quick] [--only W1,W5] [--json FILE] [--chart FILE]

  --quick       fewer rounds, the four rivals that goals are about; under 90 seconds
  --only NAMES  these workloads, with commas between them
  --json FILE   also writes one record a metric, case and rival
  --chart FILE  also draws the ratios as SVG
  --list        says what each workload is and ends`

export class UsageError extends Error {}

/** @throws {UsageError} with one line that says what is wrong */
export function readOptions(words, known) {
  const { quick, only, json, chart, list } = parse(words)
  for (const [name, file] of Object.entries({ json, chart })) {
    if (file === '') throw new UsageError(`--${name} needs the name of a file`)
  }
  return { quick: quick ?? false, only: readNames(only, known), json, chart, list: list ?? false }
}

function parse(words) {
  const options = {
    quick: { type: 'boolean' },
    only: { type: 'string' },
    json: { type: 'string' },
    chart: { type: 'string' },
    list: { type: 'boolean' },
  }
  try {
    return parseArgs({ args: words, options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError(error.message.split('\n')[0])
  }
}

function readNames(only, known) {
  if (only === undefined) return known
  const names = only.split(',').map((name) => name.trim().toUpperCase())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new UsageError(`no workload ${unknown || "''"}; there are ${known.join(', ')}`)
  return known.filter((name) => names.includes(name))
}
