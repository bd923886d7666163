import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Bounds } from '../../lib/base/deadline.js'
import { PipeError } from '../../lib/base/errors.js'
import { FRAME_MAX_BYTES, KiB, MiB } from '../../lib/base/limits.js'
import { createRedactor } from '../../lib/io/redactor.js'
import { encodeFrame, FrameReader, FrameStream, type ChunkSource } from '../../lib/protocol/frame.js'

const bound = { limitBytes: FRAME_MAX_BYTES }

/** Gives chunks one by one, then the end; a chunk that is an error is thrown once. */
function sourceOf(...chunks: (string | Buffer | Error)[]): ChunkSource {
  const read = () => {
    const chunk = chunks.shift()
    if (chunk instanceof Error) return Promise.reject(chunk)
    return Promise.resolve(chunk === undefined ? null : Buffer.from(chunk as string))
  }
  return { read }
}

/** A message whose frame has exactly so many bytes. */
function messageOf(bytes: number) {
  return { a: 'x'.repeat(bytes - '{"a":""}\n'.length) }
}

test('a message of exactly the bound is encoded, and one byte more is refused unwritten [MP-08]', () => {
  expect(encodeFrame(messageOf(FRAME_MAX_BYTES), bound)).toHaveLength(1_048_576)
  expect(() => encodeFrame(messageOf(FRAME_MAX_BYTES + 1), bound)).toThrow(
    expect.objectContaining({ code: 'ERR_MESSAGE_TOO_LONG', limitBytes: 1_048_576, bytes: 1_048_577 }),
  )
  // Three bytes each: characters are not what is counted.
  expect(() => encodeFrame('€'.repeat(3), { limitBytes: 11 })).toThrow(expect.objectContaining({ bytes: 12 }))
})

test('a frame of exactly the bound is read, and one byte more is refused [MP-02]', () => {
  const reader = new FrameReader(bound)
  reader.push(encodeFrame(messageOf(FRAME_MAX_BYTES), bound))
  expect(reader.next()).toEqual(messageOf(FRAME_MAX_BYTES))
  reader.push(encodeFrame(messageOf(FRAME_MAX_BYTES + 1), { limitBytes: Infinity }))
  expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_FRAME_LINE_TOO_LONG' }))
})

test('any value is a frame whose only LF is its last byte, and null is one [MP-01]', () => {
  const reader = new FrameReader(bound)
  for (const value of [null, false, 0, '', [], 'a\nb']) {
    const frame = encodeFrame(value, bound)
    expect(frame.indexOf(10)).toBe(frame.length - 1)
    reader.push(frame)
    expect(reader.next()).toStrictEqual(value)
  }
  expect(reader.next()).toBeUndefined()
})

test('a CR before the LF is white space of JSON, and an empty line is no frame [MP-01, B114]', () => {
  const reader = new FrameReader(bound)
  reader.push(Buffer.from('{"a":1}\r\n\n'))
  expect(reader.next()).toEqual({ a: 1 })
  expect(() => reader.next()).toThrow(expect.objectContaining({ reason: 'no value' }))
})

test('after a frame that is none the next one is not read: the same error comes again [MP-04]', () => {
  const reader = new FrameReader(bound)
  reader.push(Buffer.from('x\n{}\n'))
  const again = [() => reader.next(), () => reader.next(), () => reader.push(Buffer.from('{}\n'))].map((step) => {
    try {
      return step()
    } catch (error) {
      return error
    }
  })
  expect(again[0]).toMatchObject({ code: 'ERR_FRAME_MALFORMED_JSON' })
  expect(new Set(again).size).toBe(1)
})

test('a key that is there twice is quoted without a secret [M-65]', () => {
  const reader = new FrameReader({ ...bound, redact: createRedactor([Buffer.from('hunter2')]) })
  reader.push(Buffer.from('{"my hunter2":1,"my hunter2":2}\n'))
  const key = 'my [redacted]'
  let refused: unknown
  try {
    reader.next()
  } catch (error) {
    refused = error
  }
  expect(refused).toMatchObject({ code: 'ERR_FRAME_DUPLICATE_KEY', key })
  // A cause that is there and undefined would be printed.
  expect(Object.hasOwn(refused as object, 'cause')).toBe(false)
})

test('a stream gives frame after frame over any chunks, and undefined at its end for ever [MP-05]', async () => {
  const stream = new FrameStream(sourceOf('{"id":"0"', '}\n{"id":"1"}\n{"id"', ':"2"}', '\n'), bound)
  expect(await stream.read()).toEqual({ id: '0' })
  expect(await stream.read()).toEqual({ id: '1' })
  expect(await stream.read()).toEqual({ id: '2' })
  expect([await stream.read(), await stream.read()]).toEqual([undefined, undefined])
})

test('a stream that ends inside a frame says so, after the frames before [MP-03]', async () => {
  const stream = new FrameStream(sourceOf('{}\n{"a'), bound)
  expect(await stream.read()).toEqual({})
  await expect(stream.read()).rejects.toMatchObject({ code: 'ERR_FRAME_EARLY_EOF', received: 3 })
})

test('a refused read of the system is an I/O error with the cause [MP-04]', async () => {
  const cause = new PipeError('ERR_PIPE_READ_FAILED', { direction: 'childWrites', errno: -5, syscall: 'read' })
  const stream = new FrameStream(sourceOf(cause), bound)
  await expect(stream.read()).rejects.toMatchObject({ code: 'ERR_FRAME_IO', errno: -5, syscall: 'read', cause })
})

test('a read that was stopped is no failure of the stream and loses no byte [MP-05]', async () => {
  const stopped = new PipeError('ERR_PIPE_TIMEOUT', { direction: 'childWrites', timeoutMs: 1 })
  const stream = new FrameStream(sourceOf('{"id":', stopped, '"0"}\n'), bound)
  await expect(stream.read()).rejects.toBe(stopped)
  expect(await stream.read()).toEqual({ id: '0' })
})

test('the bounds of one read are shared by all the chunks it needs [MP-05]', async () => {
  const chunks = ['[', ']', '\n']
  const given: Bounds[] = []
  const read = (bounds: Bounds) => {
    given.push(bounds)
    for (const start = performance.now(); performance.now() < start + 2; );
    return Promise.resolve(Buffer.from(chunks.shift()!))
  }
  const { signal } = new AbortController()
  await new FrameStream({ read }, bound).read({ signal, timeoutMs: 60_000 })
  expect(given).toHaveLength(3)
  given.forEach((bounds, before) => {
    expect(bounds.timeoutMs).toBeLessThanOrEqual(60_000 - 2 * before)
    expect(bounds.timeoutMs).toBeGreaterThan(0)
    expect(bounds.signal).toBe(signal)
  })
})

test('what came behind a frame is given back to who takes the source over [MP-15]', async () => {
  const stream = new FrameStream(sourceOf('{}\nother words'), bound)
  expect(await stream.read()).toEqual({})
  expect(stream.rest().toString()).toBe('other words')
})

test('a reply of 8 MiB is complete within a bound of 16 MiB [B120]', async () => {
  const limitBytes = 16 * MiB
  const frame = encodeFrame(messageOf(8 * MiB), { limitBytes })
  const chunks = Array.from({ length: frame.length / (64 * KiB) }, (_, i) => {
    return frame.subarray(i * 64 * KiB, (i + 1) * 64 * KiB)
  })
  const value = (await new FrameStream(sourceOf(...chunks), { limitBytes }).read()) as { a: string }
  expect(value.a).toHaveLength(messageOf(8 * MiB).a.length)
})

test('any messages come out as they went in, in any chunks [MP-05]', () => {
  const messages = fc.array(fc.json({ maxDepth: 3 }), { maxLength: 8 })
  const property = fc.property(messages, fc.integer({ min: 1, max: 60 }), (texts, size) => {
    const values = texts.map((text) => JSON.parse(text, (_, item: unknown) => (item === 0 ? 0 : item)) as unknown)
    const stream = Buffer.concat(values.map((value) => encodeFrame(value, bound)))
    const reader = new FrameReader(bound)
    const read: unknown[] = []
    for (let at = 0; at < stream.length; at += size) {
      reader.push(stream.subarray(at, at + size))
      for (let value = reader.next(); value !== undefined; value = reader.next()) read.push(value)
    }
    reader.end()
    expect(reader.next()).toBeUndefined()
    expect(read).toEqual(values)
  })
  fc.assert(property, { numRuns: 200 })
})
