/** What the benchmark says about figures, from figures that are made up here. */
import { expect, test } from 'vitest'
import { load } from './load.js'

interface Metric {
  unit: string
  better: 'less' | 'more'
  label: string
  goals?: unknown[]
}
type Series = Map<string, Map<string, number[]>>
interface Result {
  workload: { id: string; title: string }
  cases: { ofCase: { name: string; metrics: Record<string, Metric> }; series: Series; notes: string[]; impossible?: string }[]
}
interface Verdict {
  text: string
  value: number
  met: boolean | undefined
}
interface Report {
  workloadText: (result: Result) => string
  verdictsOf: (result: Result) => Verdict[]
  summaryText: (results: Result[], seconds: number, quietness: { runs: number; quiet: number }) => string
}
interface Goals {
  beats: (rival: string, times: number) => unknown
  nearLimit: (quotient: number) => unknown
  atMost: (value: number) => unknown
  growsBelow: (times: number, than: { name?: string; metric: string }) => unknown
}
type Rec = Record<string, unknown>

const report = load<Report>('report')
const goalKinds = load<Goals>('goals')

const time = (goals: unknown[] = []): Metric => ({ unit: 'µs', better: 'less', label: 'start', goals })
const rate = (goals: unknown[] = []): Metric => ({ unit: 'GB/s', better: 'more', label: 'drained', goals })

function result(metric: Metric, figures: Record<string, number[]>, more: { impossible?: string; notes?: string[] } = {}): Result {
  const series = new Map([['figure', new Map(Object.entries(figures))]])
  const ofCase = { name: 'a case', metrics: { figure: metric } }
  return { workload: { id: 'W1', title: 'A title' }, cases: [{ ofCase, series, notes: [], ...more }] }
}

test('less is better for a time and more for a rate, in goals against a rival [N-19]', async () => {
  const { verdictsOf } = await report
  const { beats } = await goalKinds

  expect(verdictsOf(result(time([beats('child_process', 5)]), { exactspawn: [10], child_process: [60] }))).toMatchObject([
    { value: 6, met: true },
  ])
  expect(verdictsOf(result(rate([beats('child_process', 5)]), { exactspawn: [10], child_process: [60] }))).toMatchObject([
    { value: 10 / 60, met: false },
  ])
})

test.each([
  [time, 14, true],
  [time, 15, false],
  [rate, 14, true],
  [rate, 13, false],
])('the distance to the limit counts from the side that is worse [N-19]', async (metric, ours, met) => {
  const { verdictsOf } = await report
  const { nearLimit } = await goalKinds

  expect(verdictsOf(result(metric([nearLimit(1.4)]), { exactspawn: [ours], 'C limit': [10] }))).toMatchObject([{ met }])
})

test('what must not grow is compared with our own figure elsewhere [N-19]', async () => {
  const { verdictsOf } = await report
  const { growsBelow } = await goalKinds
  const metrics = { few: time(), many: time([growsBelow(2, { metric: 'few' })]) }
  const series = new Map([
    ['few', new Map([['exactspawn', [10, 11, 12]]])],
    ['many', new Map([['exactspawn', [20, 23, 24]]])],
  ])
  const ofCase = { name: 'a case', metrics }

  const verdicts = verdictsOf({ workload: { id: 'W4', title: '' }, cases: [{ ofCase, series, notes: [] }] })

  expect(verdicts).toMatchObject([{ text: '≤ 2x that of few', met: false }])
  expect(verdicts[0]?.value).toBeCloseTo(23 / 11)
})

test('a goal whose rival did not run is neither met nor missed [N-19]', async () => {
  const { verdictsOf, workloadText } = await report
  const { beats } = await goalKinds
  const without = result(time([beats('Bun.spawn', 1)]), { exactspawn: [10] })

  expect(verdictsOf(without)).toMatchObject([{ met: undefined }])
  expect(workloadText(without)).toContain('not measured a case')
})

test('a table has a row a metric, each rival in its column, and a dash where nothing was measured [N-19]', async () => {
  const { workloadText } = await report
  const lines = workloadText(result(time(), { exactspawn: [10], 'C limit': [5], execa: [1234.5], Python: [NaN] })).split('\n')

  expect(lines[0]).toBe('W1  A title')
  expect(lines[2]).toMatch(/\| case +\| metric +\| +exactspawn \| +C limit \| +execa \| +Python \|/)
  expect(lines[4]).toMatch(/\| a case +\| start, µs +\| +10 \| +5 \(2 of it\) \| +1,230 \(123x\) \| +– \|/)
  expect(new Set(lines.slice(2, 5).map((line) => line.length)).size).toBe(1)
})

test('a case that cannot run here, and a rival that failed, are said [N-19]', async () => {
  const { workloadText } = await report
  const text = workloadText(result(time(), {}, { impossible: 'there is no taskset', notes: ['execa failed in round 1: no figures'] }))

  expect(text).toContain('all: not measured: there is no taskset')
  expect(text).toContain('all: execa failed in round 1: no figures')
  expect(text).not.toContain('|')
})

test('the summary counts goals and names each figure in which Bun is ahead [N-19]', async () => {
  const { summaryText } = await report
  const { atMost } = await goalKinds
  const results = [result(time([atMost(9), atMost(11)]), { exactspawn: [10, 10], 'Bun.spawn': [5, 5] })]

  expect(summaryText(results, 61.4, { runs: 4, quiet: 3 }).split('\n')).toEqual([
    '1 of 2 goals met, 0 not measured',
    'level with or ahead of Bun.spawn in 0 of 1 figures',
    '  behind it: W1 a case, start (0.5x)',
    'took 61 s; 3 of 4 runs began on an idle machine',
  ])
})

test('a record has the medians, how many times better, and the distance to the limit [N-19]', async () => {
  const { toRecords } = await load<{ toRecords: (results: Result[]) => Rec[] }>('records')
  const records = toRecords([result(time(), { exactspawn: [10, 12, 14], 'C limit': [5, 6, 7], execa: [30, NaN, 42] })])

  expect(records).toHaveLength(2)
  expect(records[1]).toEqual({
    workload: 'W1', case: 'a case', metric: 'figure', unit: 'µs', better: 'less', against: 'execa',
    ours: 12, rival: 36, ratio: 3, limit: 6, ofLimit: 2, n: 2,
  })
})

test('what no rival can do has one record with our figure alone [N-19]', async () => {
  const { toRecords } = await load<{ toRecords: (results: Result[]) => Rec[] }>('records')

  expect(toRecords([result(time(), { exactspawn: [10, 12, 14] })])).toMatchObject([
    { against: null, ours: 12, rival: null, ratio: null, limit: null, ofLimit: null, n: 0 },
  ])
})

test('the chart has a bar for each ratio, says them all in its description, and is well formed [N-19]', async () => {
  const { drawChart } = await load<{ drawChart: (records: Rec[]) => string }>('chart')
  const record = { workload: 'W1', case: 'small < large', metric: 'figure' }
  const svg = drawChart([
    { ...record, against: 'child_process', ratio: 12.34 },
    { ...record, against: 'Bun.spawn', ratio: 0.5 },
    { ...record, against: 'execa', ratio: 99 },
    { ...record, metric: 'another', against: 'Bun.spawn', ratio: 7 },
  ])

  expect(svg.match(/<rect class="(?:node|bun)" x="[\d.]+" y="[67]\d"/g)).toHaveLength(2)
  expect(svg).toContain('W1 small &lt; large: 12.3 times child_process, 0.5 times Bun.spawn.')
  expect(svg).toContain('role="img"')
  expect(svg).toContain('prefers-color-scheme: dark')
  expect(svg).not.toContain('99')
  const opened = [...svg.matchAll(/<(\w+)(?: [^>]*[^/])?>/g)].map(([, name]) => name)
  const closed = [...svg.matchAll(/<\/(\w+)>/g)].map(([, name]) => name)
  expect(opened.sort()).toEqual(closed.sort())
})
