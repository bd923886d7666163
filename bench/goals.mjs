// What a figure must reach, as data in the workloads, and whether it does. Ratios say how many times better this package
// is, whichever direction is better for a metric; distances to the limit are plain quotients.
import { median, pairedRatio } from './statistics.mjs'
import { LIMIT, OURS } from './rivals/list.mjs'

/** At least so many times better than a rival; below 1 it may be worse by that. */
export const beats = (rival, times) => ({ kind: 'beats', rival, times })
/** The quotient to the C limit, at most for what should be small and at least for what should be large. */
export const nearLimit = (quotient) => ({ kind: 'nearLimit', quotient })
/** An absolute bound, only for what does not depend on the machine's speed or has a wide margin. */
export const atMost = (value) => ({ kind: 'atMost', value })
/** Of another case or metric of the same workload, at most so many times as much. */
export const growsBelow = (times, { name, metric }) => ({ kind: 'growsBelow', times, name, metric })

/** Level with Bun.spawn, the rival that is nearest: 5 % is less than two runs of one program differ by. */
export const LEVEL = 0.95

export function timesBetter(metric, ours, rival) {
  return metric.better === 'less' ? pairedRatio(rival, ours) : pairedRatio(ours, rival)
}

/** Judges a goal of one metric; `met` is undefined where it could not be measured. */
export function judge(goal, metric, series, others) {
  const ours = series.get(OURS) ?? []
  const { text, value, met } = judgements[goal.kind](goal, metric, ours, series, others)
  return { text, value, met: Number.isFinite(value) ? met : undefined }
}

const judgements = {
  beats({ rival, times }, metric, ours, series) {
    const value = timesBetter(metric, ours, series.get(rival) ?? [])
    const text = times >= 1 ? `≥ ${times}x better than ${rival}` : `no worse than ${rival} (≥ ${times}x)`
    return { text, value, met: value >= times }
  },
  nearLimit({ quotient }, metric, ours, series) {
    const value = pairedRatio(ours, series.get(LIMIT) ?? [])
    const less = metric.better === 'less'
    const met = less ? value <= quotient : value >= quotient
    return { text: `${less ? '≤' : '≥'} ${quotient}x the C limit`, value, met }
  },
  atMost({ value: bound }, metric, ours) {
    const value = median(ours)
    return { text: `≤ ${bound} ${metric.unit}`, value, met: value <= bound }
  },
  growsBelow({ times, name, metric: other }, metric, ours, series, others) {
    const value = median(ours) / median(others(name, other))
    return { text: `≤ ${times}x that of ${name ?? other}`, value, met: value <= times }
  },
}
