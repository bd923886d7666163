/** Reads a journal of attempts: line by line, and no line keeps another from being read. */
import { constants } from 'node:buffer'
import { parseStrictJson } from '../protocol/strict-json.js'
import type { AttemptEvidence } from './evidence.js'
import { evidenceFault } from './evidence-shape.js'
import { openJournal, READ } from './journal-file.js'

const LF = 0x0a
const PIECE_BYTES = 1_048_576
// What Node can hold as one string: a longer line is no evidence that this package wrote.
const LINE_MAX_BYTES = constants.MAX_STRING_LENGTH

/** A line that is no JSON, as a crash leaves it. */
export interface TornLine {
  /** From 1. */
  readonly line: number
  /** Where it begins, in bytes. */
  readonly offset: number
  readonly bytes: number
}

/** A line that is JSON, and no evidence that this package reads. */
export interface ForeignLine extends TornLine {
  readonly reason: string
}

export interface JournalReading {
  readonly attempts: readonly AttemptEvidence[]
  /** What was being written when a host died; no end was told of these. */
  readonly torn: readonly TornLine[]
  /** What somebody else wrote, or another version of this package. */
  readonly foreign: readonly ForeignLine[]
}

/**
 * Reads a journal of any size, also one that is written to. What it gives is held in memory.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC: `path` is no regular file
 * @throws the system's errors of open and read
 */
export async function readAttemptJournal(path: string): Promise<JournalReading> {
  const reading = { attempts: [] as AttemptEvidence[], torn: [] as TornLine[], foreign: [] as ForeignLine[] }
  let number = 0
  for await (const { text, offset, bytes } of linesOf(path)) {
    number++
    // The end of a torn line, put there a second time: it holds nothing that could be missed.
    if (bytes === 0) continue
    const place = { line: number, offset, bytes }
    const value = text === undefined ? undefined : jsonIn(text)
    if (value === undefined) {
      reading.torn.push(Object.freeze(place))
      continue
    }
    const reason = evidenceFault(value.json)
    if (reason === undefined) reading.attempts.push(value.json as AttemptEvidence)
    else reading.foreign.push(Object.freeze({ ...place, reason }))
  }
  for (const list of Object.values(reading)) Object.freeze(list)
  return Object.freeze(reading)
}

interface Line {
  /** Absent for one that is too long to be looked at. */
  readonly text: Buffer | undefined
  readonly offset: number
  readonly bytes: number
}

async function* linesOf(path: string): AsyncGenerator<Line, void, undefined> {
  const { file } = await openJournal(path, READ)
  try {
    let begun: Buffer[] = []
    let bytes = 0
    let offset = 0
    const add = (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= LINE_MAX_BYTES) begun.push(piece)
      else begun = []
    }
    const end = (): Line => {
      const line = { text: bytes <= LINE_MAX_BYTES ? Buffer.concat(begun) : undefined, offset, bytes }
      offset += bytes + 1
      begun = []
      bytes = 0
      return line
    }
    for (;;) {
      // A piece of its own each time: lines are cut out of it.
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null)
      if (bytesRead === 0) break
      let from = 0
      for (let lf = buffer.indexOf(LF); lf !== -1 && lf < bytesRead; lf = buffer.indexOf(LF, from)) {
        add(buffer.subarray(from, lf))
        yield end()
        from = lf + 1
      }
      add(buffer.subarray(from, bytesRead))
    }
    if (bytes > 0) yield end()
  } finally {
    await file.close()
  }
}

function jsonIn(text: Buffer): { json: unknown } | undefined {
  try {
    return { json: parseStrictJson(text) }
  } catch {
    return undefined
  }
}
