/** The descriptor map: which number in the child gets what. Every number that is not named is closed. */
import { constants } from 'node:fs'
import { types } from 'node:util'
import { connectedAddon } from '../addon/events.js'
import { SpawnError, systemError } from '../base/errors.js'
import { Capture } from './capture.js'
import { readInteger, RLIMIT } from './controls.js'
import { ChildEndpoint } from './endpoint.js'
import { plainObject } from './plain-object.js'
import type { SpecString } from './strings.js'
import { invalid, pathBytes, wrongType } from './strings.js'

/** What a number in the child can be. 0, 1 and 2 are "null" unless they are named. */
export type FdSource =
  | 'null'
  | 'closed'
  /** A Node stream on 0, 1 or 2: `child.stdin`, `child.stdout`, `child.stderr`. */
  | 'pipe'
  | Capture
  | ChildEndpoint
  /** The same as another number of this child. */
  | { readonly sameAs: number }
  /** An open descriptor of the host, copied at the call; it stays the caller's. */
  | { readonly hostFd: number; readonly nonblock?: 'keep' }
  /** A sealed file in memory, read from its start. */
  | { readonly bytes: Uint8Array }
  /** A file, opened for this start: 0600 if it has to be made. A FIFO is refused: opening one can hang. */
  | { readonly file: SpecString; readonly mode: FileMode }

export type FileMode = 'read' | 'append' | 'write'

export interface FileRequest {
  readonly path: Uint8Array
  readonly mode: FileMode
}

/** One entry, checked; nothing is opened or consumed yet. */
export type FdEntry = { readonly target: number } & FdEntryKind

type FdEntryKind =
  | { readonly kind: 'null' }
  | { readonly kind: 'pipe' }
  | { readonly kind: 'capture'; readonly capture: Capture }
  | { readonly kind: 'endpoint'; readonly endpoint: ChildEndpoint }
  | { readonly kind: 'sameAs'; readonly source: number }
  | { readonly kind: 'hostFd'; readonly fd: number }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly file: FileRequest }

const EBADF = -9
const STANDARD = [0, 1, 2]
const FD_MAX = 2 ** 31 - 1
const MODES: readonly unknown[] = ['read', 'append', 'write']

/**
 * Checks a map and fills in 0, 1 and 2.
 *
 * @throws {SpecError} ERR_INVALID_SPEC naming the entry: a number that is none, or at or above the hard limit; a host
 *   descriptor that is closed or non-blocking; one endpoint on two numbers; `sameAs` without an end
 * @throws {SpawnError} ERR_COMMAND_CONSUMED: an endpoint of an earlier start
 */
export function readFdMap(fds: unknown): FdEntry[] {
  const given = plainObject(fds === undefined ? {} : fds, 'fds')
  const entries: FdEntry[] = []
  const keys = Object.keys(given)
  for (const key of keys) {
    const entry = readSource(readTarget(key), given[key])
    if (entry !== undefined) entries.push(entry)
  }
  for (const target of STANDARD) if (!keys.includes(String(target))) entries.push({ target, kind: 'null' })
  checkEndpoints(entries)
  return entries.some(({ kind }) => kind === 'sameAs') ? resolveAll(entries) : entries
}

function readTarget(key: string): number {
  const target = Number(key)
  const canonical = Number.isInteger(target) && target >= 0 && target <= FD_MAX && String(target) === key
  if (!canonical) throw invalid(`fds.${key}`, 'a descriptor number must be an integer of 0 or more')
  if (STANDARD.includes(target)) return target
  const hardLimit = connectedAddon().limit(RLIMIT.nofile)[1]
  if (hardLimit < 0 || target < hardLimit) return target
  throw invalid(`fds.${key}`, `is at or above the hard limit of ${hardLimit} descriptors`, systemError(EBADF, 'dup3'))
}

function readSource(target: number, source: unknown): FdEntry | undefined {
  const field = `fds.${target}`
  if (source === 'closed') return undefined
  if (source === 'null') return { target, kind: 'null' }
  if (source === 'pipe') {
    if (STANDARD.includes(target)) return { target, kind: 'pipe' }
    throw invalid(field, '"pipe" is for 0, 1 and 2; use pipe() for other numbers')
  }
  if (source instanceof Capture) return { target, kind: 'capture', capture: source }
  if (source instanceof ChildEndpoint) {
    if (source.consumed) throw new SpawnError('ERR_COMMAND_CONSUMED', { field })
    return { target, kind: 'endpoint', endpoint: source }
  }
  if (typeof source === 'object' && source !== null) return readObject(target, field, source as Record<string, unknown>)
  throw invalid(field, 'is no descriptor source')
}

function readObject(target: number, field: string, source: Record<string, unknown>): FdEntry {
  const keys = Object.keys(source).join()
  if (keys === 'sameAs') return { target, kind: 'sameAs', source: readInteger(source['sameAs'], `${field}.sameAs`, 0, FD_MAX) }
  if (keys === 'hostFd' || keys === 'hostFd,nonblock' || keys === 'nonblock,hostFd') {
    return { target, kind: 'hostFd', fd: readHostFd(source, field) }
  }
  if (keys === 'bytes') {
    if (!types.isUint8Array(source['bytes'])) throw wrongType(`${field}.bytes`, 'must be a Uint8Array')
    return { target, kind: 'bytes', bytes: source['bytes'] }
  }
  if (keys === 'file,mode' || keys === 'mode,file') {
    if (!MODES.includes(source['mode'])) throw invalid(`${field}.mode`, "must be 'read', 'append' or 'write'")
    const file = { path: pathBytes(source['file'], `${field}.file`), mode: source['mode'] as FileMode }
    return { target, kind: 'file', file }
  }
  throw invalid(field, 'is no descriptor source')
}

function readHostFd(source: Record<string, unknown>, field: string): number {
  const { nonblock } = source
  if (nonblock !== undefined && nonblock !== 'keep') throw invalid(`${field}.nonblock`, "must be 'keep'")
  const fd = readInteger(source['hostFd'], `${field}.hostFd`, 0, FD_MAX)
  const status = connectedAddon().fdStatus(fd)
  if (status < 0) throw invalid(`${field}.hostFd`, `${fd} is not open`, systemError(status, 'fcntl'))
  if ((status & constants.O_NONBLOCK) !== 0 && nonblock !== 'keep') {
    // The flag is the description's: the child would get EAGAIN, and clearing it there would change the host's [B036].
    throw invalid(`${field}.hostFd`, `${fd} is non-blocking, and the child would share that; say nonblock: 'keep' if so`)
  }
  return fd
}

function checkEndpoints(entries: readonly FdEntry[]): void {
  const seen = new Set<ChildEndpoint>()
  for (const entry of entries) {
    if (entry.kind !== 'endpoint') continue
    if (seen.has(entry.endpoint)) throw invalid(`fds.${entry.target}`, 'this endpoint is on another number already; use sameAs')
    seen.add(entry.endpoint)
  }
}

function resolveAll(entries: readonly FdEntry[]): FdEntry[] {
  const byTarget = new Map(entries.map((entry) => [entry.target, entry]))
  return entries.map((entry) => resolveSameAs(entry, byTarget))
}

function resolveSameAs(entry: FdEntry, entries: ReadonlyMap<number, FdEntry>): FdEntry {
  if (entry.kind !== 'sameAs') return entry
  let at: FdEntry | undefined = entry
  const seen = new Set<FdEntry>()
  while (at?.kind === 'sameAs') {
    if (seen.has(at)) throw invalid(`fds.${entry.target}.sameAs`, 'leads back to itself')
    seen.add(at)
    at = entries.get(at.source)
  }
  if (at === undefined) throw invalid(`fds.${entry.target}.sameAs`, 'names a number that is closed')
  return { target: entry.target, kind: 'sameAs', source: at.target }
}
