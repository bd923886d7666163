/**
 * This process's own descriptors for a child.
 *
 * A descriptor is given away as it is: the child then writes to the very file, pipe or terminal, at its own speed, and
 * its death by SIGPIPE is its own. Only one that somebody made non-blocking cannot be: the flag is shared by all who
 * have the description, and few programs expect it.
 */
import { constants, fstatSync, openSync, readlinkSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { isatty } from 'node:tty'
import { addon } from '../addon/addon.js'
import { DRAIN_MS } from '../base/limits.js'
import type { Child } from '../process/child.js'
import type { FdSource } from '../process/fd-map.js'

const { O_NOCTTY, O_NONBLOCK, O_RDWR, O_WRONLY } = constants

/**
 * Gives the source of a child's descriptor that is to be this process's own `fd`; "pump" where it has to be carried:
 * pipes and sockets that are non-blocking. A closed one is for the start to refuse, with its reason.
 */
export function ownDescriptor(fd: number): FdSource | 'pump' {
  const status = addon().fdStatus(fd)
  if (status < 0 || (status & O_NONBLOCK) === 0) return { hostFd: fd }
  const facts = fstatSync(fd)
  // On files the flag has no effect, open(2).
  if (facts.isFile() || facts.isDirectory()) return { hostFd: fd, nonblock: 'keep' }
  if (!isatty(fd)) return 'pump'
  try {
    // A terminal opened again is a description of one's own. A pipe is not opened again: without a peer that hangs.
    return { hostFd: openSync(`/proc/self/fd/${fd}`, (status & (O_RDWR | O_WRONLY)) | O_NOCTTY) }
  } catch {
    return 'pump'
  }
}

/** Tells whether a descriptor beyond the standard ones is a poller, an eventfd or the like, as Node opens them. */
export function isAnonymous(fd: number): boolean {
  if (fd <= 2) return false
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith('anon_inode:')
  } catch {
    return false
  }
}

/**
 * Carries bytes between this process's standard streams and the child's "pipe" entries.
 *
 * @returns what to await after the exit: all output has been passed on, or its reader is gone, or nothing has come for
 *   DRAIN_MS from a descendant that still holds it open
 */
export function pumpStreams(child: Child): () => Promise<void> {
  if (child.stdin !== null) pipeline(process.stdin, child.stdin).catch(() => {})
  const carried = [
    carry(child.stdout, process.stdout),
    carry(child.stderr, process.stderr),
  ]
  return async () => {
    await Promise.all(carried.map((done) => done()))
  }
}

function carry(from: Readable | null, to: Writable): () => Promise<void> {
  if (from === null) return async () => {}
  // Destroying it closes the pipe, so that the child gets the SIGPIPE that is meant for it.
  to.on('error', () => from.destroy())
  from.pipe(to, { end: false })
  const end = finished(from).catch(() => {})
  return async () => {
    await Promise.race([end, silence(from, to)])
    await new Promise<void>((resolve) => to.write('', () => resolve()))
  }
}

function silence(from: Readable, to: Writable): Promise<void> {
  return new Promise((resolve) => {
    // A slow reader of ours is no silence of the child's.
    const timer = setTimeout(() => (to.writableNeedDrain ? timer.refresh() : resolve()), DRAIN_MS)
    from.on('data', () => timer.refresh())
  })
}
