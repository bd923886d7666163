// Waits, for a while, until the machine has nothing else to do. Under load a median is the length of somebody else's time
// slice. Every rival is waited for in the same way, and the report says how many runs began quietly.
import { readFileSync } from 'node:fs'

const LOOK_MS = 40
const PAUSE_MS = 120
const IDLE_SHARE = 0.8
const LOOKS = 6

export class QuietGate {
  #leftMs
  runs = 0
  quiet = 0

  /** `budgetMs`: what all waits together may take. */
  constructor(budgetMs) {
    this.#leftMs = budgetMs
  }

  pass() {
    this.runs++
    for (let look = 0; look < LOOKS; look++) {
      const before = processorTimes()
      nap(LOOK_MS)
      const after = processorTimes()
      if ((after.idle - before.idle) / (after.total - before.total) >= IDLE_SHARE) {
        this.quiet++
        return
      }
      // Looking belongs to every run; only what comes on top is waiting.
      if (this.#leftMs <= 0) return
      nap(PAUSE_MS)
      this.#leftMs -= LOOK_MS + PAUSE_MS
    }
  }
}

// proc(5), /proc/stat: user nice system idle iowait irq softirq steal …
function processorTimes() {
  const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0].trim().split(/\s+/)
  const times = fields.slice(0, 8).map(Number)
  return { idle: times[3] + times[4], total: times.reduce((sum, time) => sum + time, 0) }
}

function nap(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
