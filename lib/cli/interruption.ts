/** Ctrl-C and its like during a command that has to clean up: the first one stops it in order, a second one at once. */
import { constants } from 'node:os'
import { SIGNAL_BASE } from './exit-code.js'

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export class Interruption implements Disposable {
  readonly #controller = new AbortController()
  readonly #stop = (name: NodeJS.Signals) => {
    // Not the signal's default action: what runs at the host's exit kills groups and removes directories.
    if (this.exitCode !== undefined) process.exit(this.exitCode)
    this.#controller.abort(name)
  }

  constructor() {
    for (const name of STOPPING) process.on(name, this.#stop)
  }

  /** Aborts with the name of the signal that came. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What a shell says of a command that a signal ended; undefined while none has come. */
  get exitCode(): number | undefined {
    const { aborted, reason } = this.signal
    return aborted ? SIGNAL_BASE + constants.signals[reason as NodeJS.Signals] : undefined
  }

  [Symbol.dispose](): void {
    for (const name of STOPPING) process.off(name, this.#stop)
  }
}
