/** How a start gets into native code: laid in two arrays, read back in the same order, and wiped. */
import { expect, test } from 'vitest'
import { connectedAddon } from '../../lib/addon/events.js'
import { Packer } from '../../lib/addon/packer.js'
import { capture, KiB, spawn } from '../../lib/index.js'
import { fixtureChild } from '../support/fixture.js'

test('native code refuses a start that ends before all of it is read, and starts nothing [P-1]', () => {
  const native = connectedAddon()
  for (const length of [0, 1, 5]) {
    expect(() => native.spawn(new Float64Array(length), new Uint8Array(0))).toThrow('packed in another order')
  }
  // One string that says to be longer than all the bytes there are.
  const numbers = new Float64Array(64)
  numbers.set([0, 1, 100])
  expect(() => native.spawn(numbers, new Uint8Array(10))).toThrow('packed in another order')
})

test('a start with more numbers and bytes than the packer begins with arrives whole, and so does the next [P-1]', async () => {
  const env = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`NAME${index}`, `${index}`.repeat(100)]))
  const said = async (given: Record<string, string>, fds: Record<number, 'null'>): Promise<string[]> => {
    const child = await spawn({ program: fixtureChild(), args: ['env'], env: given, fds: { 1: capture({ headBytes: 1024 * KiB }), ...fds } })
    return (await child.wait()).logs[1]?.text().trimEnd().split('\n') ?? []
  }
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [index + 3, 'null'] as const))
  expect(await said(env, many)).toEqual(Object.entries(env).map(([name, value]) => `${name}=${value}`))
  expect(await said({ A: '1' }, {})).toEqual(['A=1'])
})

test('what was packed is wiped, also what was packed before it grew: secrets are among it [M-23]', () => {
  const packer = new Packer()
  const kept: Uint8Array[] = []
  const keep = (_: Float64Array, bytes: Uint8Array): void => void kept.push(bytes)
  packer.bytes(Buffer.from('secret'))
  packer.lend(keep)
  packer.bytes(new Uint8Array(64 * KiB).fill(7))
  packer.lend(keep)
  packer.clear()
  expect(kept.map((bytes) => bytes.length >= 16 * KiB && bytes.every((byte) => byte === 0))).toEqual([true, true])
  // And it begins at the beginning again.
  packer.number(5)
  packer.lend((numbers) => expect(numbers[0]).toBe(5))
})
