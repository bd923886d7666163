// Medians and quantiles, and how two series of the same rounds compare.

/** The value in the middle; between two, their mean; NaN of none. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return NaN
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The value below which a share of all lies: a measured one, never one in between. */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.length === 0 ? NaN : sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
}

/**
 * The median of ratios that are each taken inside one round. What slows the machine for a minute slows both sides of a
 * ratio, where the ratio of two medians would compare a slow minute of one with a fast minute of the other. A round in
 * which either is missing does not count.
 */
export function pairedRatio(above, below) {
  const pairs = above.map((value, round) => value / below[round])
  return median(pairs.filter((ratio) => Number.isFinite(ratio) && ratio > 0))
}

/** How many rounds have both. */
export function pairs(above, below) {
  return above.filter((value, round) => Number.isFinite(value) && Number.isFinite(below[round])).length
}
