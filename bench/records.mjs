// The figures as flat records, one a metric, case and rival, for files and the chart.
import { timesBetter } from './goals.mjs'
import { LIMIT, OURS } from './rivals/list.mjs'
import { median, pairedRatio, pairs } from './statistics.mjs'

/**
 * `ours`, `rival` and `limit` are medians over the rounds. `ratio` says how many times better ours is than the rival's,
 * `ofLimit` is ours divided by the limit's; both are medians of quotients inside a round. `n` counts the rounds that have
 * both. What was not measured is null, and so is `against` where no rival took part.
 */
export function toRecords(results) {
  return results.flatMap(({ workload, cases }) => cases.flatMap((result) => recordsOfCase(workload.id, result)))
}

function recordsOfCase(workload, { ofCase, series }) {
  const records = []
  for (const [name, metric] of Object.entries(ofCase.metrics)) {
    const byRival = series.get(name)
    const ours = byRival.get(OURS) ?? []
    const limit = byRival.get(LIMIT) ?? []
    const others = [...byRival].filter(([rival]) => rival !== OURS)
    // What no rival can do has one record without one.
    for (const [rival, values] of others.length === 0 ? [[null, []]] : others) {
      records.push({
        workload,
        case: ofCase.name,
        metric: name,
        unit: metric.unit,
        better: metric.better,
        against: rival,
        ours: figure(median(ours.filter(Number.isFinite))),
        rival: figure(median(values.filter(Number.isFinite))),
        ratio: figure(timesBetter(metric, ours, values)),
        limit: figure(median(limit.filter(Number.isFinite))),
        ofLimit: figure(pairedRatio(ours, limit)),
        n: pairs(ours, values),
      })
    }
  }
  return records
}

function figure(value) {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : null
}
