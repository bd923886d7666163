import { expect, test } from 'vitest'
import { Correlation } from '../../lib/protocol/correlation.js'

test('a second request before the response is refused and takes no id [MP-07]', () => {
  const correlation = new Correlation()
  correlation.begin()
  const pending = expect.objectContaining({ name: 'ProtocolError', code: 'ERR_REQUEST_PENDING', id: '0' })
  expect(() => correlation.begin()).toThrow(pending)
  expect(() => correlation.nextId()).toThrow(pending)
  correlation.settle({ id: '0' })
  expect(correlation.nextId()).toBe('1')
})

test('ids are decimals from "0", one for each request that was begun [MP-07]', () => {
  const correlation = new Correlation()
  for (let count = 0; count < 12; count++) {
    expect([correlation.nextId(), correlation.nextId()]).toEqual([String(count), String(count)])
    correlation.begin()
    correlation.settle({ id: String(count), ok: true })
  }
})

test.each([
  ['null', null],
  ['a string', '0'],
  ['an array', ['0']],
  ['an object without an id', {}],
  ['a number as id', { id: 0 }],
  ['null as id', { id: null }],
  ['an inherited id', Object.create({ id: '0' })],
])('%s is no response, and the request stays pending [MP-06]', (_, response: unknown) => {
  const correlation = new Correlation()
  correlation.begin()
  expect(() => correlation.settle(response)).toThrow(expect.objectContaining({ code: 'ERR_REQUEST_ID_INVALID' }))
  correlation.settle({ id: '0' })
})

test('the response of another request is refused, and the request stays pending [MP-06]', () => {
  const correlation = new Correlation()
  correlation.begin()
  for (const actual of ['1', '00', '', ' 0']) {
    const code = 'ERR_REQUEST_ID_MISMATCH'
    expect(() => correlation.settle({ id: actual })).toThrow(expect.objectContaining({ code, expected: '0', actual }))
  }
  correlation.settle({ id: '0' })
})

test('a response that comes again is extra, also while the next request is pending [MP-06]', () => {
  const correlation = new Correlation()
  const extra = expect.objectContaining({ code: 'ERR_RESPONSE_EXTRA', id: '0' })
  expect(() => correlation.settle({ id: '0' })).toThrow(extra)
  correlation.begin()
  correlation.settle({ id: '0' })
  expect(() => correlation.settle({ id: '0' })).toThrow(extra)
  correlation.begin()
  expect(() => correlation.settle({ id: '0' })).toThrow(extra)
  correlation.settle({ id: '1' })
})
