import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KiB, MiB } from '../../lib/base/limits.js'
import { LineReader, type LineFraming } from '../../lib/io/line-reader.js'
import { workOf } from '../support/work.js'
import { readAll } from './read-all.js'

/** The lines, and how their reading ended. */
function linesOf(chunks: Iterable<Uint8Array>, framing: LineFraming) {
  const { frames: lines, error } = readAll(new LineReader(framing), chunks)
  return { lines, error }
}

const text = (value: string) => [Buffer.from(value)]
const byteByByte = (value: string) => [...Buffer.from(value)].map((byte) => Buffer.of(byte))

/** Cuts bytes into chunks whose sizes go round in a list. */
function* cut(bytes: Uint8Array, sizes: readonly number[]) {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!
    yield bytes.subarray(at, (at += size))
  }
}

test('a bound is a must: absent, zero, negative, broken and no number are refused [MP-15]', () => {
  for (const limitBytes of [undefined, 0, -1, 1.5, NaN, '9', null]) {
    expect(() => new LineReader({ limitBytes } as never)).toThrow(RangeError)
  }
  expect(linesOf(text('a\n'), { limitBytes: Infinity })).toEqual({ lines: ['a'] })
})

test('a chunk after the end is refused [MP-03]', () => {
  const reader = new LineReader({ limitBytes: 9 })
  reader.end()
  expect(() => reader.push(Buffer.from('a'))).toThrow('the end of the stream was told')
})

test('an end between lines is no error, and one inside a line says how much came [MP-03]', () => {
  expect(linesOf([], { limitBytes: 9 })).toEqual({ lines: [] })
  expect(linesOf(text('a\n\nb\n'), { limitBytes: 9 })).toEqual({ lines: ['a', '', 'b'] })
  const { lines, error } = linesOf(text('ab\ncde'), { limitBytes: 9 })
  expect(lines).toEqual(['ab'])
  expect(error).toMatchObject({ name: 'ProtocolError', code: 'ERR_FRAME_EARLY_EOF', received: 3 })
})

test('only the byte LF ends a line, however the bytes are split [B114, MP-05]', () => {
  const lines = ['a\u2028b\u2029c\u0085d', 'e\u000bf\fg\rh', '\0', '😀', 'crlf\r']
  const stream = lines.map((line) => `${line}\n`).join('')
  expect(linesOf(text(stream), { limitBytes: KiB })).toEqual({ lines })
  expect(linesOf(byteByByte(stream), { limitBytes: KiB })).toEqual({ lines })
})

test('one CR before the LF is framing where that was asked for, and no other CR is [B114, MP-15]', () => {
  const stream = text('a\r\n\r\nb\r\r\nc\rd\ne\n\r\n')
  expect(linesOf(stream, { limitBytes: 9, crlf: true })).toEqual({ lines: ['a', '', 'b\r', 'c\rd', 'e', ''] })
  expect(linesOf(stream, { limitBytes: 9 }).lines).toEqual(['a\r', '\r', 'b\r\r', 'c\rd', 'e', '\r'])
})

test('a line of exactly the bound is read, and one byte more is refused [MP-02]', () => {
  for (const split of [text, byteByByte]) {
    expect(linesOf(split('12345678\n'), { limitBytes: 9 })).toEqual({ lines: ['12345678'] })
    const { lines, error } = linesOf(split('1\n123456789\n'), { limitBytes: 9 })
    expect(lines).toEqual(['1'])
    expect(error).toMatchObject({ name: 'ProtocolError', code: 'ERR_FRAME_LINE_TOO_LONG', limitBytes: 9 })
  }
  expect(linesOf(text('1234567\r\n'), { limitBytes: 9, crlf: true })).toEqual({ lines: ['1234567'] })
  expect(linesOf(text('12345678\r\n'), { limitBytes: 9, crlf: true }).error).toMatchObject({ limitBytes: 9 })
})

test('a line is refused at the byte after which no LF can be within the bound [MP-02]', () => {
  const reader = new LineReader({ limitBytes: 9 })
  reader.push(Buffer.from('12345678'))
  expect(reader.next()).toBeUndefined()
  reader.push(Buffer.from('9'))
  expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_FRAME_LINE_TOO_LONG' }))
})

test('a failure is final: the reader takes nothing more and says the same again [MP-02]', () => {
  const reader = new LineReader({ limitBytes: 2 })
  reader.push(Buffer.from('abc\n'))
  const errors = [() => reader.next(), () => reader.push(Buffer.from('d\n')), () => reader.next()].map((step) => {
    try {
      return step()
    } catch (error) {
      return error
    }
  })
  expect(errors[0]).toMatchObject({ code: 'ERR_FRAME_LINE_TOO_LONG' })
  expect(new Set(errors).size).toBe(1)
})

test('lines whole before the one that fails are all read [MP-02]', () => {
  const reader = new LineReader({ limitBytes: 3 })
  reader.push(Buffer.from('a\nb\nlong\n'))
  expect([reader.next()?.toString(), reader.next()?.toString()]).toEqual(['a', 'b'])
  expect(() => reader.next()).toThrow()
})

test('what lies behind a line is given back whole, and the reader starts anew [MP-15]', () => {
  const reader = new LineReader({ limitBytes: 9 })
  reader.push(Buffer.from('a\nb\nun'))
  expect(reader.next()?.toString()).toBe('a')
  expect(reader.rest().toString()).toBe('b\nun')
  expect(reader.rest()).toHaveLength(0)
  reader.push(Buffer.from('c\n'))
  expect(reader.next()?.toString()).toBe('c')
})

test('an unfinished last line can still be taken after the end was told [B120]', () => {
  const reader = new LineReader({ limitBytes: 9 })
  reader.push(Buffer.from('{}\nlast'))
  reader.end()
  expect(reader.next()?.toString()).toBe('{}')
  expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_FRAME_EARLY_EOF', received: 4 }))
  expect(reader.rest().toString()).toBe('last')
})

test('a chunk is taken over as it is and never written to, and a line holds until the next chunk [MP-05]', () => {
  const reader = new LineReader({ limitBytes: 9 })
  const chunks = ['abc\nd', 'e', 'f\ng', 'h\n'].map((text) => Uint8Array.from(Buffer.from(`.${text}.`)).subarray(1, -1))
  const before = chunks.map((chunk) => Buffer.from(chunk.buffer).toString())
  const lines = chunks.flatMap((chunk) => {
    reader.push(chunk)
    const line = reader.next()
    expect(reader.next()).toBeUndefined()
    return line === undefined ? [] : [line.toString()]
  })
  expect(lines).toEqual(['abc', 'def', 'gh'])
  expect(chunks.map((chunk) => Buffer.from(chunk.buffer).toString())).toEqual(before)
})

test('any lines come out as they went in, in any chunks and at their tightest bound [MP-05]', () => {
  const line = fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.map((byte) => (byte === 10 ? 11 : byte)))
  const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 })
  const property = fc.property(fc.array(line, { maxLength: 20 }), sizes, (lines, chunkSizes) => {
    const longest = Math.max(0, ...lines.map(({ length }) => length))
    const stream = Buffer.concat(lines.flatMap((bytes) => [bytes, Buffer.of(10)]))
    const expected = lines.map((bytes) => Buffer.from(bytes).toString())
    expect(linesOf(cut(stream, chunkSizes), { limitBytes: longest + 1 })).toEqual({ lines: expected })
    const tooTight = lines.findIndex(({ length }) => length === longest)
    if (longest === 0) return
    const { lines: before, error } = linesOf(cut(stream, chunkSizes), { limitBytes: longest })
    expect(before).toEqual(expected.slice(0, tooTight))
    expect(error).toMatchObject({ code: 'ERR_FRAME_LINE_TOO_LONG' })
  })
  fc.assert(property, { numRuns: 300 })
})

test('200,000 tiny lines cost work in proportion to their bytes [B120]', () => {
  const count = 200_000
  const stream = Buffer.from('{"id":"0","ok":true}\n'.repeat(count))
  let lines = 0
  const work = workOf(() => {
    const reader = new LineReader({ limitBytes: MiB })
    for (const chunk of cut(stream, [64 * KiB, 1, 4093])) {
      reader.push(chunk)
      while (reader.next() !== undefined) lines++
    }
  })
  expect(lines).toBe(count)
  expect(work.searched).toBeLessThan(2 * stream.length)
  expect(work.moved).toBeLessThan(3 * stream.length)
})

test('a long line in tiny chunks costs work in proportion to its bytes [B120]', () => {
  const stream = Buffer.from(`${'x'.repeat(256 * KiB - 1)}\n`)
  const work = workOf(() => {
    expect(linesOf(cut(stream, [3]), { limitBytes: 256 * KiB }).lines).toHaveLength(1)
  })
  expect(work.searched).toBeLessThan(2 * stream.length)
  expect(work.moved).toBeLessThan(4 * stream.length)
})

test('a stream of 100 MiB without an LF ends at the bound, which is all that is held of it [B120, MP-02]', () => {
  const limitBytes = 16 * MiB
  const chunk = Buffer.alloc(64 * KiB, 'x')
  globalThis.gc?.()
  const before = process.memoryUsage().arrayBuffers
  const reader = new LineReader({ limitBytes })
  let pushed = 0
  let most = 0
  const flood = () => {
    for (; pushed < 100 * MiB; pushed += chunk.length) {
      reader.push(chunk)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
      reader.next()
    }
  }
  expect(flood).toThrow(expect.objectContaining({ code: 'ERR_FRAME_LINE_TOO_LONG', limitBytes }))
  expect(pushed).toBeLessThan(limitBytes)
  expect(most).toBeLessThan(48 * MiB)
  expect(reader.rest().length).toBeLessThanOrEqual(limitBytes + chunk.length)
})
