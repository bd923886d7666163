/** One JSON text read slowly and exactly: the first thing wrong with it, and where. */
import { ProtocolError } from '../base/errors.js'
import { JSON_MAX_LEVELS } from '../base/limits.js'

const white = /[ \t\n\r]*/y
const word = /true|false|null/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20

/**
 * Checks that a text is one JSON value (RFC 8259) of bounded depth whose objects have no key twice, whose numbers are
 * doubles and whose strings have no half surrogate pair.
 *
 * @throws {ProtocolError} ERR_FRAME_DUPLICATE_KEY or ERR_FRAME_MALFORMED_JSON, whichever is wrong first in the text
 */
export function examineJson(text: string): void {
  new Examination(text).run()
}

class Examination {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  run(): void {
    this.#value(0)
    if (this.#at < this.#text.length) this.#malformed('text after the value')
  }

  /** Passes a value and the white space around it. Recursion is bounded by the levels. */
  #value(level: number): void {
    this.#match(white)
    const first = this.#text[this.#at]
    if (first === '{') this.#object(level + 1)
    else if (first === '[') this.#array(level + 1)
    else if (first === '"') this.#string()
    else if (this.#match(word) === undefined) this.#number()
    this.#match(white)
  }

  #object(level: number): void {
    const keys = new Set<string>()
    this.#open(level)
    if (this.#skip('}')) return
    do {
      this.#match(white)
      if (this.#text[this.#at] !== '"') this.#malformed('no key')
      const key = this.#string()
      if (keys.has(key)) throw new ProtocolError('ERR_FRAME_DUPLICATE_KEY', { key })
      keys.add(key)
      this.#match(white)
      if (!this.#skip(':')) this.#malformed("no ':' after a key")
      this.#value(level)
    } while (this.#skip(','))
    if (!this.#skip('}')) this.#malformed("no ',' or '}' after a value")
  }

  #array(level: number): void {
    this.#open(level)
    if (this.#skip(']')) return
    do this.#value(level)
    while (this.#skip(','))
    if (!this.#skip(']')) this.#malformed("no ',' or ']' after a value")
  }

  #open(level: number): void {
    if (level > JSON_MAX_LEVELS) this.#malformed(`more than ${JSON_MAX_LEVELS} levels of nesting`)
    this.#at++
    this.#match(white)
  }

  #number(): void {
    const start = this.#at
    const digits = this.#match(number)
    if (digits === undefined) this.#malformed('no value')
    if (!Number.isFinite(Number(digits))) this.#malformed('a number that no double can hold', start)
  }

  #string(): string {
    const start = this.#at++
    for (let code = this.#code(); code !== QUOTE; code = this.#code()) {
      if (Number.isNaN(code)) this.#malformed('a string without an end')
      if (code < SPACE) this.#malformed('a control character in a string')
      if (code !== BACKSLASH) this.#at++
      else if (this.#match(escape) === undefined) this.#malformed('no such escape')
    }
    this.#at++
    const value = JSON.parse(this.#text.slice(start, this.#at)) as string
    if (!value.isWellFormed()) this.#malformed('half a surrogate pair in a string', start)
    return value
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at)
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #malformed(reason: string, at = this.#at): never {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    throw new ProtocolError('ERR_FRAME_MALFORMED_JSON', { line, column: at - before.lastIndexOf('\n'), reason })
  }
}
