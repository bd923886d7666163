import { expect, test } from 'vitest'
import * as limits from '../../lib/base/limits.js'

test('every limit is a whole number above zero that says its unit [I-7]', () => {
  const { KiB, MiB, ...rest } = limits
  expect([KiB, MiB]).toEqual([1024, 1024 * 1024])
  for (const [name, value] of Object.entries(rest)) {
    expect(value).toSatisfy(Number.isSafeInteger)
    expect(value).toBeGreaterThan(0)
    expect(name).toMatch(/_(?:MS|BYTES|CHARS|LEVELS)$|^CHILD_NOFILE_SOFT$|^\w+S_MAX$/)
  }
})

test('the limits that fit into each other do [I-7]', () => {
  expect(limits.SECRET_MIN_BYTES).toBeLessThan(limits.SECRET_MAX_BYTES)
  expect(limits.MESSAGE_SUBJECT_MAX_CHARS).toBeLessThan(limits.MESSAGE_MAX_CHARS)
  // A held-back suffix must fit beside one read.
  expect(limits.SECRET_MAX_BYTES).toBeLessThan(limits.PIPE_CHUNK_BYTES)
})
