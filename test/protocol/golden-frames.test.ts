/**
 * Bytes and what they mean, kept in fixtures/frames: `<case>.in` is a stream, `<case>.expect.json` what reading it
 * gives. UPDATE=1 writes expectations that are missing; an existing one is changed by hand.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ExactSpawnError } from '../../lib/base/errors.js'
import { FRAME_MAX_BYTES } from '../../lib/base/limits.js'
import { canonicalJson } from '../../lib/protocol/canonical-json.js'
import { Correlation } from '../../lib/protocol/correlation.js'
import { encodeFrame, FrameReader } from '../../lib/protocol/frame.js'
import { asRequest, asResponse, type Method, type Request } from '../../lib/protocol/messages.js'
import { parseStrictJson } from '../../lib/protocol/strict-json.js'
import { requests, successes } from './message-samples.js'

const folder = join(__dirname, '../../fixtures/frames')
const cases = readdirSync(folder).filter((file) => file.endsWith('.in')).map((file) => file.slice(0, -'.in'.length))

// These would need a mebibyte otherwise.
const bounds: Record<string, number> = { 'oversized-line': 64, 'line-of-the-bound': 64 }

interface Reading {
  values: unknown[]
  /** What each value is to a host whose request "0" is pending: 'settles', or a code. */
  matches: string[]
  error?: { code: string; details: object }
}

function outcome<T>(step: () => T): T | { code: string; details: object } {
  try {
    return step()
  } catch (error) {
    if (ExactSpawnError.is(error)) return { code: error.code, details: error.details }
    throw error
  }
}

function readIn(name: string, chunkBytes: number): Reading {
  const stream = bytesOf(name)
  const reader = new FrameReader({ limitBytes: bounds[name] ?? FRAME_MAX_BYTES })
  const correlation = new Correlation()
  correlation.begin()
  const reading: Reading = { values: [], matches: [] }
  const drain = () => {
    for (let value = reader.next(); value !== undefined; value = reader.next()) {
      reading.values.push(value)
      const refused = outcome(() => correlation.settle(value))
      reading.matches.push(refused?.code ?? 'settles')
    }
  }
  const error = outcome(() => {
    for (let at = 0; at < stream.length; at += chunkBytes) {
      reader.push(stream.subarray(at, at + chunkBytes))
      drain()
    }
    reader.end()
    drain()
  })
  return error === undefined ? reading : { ...reading, error }
}

function bytesOf(name: string): Buffer {
  return readFileSync(join(folder, `${name}.in`))
}

function expectationOf(name: string): Reading {
  const path = join(folder, `${name}.expect.json`)
  if (!existsSync(path) && process.env['UPDATE'] === '1') {
    writeFileSync(path, `${JSON.stringify(readIn(name, Infinity), null, 2)}\n`)
  }
  return JSON.parse(readFileSync(path, 'utf8')) as Reading
}

test('the nine abuses of a stream are all among the golden frames [MP-04]', () => {
  const abuses = ['fragmented-reads', 'duplicate-keys', 'invalid-utf8', 'byte-order-mark', 'oversized-line']
  const more = ['malformed-json', 'early-eof', 'extra-response', 'mismatched-request-id']
  expect(cases).toEqual(expect.arrayContaining([...abuses, ...more]))
})

test.each(cases)('the stream %s reads as written down, in chunks of any size [MP-01, MP-04, MP-05, MP-06]', (name) => {
  const expected = expectationOf(name)
  for (const chunkBytes of [Infinity, 1, 2, 3, 7, 64]) expect(readIn(name, chunkBytes)).toEqual(expected)
})

test('every message in docs/protocol.md is one, in canonical bytes [MP-10, M-91]', () => {
  const text = readFileSync(join(__dirname, '../../docs/protocol.md'), 'utf8')
  const lines = text.split('\n').filter((line) => line.startsWith('{"'))
  const methods = new Set<string>()
  let method: Method = 'hello'
  for (const line of lines) {
    const value = parseStrictJson(Buffer.from(line))
    if ((value as Request).method === undefined) asResponse(method, value)
    else methods.add((method = asRequest(value).method))
    expect(canonicalJson(value)).toBe(line)
  }
  expect([...methods].sort()).toEqual(Object.keys(requests).sort())
})

test('every message has the bytes that were written down, and they change with no release [M-91, M-68]', () => {
  const stream = (messages: object) => {
    return Buffer.concat(Object.values(messages).map((message) => encodeFrame(message, { limitBytes: Infinity })))
  }
  expect(stream(requests).toString()).toBe(bytesOf('requests').toString())
  expect(stream(successes).toString()).toBe(bytesOf('responses').toString())
  const failures = expectationOf('failure').values
  expect(stream(failures).toString()).toBe(bytesOf('failure').toString())
})
