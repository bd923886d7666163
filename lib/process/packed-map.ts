/** A checked descriptor map on its way to native code: what it takes over is held here until the start has it. */
import type { NativeAddon } from '../addon/addon-types.js'
import { SOURCE } from '../addon/addon-types.js'
import { connectedAddon } from '../addon/events.js'
import { SpawnError } from '../base/errors.js'
import type { FdEntry } from './fd-map.js'
import { closeFiles } from './open-files.js'

/** Entries in which streams have become endpoints. */
export type PackableEntry = FdEntry & { readonly kind: Exclude<FdEntry['kind'], 'pipe'> }

interface Packed {
  fds: Float64Array
  bytes: readonly Uint8Array[]
}

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

  /** Gives all of it to a native request. */
  pack(openedFiles: ReadonlyMap<number, number>): Packed {
    const bytes: Uint8Array[] = []
    const fds = new Float64Array(this.#entries.length * 4)
    this.#entries.forEach((entry, index) => {
      const [kind, a, b] = this.#operands(entry, bytes, openedFiles)
      const at = index * 4
      fds[at] = entry.target
      fds[at + 1] = kind
      fds[at + 2] = a
      fds[at + 3] = b
    })
    return { fds, bytes }
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

  #operands(
    entry: PackableEntry,
    bytes: Uint8Array[],
    files: ReadonlyMap<number, number>,
  ): [kind: number, a: number, b: number] {
    const held = this.#numbers.get(entry.target) as number
    switch (entry.kind) {
      case 'null':
        return [SOURCE.none, 0, 0]
      case 'hostFd':
        return [SOURCE.copiedFd, held, 0]
      case 'file':
        return [SOURCE.openedFd, files.get(entry.target) as number, 0]
      case 'endpoint':
        return [SOURCE.endpoint, held, 0]
      case 'bytes':
        return [SOURCE.bytes, bytes.push(this.#bytes.get(entry.target) as Uint8Array) - 1, 0]
      case 'capture':
        return [SOURCE.capture, entry.capture.headBytes, entry.capture.tailBytes]
      case 'sameAs':
        return [SOURCE.sameAs, entry.source, 0]
    }
  }
}
