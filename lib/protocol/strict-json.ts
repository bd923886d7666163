/**
 * JSON as wire protocol v1 has it: UTF-8 without a mark, no key twice, bounded depth, finite numbers.
 *
 * `JSON.parse` makes the value. That nothing was lost on the way is shown by counting: a text with as many members as
 * the value has keys has no key twice, however its keys are escaped. Where the quick proof does not hold, an exact
 * reading (json-reading.ts) says what is wrong.
 */
import { ProtocolError } from '../base/errors.js'
import { JSON_MAX_LEVELS } from '../base/limits.js'
import { examineJson } from './json-reading.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MARK = 0xfeff
const REPLACEMENT = '\ufffd'

// What a byte outside strings means to the count; bytes of longer characters mean nothing.
const STRING = 1
const MEMBER = 2
const OPENS = 3
const CLOSES = 4
const meanings = new Uint8Array(256)
for (const [bytes, meaning] of [['"', STRING], [':', MEMBER], ['{[', OPENS], ['}]', CLOSES]] as const) {
  for (const byte of Buffer.from(bytes)) meanings[byte] = meaning
}

// About as many looks at one byte cost what a call of indexOf does.
const LOOK_BYTES = 64

/**
 * Reads one JSON value. White space around it is JSON's, so a CR before the LF of a line is none of the value.
 *
 * Objects have own properties only, `__proto__` among them.
 *
 * @throws {ProtocolError} ERR_FRAME_BYTE_ORDER_MARK, ERR_FRAME_INVALID_UTF8, ERR_FRAME_DUPLICATE_KEY,
 *   ERR_FRAME_MALFORMED_JSON
 */
export function parseStrictJson(bytes: Buffer): unknown {
  const text = bytes.toString()
  if (text.charCodeAt(0) === MARK) throw new ProtocolError('ERR_FRAME_BYTE_ORDER_MARK', {})
  if (text.includes(REPLACEMENT)) checkUtf8(bytes, text)
  const members = membersIn(bytes)
  if (members !== undefined && !hasSurrogateEscape(text)) {
    const value = tryParse(text)
    if (value !== undefined && membersOf(value) === members) return value
  }
  examineJson(text)
  return JSON.parse(text)
}

/** Counts the members of all objects in a text, right if it is JSON; undefined when it is nested too deeply. */
function membersIn(bytes: Buffer): number | undefined {
  let members = 0
  let level = 0
  for (let at = 0; at < bytes.length; at++) {
    const meaning = meanings[bytes[at]!]
    if (meaning === 0) continue
    if (meaning === STRING) at = endOfString(bytes, at)
    else if (meaning === MEMBER) members++
    else if (meaning === CLOSES) level--
    else if (++level > JSON_MAX_LEVELS) return undefined
  }
  return members
}

/** Gives where the string that begins at `start` has its closing quote; the end of the text when it has none. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  for (const near = Math.min(at + LOOK_BYTES, bytes.length); at < near; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  for (at = bytes.indexOf(QUOTE, at); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = at
    while (bytes[escapes - 1] === BACKSLASH) escapes--
    if ((at - escapes) % 2 === 0) return at
  }
  return bytes.length
}

/** Counts the keys of all objects in a value; NaN when a number in it is not finite. */
function membersOf(value: unknown): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : NaN
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) members += membersOf(value[i])
    return members
  }
  // for…in leaves a cache of the keys with the shape, Object.keys does not: a third of the whole time.
  for (const key in value) {
    if (Object.hasOwn(value, key)) members += 1 + membersOf(value[key as keyof typeof value])
  }
  return members
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// An escape is the one way in which a valid text can hold half a pair.
function hasSurrogateEscape(text: string): boolean {
  return text.includes('\\u') && /\\u[dD][89a-fA-F]/.test(text)
}

/** Finds the first replacement mark that the decoder put there; what is before it is valid. */
function checkUtf8(bytes: Buffer, text: string): void {
  let validUpTo = 0
  let from = 0
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, from)) {
    validUpTo += Buffer.byteLength(text.slice(from, at))
    const genuine = Buffer.from(REPLACEMENT).equals(bytes.subarray(validUpTo, validUpTo + 3))
    if (!genuine) throw new ProtocolError('ERR_FRAME_INVALID_UTF8', { validUpTo })
    validUpTo += 3
    from = at + 1
  }
}
