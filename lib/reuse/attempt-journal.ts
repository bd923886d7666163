/**
 * Evidence on disk: a file to which one line of JSON is appended for each attempt, and which is flushed before the append
 * is done. Whoever reads it after a crash finds every attempt whose end was told.
 */
import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ReuseError } from '../base/errors.js'
import { invalid } from '../process/strings.js'
import type { AttemptEvidence } from './evidence.js'
import { evidenceFault } from './evidence-shape.js'
import { APPEND, isAt, openJournal } from './journal-file.js'
import { jsonText } from './json.js'

const LF = 0x0a

/** Writes a journal. Close it: `await using`. */
export class AttemptJournal implements AsyncDisposable {
  /** Absolute. */
  readonly path: string
  readonly #file: FileHandle
  readonly #facts: BigIntStats
  #last: Promise<void> = Promise.resolve()
  /** After a failed write or flush nobody knows what is on the disk: nothing more is promised by this handle. */
  #failure: unknown
  #closed: Promise<void> | undefined

  private constructor(path: string, file: FileHandle, facts: BigIntStats) {
    this.path = path
    this.#file = file
    this.#facts = facts
  }

  /**
   * Opens a journal to append to it; makes it, 0600, if it is not there. A line that a crash has torn is ended, so that the
   * next one stands by itself; it stays, and readers tell it.
   *
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC: `path` is no regular file
   * @throws the system's errors of open, write and fsync
   */
  static async open(path: string): Promise<AttemptJournal> {
    const { file, facts, made } = await openJournal(path, APPEND)
    try {
      // A later chdir must not make it another file's name.
      const absolute = resolve(path)
      if (made) await file.chmod(0o600)
      const torn = facts.size > 0n && !(await endsLine(file, facts.size))
      if (torn) await file.write(Uint8Array.of(LF))
      if (made || torn) await file.sync()
      // The name too: fsync(2) of a file says nothing of its directory.
      if (made) await syncDirectory(dirname(absolute))
      return new AttemptJournal(absolute, file, facts)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Appends the evidence of one attempt, one at a time; done when it is on the disk. A function of its own, to be given to
   * an owner as `publish`. Rejects, and never throws in the call.
   *
   * @throws {SpecError} ERR_INVALID_SPEC {field: 'evidence'}: it is none; nothing was written
   * @throws {ReuseError} ERR_PUBLICATION_FAILED, the cause is the system's error, or says that the file is no longer at its
   *   path; the journal takes nothing any more
   */
  readonly append = async (evidence: AttemptEvidence): Promise<void> => {
    const fault = evidenceFault(evidence)
    if (fault !== undefined) throw invalid('evidence', fault)
    const line = Buffer.from(`${jsonText(evidence, 'evidence')}\n`)
    const closed = this.#closed !== undefined
    const appended = this.#last.then(() => this.#write(line, closed)).catch((cause: unknown) => {
      throw new ReuseError('ERR_PUBLICATION_FAILED', { attempt: evidence.attempt }, { cause })
    })
    this.#last = appended.catch(() => {})
    await appended
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
      if (!(await isAt(this.path, this.#facts))) throw new Error('the journal was moved or deleted')
      for (let at = 0; at < line.length; ) at += (await this.#file.write(line, at)).bytesWritten
      await this.#file.sync()
    } catch (error) {
      this.#failure = error
      throw error
    }
  }
}

async function endsLine(file: FileHandle, size: bigint): Promise<boolean> {
  // As a number it is exact up to 8 PiB.
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Number(size - 1n))
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
