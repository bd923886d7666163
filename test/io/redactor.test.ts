import { inspect } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SpecError } from '../../lib/base/errors.js'
import { SECRET_MIN_BYTES } from '../../lib/base/limits.js'
import { createRedactor, redactValue, REDACTED } from '../../lib/io/redactor.js'

const redactor = (...secrets: (string | Uint8Array)[]) => {
  return createRedactor(secrets.map((secret) => Buffer.from(secret as string)))
}

/** Marks each byte of each occurrence, then writes one marker for each stretch that overlaps. */
function naive(secrets: readonly Uint8Array[], text: Uint8Array): string {
  const spans = secrets.flatMap((secret) =>
    [...text.keys()]
      .filter((at) => secret.every((byte, i) => text[at + i] === byte))
      .map((start) => ({ start, end: start + secret.length })),
  )
  const covered = (at: number) => spans.some(({ start, end }) => start <= at && at < end)
  const joined = (at: number) => spans.some(({ start, end }) => start < at && at < end)
  const out: Buffer[] = []
  for (const at of text.keys()) {
    if (!covered(at)) out.push(Buffer.of(text[at]!))
    else if (!joined(at)) out.push(Buffer.from(REDACTED))
  }
  return Buffer.concat(out).toString()
}

test('a secret that is too short is refused, and the shortest one is taken [P-9]', () => {
  const shortest = 's'.repeat(SECRET_MIN_BYTES)
  for (const secret of ['', shortest.slice(1)]) expect(() => redactor(secret)).toThrow(RangeError)
  expect(redactor(shortest)(`a ${shortest} b`)).toBe('a [redacted] b')
})

test('a text without a secret comes back as it was, half characters included [P-9]', () => {
  for (const text of ['', 'plain', '\ud83d alone', '\ufeffwith a mark', 'secre']) {
    expect(redactor('secret')(text)).toBe(text)
    expect(redactor()(text)).toBe(text)
  }
})

test('every occurrence goes: at the start, at the end, and side by side [P-9]', () => {
  expect(redactor('secret')('secretsecret and secret')).toBe('[redacted][redacted] and [redacted]')
})

test('secrets that overlap or hold each other go as one, and no end of one is left [P-9]', () => {
  expect(redactor('abcd', 'cdef')('-abcdef-')).toBe('-[redacted]-')
  expect(redactor('abcd', 'abcdefgh', 'efgh')('-abcdefgh-')).toBe('-[redacted]-')
  expect(redactor('cdef', 'abcdefgh')('-abcdefgh-')).toBe('-[redacted]-')
  expect(redactor('abab')('-ababab-')).toBe('-[redacted]-')
})

test('a secret of more than ASCII is found by its bytes [P-9]', () => {
  expect(redactor('pässwörd😀')('x pässwörd😀 y')).toBe('x [redacted] y')
  expect(redactor(Buffer.from([0xa9, 0x61, 0x62, 0x63]))('éabc')).toBe('\ufffd[redacted]')
})

test('a secret that is no UTF-8 is found in bytes, and in a text that a decoder made of it [P-9]', () => {
  const secret = Buffer.from([0x61, 0xff, 0x5c, 0x62])
  const redact = redactor(secret)
  expect(redact(Buffer.concat([Buffer.from('x '), secret]))).toBe('x [redacted]')
  expect(redact(`x ${secret.toString()}`)).toBe('x [redacted]')
})

test('a secret is found as JSON and as an error message quote it [P-9]', () => {
  const secret = 'a"b\\c\nd\'e\tf\u0001g`'
  const redact = redactor(secret)
  expect(redact(JSON.stringify({ key: `x${secret}` }))).toBe('{"key":"x[redacted]"}')
  expect(redact(inspect(`x${secret}`))).toBe("'x[redacted]'")
  const key = `${'k'.repeat(50)}\n\u0001${'v'.repeat(50)}`
  const { message } = new SpecError('ERR_INVALID_SPEC', { field: key, reason: 'no' })
  expect(redactor(key)(message)).toBe("check spec field '[redacted]': no")
})

test('an argument list is cleaned element by element, bytes too, and its shape stays [M-65]', () => {
  const redact = redactor('secret')
  const args = ['--key', 'secret', '--key=secret!', Buffer.from('x secret')]
  expect(redactValue(redact, args)).toEqual(['--key', '[redacted]', '--key=[redacted]!', 'x [redacted]'])
  const record = { path: '/run/secret/x', tried: [{ file: 'secret' }], n: 1, none: null, flag: true }
  expect(redactValue(redact, record)).toEqual({
    path: '/run/[redacted]/x',
    tried: [{ file: '[redacted]' }],
    n: 1,
    none: null,
    flag: true,
  })
})

test('any secrets in any text go exactly as a byte by byte model says [P-9]', () => {
  // Few different bytes, two of which are a character together: overlaps and halves are common.
  const bytes = (minLength: number, maxLength: number) => {
    const byte = fc.constantFrom(0x41, 0x42, 0xc3, 0xa9)
    return fc.array(byte, { minLength, maxLength }).map((list) => Uint8Array.from(list))
  }
  fc.assert(
    fc.property(fc.array(bytes(4, 8), { maxLength: 4 }), bytes(0, 40), (secrets, text) => {
      const forms = secrets.flatMap((secret) => [secret, Buffer.from(Buffer.from(secret).toString())])
      expect(createRedactor(secrets)(text)).toBe(naive(forms, text))
    }),
    { numRuns: 500 },
  )
})

test('no secret of words survives in a text of words [P-9]', () => {
  const text = fc.string({ unit: 'grapheme' })
  const secret = fc.string({ unit: 'grapheme', minLength: 4, maxLength: 12 })
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), fc.array(text), (secrets, between) => {
      const text = between.flatMap((part, i) => [part, secrets[i % secrets.length]]).join('')
      const clean = redactor(...secrets)(text)
      for (const part of clean.split(REDACTED)) {
        for (const secret of secrets) expect(part).not.toContain(secret)
      }
    }),
    { numRuns: 300 },
  )
})
