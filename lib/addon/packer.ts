/**
 * Plain values on their way into native code, laid one after another and read back there in the same order. Reading a
 * start's forty values as properties of an object, by name, took a third of the whole call.
 */
import { KiB } from '../base/limits.js'

const NUMBERS = 256
const BYTES = 16 * KiB

/** Native code has its other half: native/binding/unpacker.h. */
export class Packer {
  #numbers = new Float64Array(NUMBERS)
  #bytes = new Uint8Array(BYTES)
  #count = 0
  #size = 0

  /** Null is told apart from every number. */
  number(value: number | null): void {
    if (this.#count === this.#numbers.length) this.#growNumbers()
    this.#numbers[this.#count++] = value ?? NaN
  }

  flag(value: boolean): void {
    this.number(value ? 1 : 0)
  }

  numbers(values: readonly number[] | null): void {
    this.number(values === null ? null : values.length)
    if (values !== null) for (const value of values) this.number(value)
  }

  bytes(value: Uint8Array | null): void {
    this.number(value === null ? null : value.length)
    if (value !== null) this.#append(value, value.length)
  }

  byteList(values: readonly Uint8Array[]): void {
    this.number(values.length)
    for (const value of values) this.bytes(value)
  }

  /** As the kernel reads them: each with its NUL. */
  strings(values: readonly Uint8Array[]): void {
    this.number(values.length)
    const sizeAt = this.#count
    this.number(0)
    const begin = this.#size
    for (const value of values) this.#append(value, value.length + 1)
    this.#numbers[sizeAt] = this.#size - begin
  }

  /** Strings that have their NULs already. */
  block(value: Uint8Array, count: number): void {
    this.number(count)
    this.bytes(value)
  }

  /** Lends all of it to one call, which copies what it keeps. */
  lend<T>(call: (numbers: Float64Array, bytes: Uint8Array) => T): T {
    return call(this.#numbers, this.#bytes)
  }

  /** Begins anew. Wipes the bytes: secrets are among them. */
  clear(): void {
    this.#bytes.fill(0, 0, this.#size)
    // One start with a great environment must not keep its room for ever.
    if (this.#bytes.length > BYTES) this.#bytes = new Uint8Array(BYTES)
    this.#count = 0
    this.#size = 0
  }

  // What is beyond the value's own bytes is zero: the NUL of a string.
  #append(value: Uint8Array, room: number): void {
    const end = this.#size + room
    if (end > this.#bytes.length) this.#growBytes(end)
    this.#bytes.set(value, this.#size)
    this.#size = end
  }

  #growNumbers(): void {
    const larger = new Float64Array(this.#numbers.length * 2)
    larger.set(this.#numbers)
    this.#numbers = larger
  }

  #growBytes(least: number): void {
    const larger = new Uint8Array(Math.max(least, this.#bytes.length * 2))
    larger.set(this.#bytes)
    this.#bytes.fill(0)
    this.#bytes = larger
  }
}
