import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JSON_MAX_LEVELS } from '../../lib/base/limits.js'
import { canonicalJson } from '../../lib/protocol/canonical-json.js'
import { parseStrictJson } from '../../lib/protocol/strict-json.js'

const circle: Record<string, unknown> = {}
circle['again'] = [circle]

test.each<[what: string, value: unknown, field: string, reason: string]>([
  ['undefined', undefined, '', 'undefined is no JSON'],
  ['an undefined field', { a: { b: undefined } }, 'a.b', 'undefined is no JSON'],
  ['a hole in an array', { a: [1, , 3] }, 'a[1]', 'undefined is no JSON'],
  ['NaN', { a: [[NaN]] }, 'a[0][0]', 'a number that is not finite'],
  ['an infinity', [-Infinity], '[0]', 'a number that is not finite'],
  ['a bigint', { a: 1n }, 'a', 'bigint is no JSON'],
  ['a function', { toJSON: () => 1 }, 'toJSON', 'function is no JSON'],
  ['a symbol', [{ a: Symbol('s') }], '[0].a', 'symbol is no JSON'],
  ['half a pair', { a: 'x\ud83d' }, 'a', 'half a surrogate pair'],
  ['half a pair in a key', { a: { '\udc00': 1 } }, 'a.\udc00', 'half a surrogate pair in the key'],
  ['a date', { at: new Date(0) }, 'at', 'an object of a class'],
  ['a map', new Map(), '', 'an object of a class'],
  ['bytes', { a: Buffer.from('a') }, 'a', 'an object of a class'],
])('%s is refused, with its field [MP-08]', (_, value, field, reason) => {
  expect(() => canonicalJson(value)).toThrow(
    expect.objectContaining({ name: 'ProtocolError', code: 'ERR_MESSAGE_INVALID', field, reason }),
  )
})

test('a circle is refused, and so is one level of nesting too many [MP-08]', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown
  const reason = `more than ${JSON_MAX_LEVELS} levels of nesting`
  for (const value of [circle, nested(JSON_MAX_LEVELS + 1), nested(100_000)]) {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ reason }))
  }
  expect(canonicalJson(nested(JSON_MAX_LEVELS))).toBe('['.repeat(JSON_MAX_LEVELS) + ']'.repeat(JSON_MAX_LEVELS))
})

test('keys are in the order of their UTF-16 units and numbers as JavaScript writes them [MP-08]', () => {
  const numbers = [1e21, 1e-7, 0.1 + 0.2, -0, 1.0]
  const value = { '\ufb33': 1, '😀': 2, b: numbers, a: { z: null, A: true }, '': 'x', '1': 0 }
  expect(canonicalJson(value)).toBe(
    '{"":"x","1":0,"a":{"A":true,"z":null},"b":[1e+21,1e-7,0.30000000000000004,0,1],"😀":2,"\ufb33":1}',
  )
})

test('strings are escaped where JSON demands it and nowhere else [MP-08, B114]', () => {
  expect(canonicalJson('\b\t\n\f\r"\\/\u0001\u007f\u0085\u2028\u2029é😀')).toBe(
    '"\\b\\t\\n\\f\\r\\"\\\\/\\u0001\u007f\u0085\u2028\u2029é😀"',
  )
})

test('an object without a prototype, a shared one and the key __proto__ are plain data [MP-08]', () => {
  const shared = { x: 1 }
  const bare: unknown = Object.assign(Object.create(null), { b: shared, a: shared })
  expect(canonicalJson(bare)).toBe('{"a":{"x":1},"b":{"x":1}}')
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1},"b":1}')
})

test('any value has one spelling, without an LF, and comes back from it [MP-08, B114]', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (json) => {
      const text = canonicalJson(JSON.parse(json))
      expect(text).not.toContain('\n')
      // Zero has one sign in canonical JSON.
      const value: unknown = JSON.parse(json, (_, item: unknown) => (item === 0 ? 0 : item))
      expect(parseStrictJson(Buffer.from(text))).toEqual(value)
      expect(canonicalJson(JSON.parse(text))).toBe(text)
    }),
    { numRuns: 300 },
  )
})
