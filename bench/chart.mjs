// Draws how many times better this package is than its two nearest rivals, one row a case, as an SVG that can be
// read in light and dark surroundings and by who cannot see it.
const BARS = [
  { against: 'child_process', className: 'node' },
  { against: 'Bun.spawn', className: 'bun' },
]
const WIDTH = 860
const LEFT = 330
const RIGHT = 70
const TOP = 64
const ROW = 34
const BAR = 12

/** Takes records (records.mjs); draws the first metric of each case that has a ratio to either rival. */
export function drawChart(records) {
  const rows = rowsOf(records)
  const ratios = rows.flatMap(({ ratios }) => [...ratios.values()])
  const scale = makeScale(ratios)
  const height = TOP + rows.length * ROW + 30
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">`,
    '<title id="title">exactspawn against node:child_process and Bun.spawn</title>',
    `<desc id="desc">${escape(described(rows))}</desc>`,
    style,
    `<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>`,
    ...legend(),
    ...grid(scale, height),
    ...rows.flatMap((row, i) => drawRow(row, TOP + i * ROW, scale)),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

const style = `<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .ground { fill: #ffffff } .grid { stroke: #d1d9e0 } .level { stroke: #59636e; stroke-width: 1.5 }
  .node { fill: #1a7f37 } .bun { fill: #8250df } .small { font-size: 11px }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .ground { fill: #0d1117 } .grid { stroke: #3d444d } .level { stroke: #9198a1 }
    .node { fill: #3fb950 } .bun { fill: #ab7df8 }
  }
</style>`

function rowsOf(records) {
  const rows = new Map()
  for (const { workload, case: name, metric, against, ratio } of records) {
    if (ratio === null || !BARS.some((bar) => bar.against === against)) continue
    const key = `${workload} ${name}`
    const row = rows.get(key) ?? { key, metric, ratios: new Map() }
    if (row.metric === metric) row.ratios.set(against, ratio)
    rows.set(key, row)
  }
  return [...rows.values()]
}

// Logarithmic: ten times better is as far from level as ten times worse.
function makeScale(ratios) {
  const low = Math.floor(Math.log10(Math.min(0.5, ...ratios)))
  const high = Math.ceil(Math.log10(Math.max(10, ...ratios)))
  const at = (ratio) => LEFT + ((Math.log10(ratio) - low) / (high - low)) * (WIDTH - LEFT - RIGHT)
  const marks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
  return { at, marks }
}

function legend() {
  const entries = BARS.map(({ against, className }, i) => {
    const x = LEFT + i * 190
    const text = `<text x="${x + 18}" y="23">against ${against}</text>`
    return `<rect class="${className}" x="${x}" y="12" width="12" height="12"/>${text}`
  })
  return ['<text x="16" y="23">times better, right of 1x</text>', ...entries]
}

function grid({ at, marks }, height) {
  return marks.map((mark) => {
    const x = at(mark).toFixed(1)
    const className = mark === 1 ? 'level' : 'grid'
    const line = `<line class="${className}" x1="${x}" y1="${TOP - 8}" x2="${x}" y2="${height - 24}"/>`
    return `${line}<text class="small" x="${x}" y="${TOP - 14}" text-anchor="middle">${mark}x</text>`
  })
}

function drawRow({ key, ratios }, y, { at }) {
  const bars = BARS.flatMap(({ against, className }, i) => {
    const ratio = ratios.get(against)
    if (ratio === undefined) return []
    const [from, to] = [Math.min(at(1), at(ratio)), Math.max(at(1), at(ratio))]
    const top = y + i * (BAR + 1)
    const width = Math.max(1, to - from).toFixed(1)
    const bar = `<rect class="${className}" x="${from.toFixed(1)}" y="${top}" width="${width}" height="${BAR}"/>`
    return [`${bar}<text class="small" x="${(to + 5).toFixed(1)}" y="${top + 10}">${said(ratio)}x</text>`]
  })
  return [`<text x="16" y="${y + 17}">${escape(key)}</text>`, ...bars]
}

function described(rows) {
  const sentences = rows.map(({ key, ratios }) => {
    return `${key}: ${[...ratios].map(([against, ratio]) => `${said(ratio)} times ${against}`).join(', ')}`
  })
  return `How many times better exactspawn is; below 1 it is worse. ${sentences.join('. ')}.`
}

const said = (ratio) => String(Number(ratio.toPrecision(ratio < 10 ? 2 : 3)))
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
