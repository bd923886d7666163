/** Opens the files of a descriptor map, on Node's file threads: an open can block for as long as a disk likes. */
import { constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { connectedAddon } from '../addon/events.js'
import { SpawnError, systemError } from '../base/errors.js'
import type { Redactor } from '../io/redactor.js'
import type { FdEntry, FileMode, FileRequest } from './fd-map.js'
import { invalid } from './strings.js'

const { O_APPEND, O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
// O_NONBLOCK: a FIFO must be refused, not waited for. Native code clears it again, before the child has the file.
// Not O_TRUNC: nothing is changed before it is known to be a file.
const FLAGS: Readonly<Record<FileMode, number>> = {
  read: O_RDONLY | O_NONBLOCK | O_NOCTTY,
  append: O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY,
  write: O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY,
}
const OWNER_ONLY = 0o600

/**
 * Opens every file of the map: by its target, the number by which native code holds it. The caller hands it over or
 * closes it.
 *
 * @throws {SpawnError} stage file, with path and field
 * @throws {SpecError} a FIFO
 */
export async function openFiles(entries: readonly FdEntry[], redact: Redactor): Promise<Map<number, number>> {
  const opened = new Map<number, number>()
  try {
    for (const entry of entries) {
      if (entry.kind === 'file') opened.set(entry.target, await openOne(entry.target, entry.file, redact))
    }
    return opened
  } catch (error) {
    closeFiles(opened)
    throw error
  }
}

export function closeFiles(opened: ReadonlyMap<number, number>): void {
  for (const held of opened.values()) connectedAddon().dropFd(held)
}

async function openOne(target: number, { path, mode }: FileRequest, redact: Redactor): Promise<number> {
  const field = `fds.${target}`
  let file: FileHandle | undefined
  try {
    file = await openOrMake(Buffer.from(path), mode)
    if ((await file.stat()).isFIFO()) throw invalid(field, 'is a FIFO, and opening one can wait for ever; use pipe()')
    if (mode === 'write') await file.truncate().catch(ignoreNoFile)
    return hold(file.fd)
  } catch (error) {
    throw fileError(error, field, redact(path))
  } finally {
    await file?.close()
  }
}

// What Node's fs opens in a worker thread it closes when that thread ends, by number and whoever has that number by
// then. A copy that native code holds is nobody else's, and is closed with the thread if no start has come by then.
function hold(fd: number): number {
  const copy = connectedAddon().holdFd(fd)
  if (copy < 0) throw systemError(copy, 'fcntl')
  return copy
}

// The mode given to an open is cut by the host's umask, which is the whole process's and cannot be set aside for one
// call. So a file that is new gets its mode once more; one that was there keeps its own [B097].
async function openOrMake(path: Buffer, mode: FileMode): Promise<FileHandle> {
  if (mode === 'read') return await open(path, FLAGS[mode])
  let file: FileHandle
  try {
    file = await open(path, FLAGS[mode] | O_EXCL, OWNER_ONLY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return await open(path, FLAGS[mode], OWNER_ONLY)
  }
  try {
    await file.chmod(OWNER_ONLY)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

// /dev/null and terminals cannot be shortened, and need not be.
function ignoreNoFile(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EINVAL') throw error
}

function fileError(error: unknown, field: string, path: string): unknown {
  const { errno, syscall, code } = error as NodeJS.ErrnoException
  if (errno === undefined || syscall === undefined) return error
  // A FIFO that nobody reads refuses a writer in this mode.
  if (code === 'ENXIO') return invalid(field, 'is a FIFO or a device that nobody serves')
  return new SpawnError('ERR_SPAWN_FAILED', { stage: 'file', errno, syscall, path, field })
}
