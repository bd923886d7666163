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
  readonly #numbers = new Map<number, number>()
  readonly #bytes = new Map<number, Uint8Array>()

  /**
   * @throws {SpawnError} ERR_SPAWN_FAILED at stage file: EMFILE; ERR_COMMAND_CONSUMED
   */
  constructor(entries: readonly PackableEntry[]) {
    this.#entries = entries
    try {
      for (const entry of entries) this.#hold(entry)
    } catch (error) {
      this.#closeHeld()
      throw error
    }
  }

  /** Lays all of it for a native start. */
  pack(packer: Packer, openedFiles: ReadonlyMap<number, number>): void {
    packer.number(this.#entries.length)
    for (const entry of this.#entries) {
      packer.number(entry.target)
      this.#packSource(packer, entry, openedFiles)
    }
  }

  /** Closes what no start will take. */
  discard(openedFiles: ReadonlyMap<number, number>): void {
    this.#closeHeld()
    closeFiles(openedFiles)
  }

  #hold(entry: PackableEntry): void {
    const field = `fds.${entry.target}`
    if (entry.kind === 'endpoint') this.#numbers.set(entry.target, entry.endpoint.consume(field))
    if (entry.kind === 'bytes') this.#bytes.set(entry.target, Uint8Array.from(entry.bytes))
    if (entry.kind !== 'hostFd') return
    const copy = this.#native.copyFd(entry.fd)
    if (copy < 0) throw new SpawnError('ERR_SPAWN_FAILED', { stage: 'file', errno: copy, syscall: 'fcntl', field })
    this.#numbers.set(entry.target, copy)
  }

  #closeHeld(): void {
    for (const entry of this.#entries) {
      const number = this.#numbers.get(entry.target)
      if (number === undefined) continue
      if (entry.kind === 'endpoint') this.#native.endpointClose(number)
      else this.#native.closeFd(number)
    }
  }

  #packSource(packer: Packer, entry: PackableEntry, files: ReadonlyMap<number, number>): void {
    switch (entry.kind) {
      case 'null':
        return packer.number(SOURCE.none)
      case 'hostFd':
        packer.number(SOURCE.copiedFd)
        return packer.number(this.#held(entry))
      case 'file':
        packer.number(SOURCE.openedFd)
        return packer.number(files.get(entry.target) as number)
      case 'endpoint':
        packer.number(SOURCE.endpoint)
        return packer.number(this.#held(entry))
      case 'bytes':
        packer.number(SOURCE.bytes)
        return packer.bytes(this.#bytes.get(entry.target) as Uint8Array)
      case 'capture':
        packer.number(SOURCE.capture)
        packer.number(entry.capture.headBytes)
        return packer.number(entry.capture.tailBytes)
      case 'sameAs':
        packer.number(SOURCE.sameAs)
        return packer.number(entry.source)
    }
  }

  #held(entry: PackableEntry): number {
    return this.#numbers.get(entry.target) as number
  }
}
