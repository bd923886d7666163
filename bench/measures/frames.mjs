// The strict frame reader of the protocol beside JSON.parse(buffer.toString()), which refuses nothing that the reader
// refuses but malformed text. Both in one process, in turn, over the same bytes.
import { createRequire } from 'node:module'
import { microseconds } from '../clock.mjs'
import { median } from '../statistics.mjs'

const { FrameReader } = createRequire(import.meta.url)('../../dist/protocol/frame.js')
const LIMIT_BYTES = 1024 * 1024
const TURNS = 15

export async function measure(_, { kind }) {
  const { frame, times } = kinds[kind]()
  const readings = { strict: strictReading(frame), plain: () => JSON.parse(frame.toString()) }
  const took = { strict: [], plain: [] }
  // The first turns compile.
  for (let turn = -5; turn < TURNS; turn++) {
    for (const [name, read] of Object.entries(readings)) {
      const begin = microseconds()
      for (let i = 0; i < times; i++) read()
      if (turn >= 0) took[name].push((microseconds() - begin) / times)
    }
  }
  const quotients = took.strict.map((value, turn) => value / took.plain[turn])
  return { strictUs: median(took.strict), plainUs: median(took.plain), ofPlain: median(quotients) }
}

function strictReading(frame) {
  const reader = new FrameReader({ limitBytes: LIMIT_BYTES })
  return () => {
    reader.push(frame)
    return reader.next()
  }
}

const kinds = {
  // A response as workers send it for each measured run.
  small: () => {
    const result = { elapsedMs: 12.5, samples: 4096, warm: true, note: null }
    return { frame: line({ id: '17', ok: true, result: { statistics: result, resultDir: 'run-17' } }), times: 2000 }
  },
  // What fills a frame to its limit: many small objects, and one long string.
  objects: () => {
    const rows = []
    for (let bytes = 0; bytes < LIMIT_BYTES - 4096; bytes += JSON.stringify(rows.at(-1)).length + 1) {
      rows.push({ name: `row ${rows.length}`, value: rows.length * 1.5, tags: ['a', 'b'], good: true })
    }
    return { frame: line({ id: '17', rows }), times: 2 }
  },
  string: () => ({ frame: line({ id: '17', text: 'text with é and "quotes" \n'.repeat(33_000) }), times: 2 }),
}

const line = (value) => Buffer.from(`${JSON.stringify(value)}\n`)
