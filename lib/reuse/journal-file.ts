/** The file of a journal: opened by what it is, and known by more than its name. */
import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open, stat } from 'node:fs/promises'
import { invalid, wrongType } from '../process/strings.js'

// O_NONBLOCK: a FIFO is refused by what it is, and not waited for.
const ALWAYS = constants.O_NOCTTY | constants.O_NONBLOCK
export const READ = constants.O_RDONLY | ALWAYS
export const APPEND = constants.O_RDWR | constants.O_APPEND | ALWAYS

export interface OpenJournal {
  readonly file: FileHandle
  readonly facts: BigIntStats
  readonly made: boolean
}

/**
 * Opens a journal; to append, makes it where it is not there.
 *
 * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC: `path` is no path, or no regular file
 * @throws the system's errors of open
 */
export async function openJournal(path: unknown, flags: number): Promise<OpenJournal> {
  if (typeof path !== 'string') throw wrongType('path', 'must be a string')
  if (path === '') throw invalid('path', 'is empty')
  if (path.includes('\0')) throw invalid('path', 'contains a NUL byte')
  const { file, made } = await openOrMake(path, flags)
  try {
    const facts = await file.stat({ bigint: true })
    if (!facts.isFile()) throw invalid('path', 'must be a regular file: nothing else keeps what it is given')
    return { file, facts, made }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Tells whether a file is still the one at its path: moved or deleted, it would swallow what a reader looks for there. */
export async function isAt(path: string, { dev, ino }: BigIntStats): Promise<boolean> {
  try {
    const there = await stat(path, { bigint: true })
    return there.dev === dev && there.ino === ino
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

async function openOrMake(path: string, flags: number): Promise<{ file: FileHandle; made: boolean }> {
  if (flags === READ) return { file: await open(path, flags), made: false }
  try {
    return { file: await open(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600), made: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return { file: await open(path, flags), made: false }
  }
}
