/** A checked descriptor map on its way to native code: what it takes over is held here until the start has it. */
import type { NativeAddon } from '../addon/addon-types.js'
import { SOURCE } from '../addon/addon-types.js'
import { connectedAddon } from '../addon/events.js'
import type { Packer } from '../addon/packer.js'
import { SpawnError } from '../base/errors.js'
import type { FdEntry } from './fd-map.js'
import { closeFiles } from './open-files.js'

/** Entries in which streams have become endpoints. */
export type PackableEntry = FdEntry & { readonly kind: Exclude<FdEntry['kind'], 'pipe'> }

/**
 * Takes over what the map names, at the call: endpoints are consumed, the host's descriptors copied and bytes too, so
 * that nothing done afterwards changes the child [B017]. Either `pack` or `discard` ends it.
 */
export class HeldMap {
  readonly #native: NativeAddon = connectedAddon()
  readonly #entries: readonly PackableEntry[]
  /** By the entry's place: the number of a held descriptor, or bytes. */
  readonly #held: (number | Uint8Array | undefined)[] = []

  /**
   * @throws {SpawnError} ERR_SPAWN_FAILED at stage file: EMFILE; ERR_COMMAND_CONSUMED
   */
  constructor(entries: readonly PackableEntry[]) {
    this.#entries = entries
    try {
      for (const entry of entries) this.#held.push(this.#hold(entry))
    } catch (error) {
      this.#closeHeld()
      throw error
    }
  }

  /** Lays all of it for a native start. */
  pack(packer: Packer, files: ReadonlyMap<number, number>): void {
    packer.number(this.#entries.length)
    this.#entries.forEach((entry, index) => {
      packer.number(entry.target)
      packSource(packer, entry, this.#held[index], files)
    })
  }

  /** Closes what no start will take. */
  discard(files: ReadonlyMap<number, number>): void {
    this.#closeHeld()
    closeFiles(files)
  }

  #hold(entry: PackableEntry): number | Uint8Array | undefined {
    switch (entry.kind) {
      case 'endpoint':
        return entry.endpoint.consume(`fds.${entry.target}`)
      case 'bytes':
        return Uint8Array.from(entry.bytes)
      case 'hostFd':
        return this.#copy(entry.fd, entry.target)
      default:
        return undefined
    }
  }

  #copy(fd: number, target: number): number {
    const copy = this.#native.holdFd(fd)
    if (copy >= 0) return copy
    throw new SpawnError('ERR_SPAWN_FAILED', { stage: 'file', errno: copy, syscall: 'fcntl', field: `fds.${target}` })
  }

  #closeHeld(): void {
    for (const held of this.#held) if (typeof held === 'number') this.#native.dropFd(held)
  }
}

function packSource(
  packer: Packer,
  entry: PackableEntry,
  held: number | Uint8Array | undefined,
  files: ReadonlyMap<number, number>,
): void {
  switch (entry.kind) {
    case 'null':
      return packer.number(SOURCE.none)
    case 'endpoint':
    case 'hostFd':
      packer.number(SOURCE.held)
      return packer.number(held as number)
    case 'file':
      packer.number(SOURCE.heldFile)
      return packer.number(files.get(entry.target) as number)
    case 'bytes':
      packer.number(SOURCE.bytes)
      return packer.bytes(held as Uint8Array)
    case 'capture':
      packer.number(SOURCE.capture)
      packer.number(entry.capture.headBytes)
      return packer.number(entry.capture.tailBytes)
    case 'sameAs':
      packer.number(SOURCE.sameAs)
      return packer.number(entry.source)
  }
}
