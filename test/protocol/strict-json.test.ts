import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProtocolError } from '../../lib/base/errors.js'
import { JSON_MAX_LEVELS, MiB } from '../../lib/base/limits.js'
import { examineJson } from '../../lib/protocol/json-reading.js'
import { parseStrictJson } from '../../lib/protocol/strict-json.js'

const parse = (text: string | Uint8Array) => parseStrictJson(Buffer.from(text as string))

function failureOf(step: () => unknown): ProtocolError {
  try {
    step()
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
  return expect.unreachable('nothing was thrown')
}

const refusal = (text: string | Uint8Array) => failureOf(() => parse(text))

test('a byte order mark is refused, and one inside a string is a character [MP-04]', () => {
  expect(refusal('\ufeff{}').code).toBe('ERR_FRAME_BYTE_ORDER_MARK')
  expect(refusal('\ufeff').code).toBe('ERR_FRAME_BYTE_ORDER_MARK')
  expect(parse('["\ufeff"]')).toEqual(['\ufeff'])
})

test.each<[name: string, bytes: number[], validUpTo: number]>([
  ['a lone continuation', [0x22, 0x80, 0x22], 1],
  ['an overlong slash', [0x22, 0x61, 0xc0, 0xaf, 0x22], 2],
  ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22], 1],
  ['a value beyond Unicode', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], 1],
  ['a character cut short', [0x22, 0xc3, 0xa9, 0xe2, 0x82, 0x22], 3],
  ['a character cut short by the end', [0x22, 0xf0, 0x9f, 0x98], 1],
  ['a bad byte behind a genuine replacement mark', [0x22, 0xef, 0xbf, 0xbd, 0xff, 0x22], 4],
  ['a bad byte at the start', [0xff], 0],
])('%s is no UTF-8, and the error says how much is [MP-04]', (_, bytes, validUpTo) => {
  expect(refusal(Uint8Array.from(bytes))).toMatchObject({ code: 'ERR_FRAME_INVALID_UTF8', validUpTo })
})

test('a genuine replacement mark is a character [MP-04]', () => {
  expect(parse('["\ufffd","é\ufffd"]')).toEqual(['\ufffd', 'é\ufffd'])
})

test('the valid prefix ends where a bad byte was put, in any text [MP-04]', () => {
  const property = fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
    const head = Buffer.from(`"${before.toWellFormed()}\ufffd`)
    if (head[0] !== 0x22) return
    const bytes = Buffer.concat([head, Buffer.of(0xff), Buffer.from(after.toWellFormed())])
    expect(refusal(bytes)).toMatchObject({ code: 'ERR_FRAME_INVALID_UTF8', validUpTo: head.length })
  })
  fc.assert(property, { numRuns: 200 })
})

test.each([
  ['{"a":1,"a":1}', 'a'],
  ['{"a":1,"b":{"c":[{"d":1,"e":2,"d":3}]}}', 'd'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"\\u00e9":1,"é":2}', 'é'],
  ['{"\\n":1,"\\u000a":2}', '\n'],
  ['{"":1,"":2}', ''],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"a":{"x":1},"a":{"x":1}}', 'a'],
  ['{"a:\\"b":1,"a:\\"b":2}', 'a:"b'],
  ['[[[{"k":[],"l":{},"k":[]}]]]', 'k'],
])('in %s a key is there twice [MP-04]', (text, key) => {
  expect(refusal(text)).toMatchObject({ code: 'ERR_FRAME_DUPLICATE_KEY', key })
})

test('a key may be there again in another object [MP-04]', () => {
  const value = { a: { a: [{ a: 1 }, { a: 2 }] }, b: { a: 'a' }, 'a:{"a":1}': '"a":1,"a":' }
  expect(parse(JSON.stringify(value))).toEqual(value)
})

test.each([
  ['', 1, 'no value'],
  ['  ', 3, 'no value'],
  ['{}{}', 3, 'text after the value'],
  ['{} x', 4, 'text after the value'],
  ['{"a":1,}', 8, 'no key'],
  ['{a:1}', 2, 'no key'],
  ['{"a" 1}', 6, "no ':' after a key"],
  ['{"a":1 "b":2}', 8, "no ',' or '}' after a value"],
  ['[1 2]', 4, "no ',' or ']' after a value"],
  ['[1,]', 4, 'no value'],
  ['[1', 3, "no ',' or ']' after a value"],
  ['"a', 3, 'a string without an end'],
  ['"a\tb"', 3, 'a control character in a string'],
  ['"a\\x"', 3, 'no such escape'],
  ['"\\u12g4"', 2, 'no such escape'],
  ['[01]', 3, "no ',' or ']' after a value"],
  ['[+1]', 2, 'no value'],
  ['[1.]', 3, "no ',' or ']' after a value"],
  ['[.5]', 2, 'no value'],
  ['[NaN]', 2, 'no value'],
  ['[Infinity]', 2, 'no value'],
  ['[-]', 2, 'no value'],
  ['[tru]', 2, 'no value'],
  ["{'a':1}", 2, 'no key'],
  ['{} // x', 4, 'text after the value'],
  ['\u00a0{}', 1, 'no value'],
  ['[1e999]', 2, 'a number that no double can hold'],
  ['{"a":-1e999}', 6, 'a number that no double can hold'],
  ['["\\ud83d"]', 2, 'half a surrogate pair in a string'],
  ['{"\\uDE00":1}', 2, 'half a surrogate pair in a string'],
])('%s is refused with where and why [MP-04]', (text, column, reason) => {
  expect(refusal(text)).toMatchObject({ code: 'ERR_FRAME_MALFORMED_JSON', line: 1, column, reason })
})

test('a number of too many digits is refused as one with too large an exponent is [MP-04]', () => {
  expect(refusal(`[${'9'.repeat(400)}]`)).toMatchObject({ column: 2, reason: 'a number that no double can hold' })
})

test('a place is told by line and column, both from 1 [MP-04]', () => {
  expect(refusal('{\n "é😀": 1,\n x}')).toMatchObject({ line: 3, column: 2, reason: 'no key' })
})

test('the first thing wrong in the text is the one that is told [MP-04]', () => {
  expect(refusal('[{"a":1,"a":2},x]').code).toBe('ERR_FRAME_DUPLICATE_KEY')
  expect(refusal('[x,{"a":1,"a":2}]').code).toBe('ERR_FRAME_MALFORMED_JSON')
})

test('no error quotes the text around the fault, which may be anything [M-65]', () => {
  const { message, cause, details } = refusal('{"password":"hunter2",}')
  expect(cause).toBeUndefined()
  expect(JSON.stringify([message, details])).not.toMatch(/hunter2|password/)
})

test('every JSON text that is no trouble gives the value of JSON.parse [MP-01]', () => {
  const strings = ['"\\u2028\u2028\\/"', '["\\ud83d\\ude00", "😀"]', '"\\\\\\""']
  const texts = ['null', '0', '-0', '1e308', ' [ ] ', '\t{ }\r', ...strings]
  for (const text of texts) expect(parse(text)).toEqual(JSON.parse(text))
  expect(parse('{"a":1}\r')).toEqual({ a: 1 })
})

test('a key of a prototype is a key like any other and changes no object [MP-04]', () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":1}')
  expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor', 'toString'])
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect({}).not.toHaveProperty('polluted')
})

test('names that others put on every object hide no key that is there twice [MP-04]', () => {
  const polluted = { value: 1, enumerable: true, configurable: true, writable: true }
  Object.defineProperty(Object.prototype, 'foreign', polluted)
  let twice: unknown
  let once: object
  try {
    twice = failureOf(() => parse('{"a":1,"a":2}'))
    once = parse('{"a":1,"b":2}') as object
  } finally {
    Reflect.deleteProperty(Object.prototype, 'foreign')
  }
  expect(twice).toMatchObject({ code: 'ERR_FRAME_DUPLICATE_KEY', key: 'a' })
  expect(Object.keys(once)).toEqual(['a', 'b'])
})

test('nesting ends at its limit and not one level later, and 100,000 levels are no danger [MP-04]', () => {
  const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const objects = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
  const reason = `more than ${JSON_MAX_LEVELS} levels of nesting`
  for (const nest of [arrays, objects]) {
    expect(JSON.stringify(parse(nest(JSON_MAX_LEVELS)))).toBe(nest(JSON_MAX_LEVELS))
    for (const levels of [JSON_MAX_LEVELS + 1, 100_000]) expect(refusal(nest(levels))).toMatchObject({ reason })
  }
  expect(refusal('['.repeat(MiB))).toMatchObject({ column: JSON_MAX_LEVELS + 1, reason })
  expect(parse(`["${'['.repeat(1000)}\\"${'{'.repeat(1000)}"]`)).toHaveLength(1)
})

test('a string of any length and any escapes is passed over exactly [MP-01]', () => {
  for (const length of [0, 1, 62, 63, 64, 65, 127, 128, 129, 5000]) {
    for (const tail of ['', '\\', '\\\\', '"', '\\"', '":1,"', '{[']) {
      const value = { ['k'.repeat(length) + tail]: tail, b: 'x'.repeat(length) + tail + tail }
      expect(parse(JSON.stringify(value))).toEqual(value)
      expect(refusal(`{"b":1,${JSON.stringify(value).slice(1)}`)).toMatchObject({ key: 'b' })
    }
  }
})

test('any value comes back as it was [MP-01]', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      expect(parse(text)).toStrictEqual(JSON.parse(text))
      expect(() => examineJson(text)).not.toThrow()
    }),
    { numRuns: 500 },
  )
})

test('what is refused as malformed is what JSON.parse refuses or makes infinite, in any text of JSON characters [MP-04]', () => {
  const pieces = ['{', '}', '[', ']', ':', ',', '"', '\\', '0', '1', '-', '.', 'e', '+', ' ', 'true', 'null', '\n']
  const words = ['"a"', '"b"', '"a":', '\\u0061', '{"a":1}', '[]', '1.5e3']
  const texts = fc.array(fc.constantFrom(...pieces, ...words), { maxLength: 14 }).map((parts) => parts.join(''))
  const property = fc.property(texts, (text) => {
    let value: unknown
    let whole = true
    try {
      value = JSON.parse(text, (_, item: unknown) => {
        if (typeof item === 'number') whole &&= Number.isFinite(item)
        return item
      })
    } catch {
      whole = false
    }
    if (!whole) {
      const code = 'ERR_FRAME_MALFORMED_JSON'
      // Two keys may be equal before the text breaks.
      expect([code, 'ERR_FRAME_DUPLICATE_KEY']).toContain(refusal(text).code)
      return
    }
    const twice = /"a":.*"a":/s.test(text)
    if (!twice) expect(parse(text)).toStrictEqual(value)
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('a key planted twice anywhere in any value is found [MP-04]', () => {
  const property = fc.property(fc.json({ maxDepth: 4 }), fc.string({ unit: 'binary' }), fc.nat(), (text, name, n) => {
    const wellFormed = name.toWellFormed()
    const key = JSON.stringify(wellFormed)
    // Character by character: the escape of another one, such as \\u001a, has an a of its own.
    const escape = (character: string) => (character === 'a' ? '\\u0061' : JSON.stringify(character).slice(1, -1))
    const escaped = `"${[...wellFormed].map(escape).join('')}"`
    const planted = `{"x${n}":${text},${key}:${text},"y":[${text},{${key}:1,"z":0,${escaped}:${text}}]}`
    if (key === `"x${n}"` || key === '"y"' || key === '"z"') return
    expect(refusal(planted)).toMatchObject({ code: 'ERR_FRAME_DUPLICATE_KEY', key: JSON.parse(key) })
  })
  fc.assert(property, { numRuns: 300 })
})
