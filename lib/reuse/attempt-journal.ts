/**
 * Evidence on disk: a file to which one line of JSON is appended for each attempt, and which is flushed before the append
 * is done. Whoever reads it after a crash finds every attempt whose end was told.
 */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ReuseError, SpecError } from '../base/errors.js'
import { invalid } from '../process/strings.js'
import { canonicalJson } from '../protocol/canonical-json.js'
import { parseStrictJson } from '../protocol/strict-json.js'
import type { AttemptEvidence } from './evidence.js'
import { EVIDENCE_VERSION } from './evidence.js'

const LF = 0x0a
// O_NONBLOCK: a FIFO is refused by what it is, not waited for.
const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_NOCTTY | constants.O_NONBLOCK

/** Writes a journal. Close it: `await using`. */
export class AttemptJournal implements AsyncDisposable {
  readonly path: string
  readonly #file: FileHandle
  #last: Promise<void> = Promise.resolve()
  /** After a failed write or flush nobody knows what is on the disk: nothing more is promised by this handle. */
  #failure: unknown
  #closed: Promise<void> | undefined

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  /**
   * Opens a journal to append to it; makes it, 0600, if it is not there. A line that a crash has torn is ended, so that the
   * next one stands by itself; it stays, and readers tell it.
   *
   * @throws {SpecError} ERR_INVALID_SPEC: `path` is no regular file
   * @throws the system's errors of open, write and fsync
   */
  static async open(path: string): Promise<AttemptJournal> {
    if (typeof path !== 'string' || path === '') throw invalid('path', 'must be a string that is not empty')
    const { file, made } = await openOrMake(path)
    try {
      const { size } = await checkRegular(file)
      if (made) await file.chmod(0o600)
      const torn = size > 0 && !(await endsLine(file, size))
      if (torn) await file.write(Uint8Array.of(LF))
      if (made || torn) await file.sync()
      // The name too: fsync(2) of a file says nothing of its directory.
      if (made) await syncDirectory(dirname(path))
      return new AttemptJournal(path, file)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Appends the evidence of one attempt, one at a time; done when it is on the disk. A function of its own, to be given to
   * an owner as `publish`.
   *
   * @throws {ReuseError} ERR_PUBLICATION_FAILED, the cause is the system's error; the journal takes nothing any more
   */
  readonly append = (evidence: AttemptEvidence): Promise<void> => {
    const line = Buffer.from(`${canonicalJson(evidence)}\n`)
    const closed = this.#closed !== undefined
    const appended = this.#last.then(() => this.#write(line, closed)).catch((cause: unknown) => {
      throw new ReuseError('ERR_PUBLICATION_FAILED', { attempt: evidence.attempt }, { cause })
    })
    this.#last = appended.catch(() => {})
    return appended
  }

  /** Closes the file once what is under way has ended. Repeatable. */
  close(): Promise<void> {
    return (this.#closed ??= this.#last.then(() => this.#file.close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #write(line: Buffer, closed: boolean): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (closed) throw new Error('the journal is closed')
    try {
      for (let at = 0; at < line.length; ) at += (await this.#file.write(line, at)).bytesWritten
      await this.#file.sync()
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

/** A line that is no evidence, as a crash leaves it. */
export interface TornLine {
  /** From 1. */
  readonly line: number
  /** Where it begins, in bytes. */
  readonly offset: number
  readonly bytes: number
}

export interface JournalReading {
  readonly attempts: readonly AttemptEvidence[]
  /** What was being written when a host died; no end was told of these. */
  readonly torn: readonly TornLine[]
}

/**
 * Reads a journal, also one that is written to.
 *
 * @throws {SpecError} ERR_INVALID_SPEC: evidence of a version that this package does not know
 * @throws the system's errors of open and read
 */
export async function readAttemptJournal(path: string): Promise<JournalReading> {
  const bytes = await readFile(path)
  const attempts: AttemptEvidence[] = []
  const torn: TornLine[] = []
  let number = 0
  for (let offset = 0; offset < bytes.length; ) {
    const lf = bytes.indexOf(LF, offset)
    const end = lf === -1 ? bytes.length : lf
    const evidence = readLine(bytes.subarray(offset, end), ++number)
    if (evidence === undefined) torn.push(Object.freeze({ line: number, offset, bytes: end - offset }))
    else attempts.push(evidence)
    offset = end + 1
  }
  return Object.freeze({ attempts: Object.freeze(attempts), torn: Object.freeze(torn) })
}

function readLine(line: Buffer, number: number): AttemptEvidence | undefined {
  let value: unknown
  try {
    value = parseStrictJson(line)
  } catch {
    return undefined
  }
  const { evidence } = Object(value) as { evidence?: unknown }
  if (evidence === EVIDENCE_VERSION) return value as AttemptEvidence
  const reason = `is evidence of version ${String(evidence)}, and this package reads ${EVIDENCE_VERSION}`
  throw new SpecError('ERR_INVALID_SPEC', { field: `line ${number}`, reason })
}

async function openOrMake(path: string): Promise<{ file: FileHandle; made: boolean }> {
  try {
    return { file: await open(path, FLAGS | constants.O_CREAT | constants.O_EXCL, 0o600), made: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { file: await open(path, FLAGS), made: false }
  }
}

async function checkRegular(file: FileHandle): Promise<{ size: number }> {
  const facts = await file.stat()
  if (!facts.isFile()) throw invalid('path', 'must be a regular file: nothing else keeps what it is given')
  return facts
}

async function endsLine(file: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] === LF
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
