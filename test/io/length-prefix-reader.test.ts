import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LengthPrefixReader, prefixLength } from '../../lib/io/length-prefix-reader.js'
import { readAll } from './read-all.js'

const framesOf = (chunks: readonly Uint8Array[], limitBytes: number) =>
  readAll(new LengthPrefixReader({ limitBytes }), chunks, 'latin1')

const frame = (text: string) => prefixLength(Buffer.from(text))

test('a bound is a must here too [MP-15]', () => {
  expect(() => new LengthPrefixReader({} as never)).toThrow(RangeError)
})

test('a frame is four bytes of length, the highest first, and its bytes [MP-15]', () => {
  expect(frame('abc')).toEqual(Buffer.from([0, 0, 0, 3, 0x61, 0x62, 0x63]))
  expect(prefixLength(Buffer.alloc(0x010203)).subarray(0, 4)).toEqual(Buffer.from([0, 1, 2, 3]))
})

test('frames are cut by their length alone, and one may be empty [MP-15]', () => {
  const stream = Buffer.concat([frame('a\nb'), frame(''), frame('\0\0\0\u0001')])
  expect(framesOf([stream], 9)).toEqual({ frames: ['a\nb', '', '\0\0\0\u0001'] })
})

test('a frame of exactly the bound is read; one byte more is refused by its length, before it comes [MP-15]', () => {
  expect(framesOf([frame('12345')], 5)).toEqual({ frames: ['12345'] })
  const { frames, error } = framesOf([frame('1'), Buffer.from([0, 0, 0, 6])], 5)
  expect(frames).toEqual(['1'])
  expect(error).toMatchObject({ code: 'ERR_FRAME_LINE_TOO_LONG', limitBytes: 5 })
})

test('an end inside the length or inside the bytes says how much came [MP-15]', () => {
  for (const received of [1, 3, 4, 6]) {
    const { error } = framesOf([frame('abc').subarray(0, received)], 9)
    expect(error).toMatchObject({ code: 'ERR_FRAME_EARLY_EOF', received })
  }
})

test('what lies behind a frame is given back whole [MP-15]', () => {
  const reader = new LengthPrefixReader({ limitBytes: 9 })
  reader.push(Buffer.concat([frame('a'), frame('bc').subarray(0, 5)]))
  expect(reader.next()?.toString()).toBe('a')
  expect(reader.next()).toBeUndefined()
  expect(reader.rest()).toEqual(frame('bc').subarray(0, 5))
})

test('any frames come out as they went in, in any chunks [MP-15]', () => {
  const lists = fc.array(fc.uint8Array({ maxLength: 30 }))
  const property = fc.property(lists, fc.integer({ min: 1, max: 40 }), (list, size) => {
    const stream = Buffer.concat(list.map((bytes) => prefixLength(bytes)))
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) => {
      return stream.subarray(i * size, (i + 1) * size)
    })
    const frames = list.map((bytes) => Buffer.from(bytes).toString('latin1'))
    expect(framesOf(chunks, 30)).toEqual({ frames })
  })
  fc.assert(property, { numRuns: 200 })
})
