// The figures as text: a table a workload, what it was to reach, and a last word. Tables are Markdown, so that they can be
// shown anywhere.
import { judge, LEVEL, timesBetter } from './goals.mjs'
import { LIMIT, OURS } from './rivals/list.mjs'
import { median, pairedRatio } from './statistics.mjs'

const BUN = 'Bun.spawn'

export function headerText(machine, rivals, notes) {
  const versions = rivals.map(({ name, version }) => `${name} ${version}`).join(', ')
  return [...machine, versions, ...notes.map((note) => `Note: ${note}.`)].join('\n')
}

/** One table, then what is to say about it, then the goals. */
export function workloadText({ workload, cases }) {
  const names = rivalsOf(cases)
  const rows = cases.flatMap((result) => rowsOf(result, names))
  const lines = [`${workload.id}  ${workload.title}`]
  if (rows.length > 0) lines.push('', ...table(['case', 'metric', OURS, ...names], rows))
  const notes = notesOf(cases)
  if (notes.length > 0) lines.push('', ...notes)
  const verdicts = verdictsOf({ cases })
  if (verdicts.length > 0) lines.push('', ...verdicts.map(verdictText))
  return lines.join('\n')
}

/** Each goal of each metric of each case, and whether it is met. */
export function verdictsOf({ cases }) {
  return cases.flatMap(({ ofCase, series }) => {
    const others = (name = ofCase.name, metric) => seriesOfOurs(cases, name, metric)
    return Object.entries(ofCase.metrics).flatMap(([key, metric]) =>
      (metric.goals ?? []).map((goal) => ({
        name: ofCase.name,
        label: metric.label,
        ...judge(goal, metric, series.get(key), others),
      })),
    )
  })
}

export function summaryText(results, seconds, { runs, quiet }) {
  const verdicts = results.flatMap(verdictsOf)
  const measured = verdicts.filter(({ met }) => met !== undefined)
  const met = measured.filter((verdict) => verdict.met)
  const bun = againstBun(results)
  const level = bun.filter(({ ratio }) => ratio >= LEVEL)
  const lines = [`${met.length} of ${measured.length} goals met, ${verdicts.length - measured.length} not measured`]
  if (bun.length > 0) lines.push(`level with or ahead of ${BUN} in ${level.length} of ${bun.length} figures`)
  for (const { id, name, label, ratio } of bun) {
    if (ratio < LEVEL) lines.push(`  behind it: ${id} ${name}, ${label} (${short(ratio)}x)`)
  }
  return [...lines, `took ${Math.round(seconds)} s; ${quiet} of ${runs} runs began on an idle machine`].join('\n')
}

function againstBun(results) {
  return results.flatMap(({ workload, cases }) =>
    cases.flatMap(({ ofCase, series }) =>
      Object.entries(ofCase.metrics).flatMap(([key, metric]) => {
        const byRival = series.get(key)
        const ratio = timesBetter(metric, byRival.get(OURS) ?? [], byRival.get(BUN) ?? [])
        const facts = { id: workload.id, name: ofCase.name, label: metric.label, ratio }
        return Number.isFinite(ratio) ? [facts] : []
      }),
    ),
  )
}

function rivalsOf(cases) {
  const names = cases.flatMap(({ series }) => [...series.values()].flatMap((byRival) => [...byRival.keys()]))
  return [...new Set(names)].filter((name) => name !== OURS)
}

function rowsOf({ ofCase, series }, names) {
  if ([...series.values()].every((byRival) => byRival.size === 0)) return []
  return Object.entries(ofCase.metrics).map(([key, metric]) => {
    const byRival = series.get(key)
    const ours = byRival.get(OURS) ?? []
    const cells = names.map((name) => cell(metric, name, ours, byRival.get(name)))
    return [ofCase.name, `${metric.label}, ${metric.unit}`, short(middle(ours)), ...cells]
  })
}

// A rival's figure, and how many times better ours is; at the limit how much ours is of it.
function cell(metric, name, ours, values) {
  if (values === undefined) return '–'
  const quotient = name === LIMIT ? pairedRatio(ours, values) : timesBetter(metric, ours, values)
  const said = name === LIMIT ? `(${short(quotient)} of it)` : `(${short(quotient)}x)`
  return Number.isFinite(quotient) ? `${short(middle(values))} ${said}` : short(middle(values))
}

// Each note once, with the cases that it is about.
function notesOf(cases) {
  const about = new Map()
  for (const { ofCase, notes, impossible } of cases) {
    const said = impossible === undefined ? notes : [...notes, `not measured: ${impossible}`]
    for (const note of said) about.set(note, [...(about.get(note) ?? []), ofCase.name])
  }
  return [...about].map(([note, names]) => `${names.length === cases.length ? 'all' : names.join(', ')}: ${note}`)
}

function verdictText({ name, label, text, value, met }) {
  const word = met === undefined ? 'not measured' : met ? 'met' : 'MISSED'
  return `  ${word.padEnd(12)} ${name}, ${label}: ${text}; it is ${short(value)}`
}

function seriesOfOurs(cases, name, metric) {
  const found = cases.find(({ ofCase }) => ofCase.name === name)
  return found?.series.get(metric)?.get(OURS) ?? []
}

function table(head, rows) {
  const widths = head.map((title, i) => Math.max(...[title, ...rows.map((row) => row[i])].map((text) => text.length)))
  const padded = (text, i) => (i < 2 ? text.padEnd(widths[i]) : text.padStart(widths[i]))
  const line = (cells) => `| ${cells.map(padded).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i < 2 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)]
}

const middle = (values) => median(values.filter(Number.isFinite))

/** Three digits are more than two runs agree on. */
export function short(value) {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 1000) return Math.round(Number(value.toPrecision(3))).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
