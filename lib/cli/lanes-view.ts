/** A run with lanes as people see it: a line for each lane on a terminal, a line for each event elsewhere. */
import { isatty } from 'node:tty'
import type { OwnerEvent } from '../reuse/owner-events.js'
import { printable, write } from './terminal.js'

const REDRAW_MS = 100
const ID_SHOWN = 16
const UP = (lines: number) => `\u001b[${lines}A`
const CLEAR_BELOW = '\u001b[J'
const CLEAR_LINE = '\u001b[2K'
// A line that is longer than the terminal is wide would be two, and the next drawing one too low.
const WRAP = { off: '\u001b[?7l', on: '\u001b[?7h' }

interface LaneState {
  attempt: string
  phase: string
  kind: 'measured' | 'warm-up' | ''
  sinceMs: number
  completed: number
  failed: number
  replacements: number
  lastReason: string
}

export class LanesView implements Disposable {
  readonly #lanes: readonly LaneState[]
  readonly #live: boolean
  #timer: NodeJS.Timeout | undefined
  #drawn = 0
  #closed = false
  readonly #onClosed: (error: unknown) => void

  /**
   * @param onClosed is called once, with the error, when nobody can read what is written any more
   * @param live whether lines are drawn over; asked of the terminal unless told
   */
  constructor(lanes: number, onClosed: (error: unknown) => void, live = isatty(1) && process.env['TERM'] !== 'dumb') {
    this.#onClosed = onClosed
    this.#lanes = Array.from({ length: lanes }, () => ({
      attempt: '',
      phase: 'idle',
      kind: '',
      sinceMs: performance.now(),
      completed: 0,
      failed: 0,
      replacements: 0,
      lastReason: '',
    }))
    this.#live = live
    if (!live) return
    this.#draw()
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS)
  }

  readonly tell = (event: OwnerEvent): void => {
    const lane = this.#lanes[event.lane as number] as LaneState
    update(lane, event)
    if (!this.#live) this.#write(`lane ${(event.lane as number) + 1}  ${printable(event.attempt)}  ${wordsOf(event)}\n`)
  }

  [Symbol.dispose](): void {
    if (!this.#live) return
    clearInterval(this.#timer)
    this.#draw()
  }

  // Called from events and timers, where an error would end the host with workers that run.
  #write(text: string): void {
    if (this.#closed) return
    try {
      write(1, text)
    } catch (error) {
      this.#closed = true
      this.#onClosed(error)
    }
  }

  #draw(): void {
    const lines = this.#lanes.map(lineOf)
    // More than the terminal is high would scroll at each drawing. The stream is asked for its size alone;
    // terminal.ts says why nothing is written to it.
    const room = Math.max((process.stdout.rows || 24) - 2, 1)
    if (lines.length > room) lines.splice(room - 1, lines.length, `… and ${lines.length - room + 1} more lanes`)
    const text = lines.map((line) => `${CLEAR_LINE}${line}\n`).join('')
    this.#write(WRAP.off + (this.#drawn === 0 ? '' : UP(this.#drawn)) + CLEAR_BELOW + text + WRAP.on)
    this.#drawn = lines.length
  }
}

function update(lane: LaneState, event: OwnerEvent): void {
  lane.attempt = event.attempt
  lane.phase = event.type === 'cleaning' ? event.step : event.type
  lane.sinceMs = performance.now()
  // Neither the one nor the other until it is one: an end keeps what it was the end of.
  if (event.type === 'begun' || event.type === 'launching' || event.type === 'cleaning') lane.kind = ''
  if (event.type === 'measuring') lane.kind = 'measured'
  if (event.type === 'warming-up') {
    lane.kind = 'warm-up'
    lane.phase = `warm-up ${event.index}`
  }
  if (event.type === 'completed') lane.completed++
  if (event.type === 'failed') lane.failed++
  if (event.type !== 'replaced') return
  lane.replacements++
  lane.lastReason = event.reasons.join(', ')
}

function lineOf(lane: LaneState, at: number): string {
  const seconds = ((performance.now() - lane.sinceMs) / 1000).toFixed(1)
  const replaced = `replaced ${lane.replacements}${lane.lastReason === '' ? '' : ` (${lane.lastReason})`}`
  const counts = `done ${lane.completed}  failed ${lane.failed}  ${replaced}`
  const cells = [`lane ${at + 1}`, short(lane.attempt).padEnd(12), lane.phase.padEnd(11), `${seconds.padStart(5)} s`, lane.kind.padEnd(8)]
  return printable(`${cells.join('  ')}  ${counts}`)
}

// So that what follows is seen on a terminal of 80 columns.
function short(id: string): string {
  return id.length <= ID_SHOWN ? id : `${id.slice(0, ID_SHOWN - 1)}…`
}

function wordsOf(event: OwnerEvent): string {
  switch (event.type) {
    case 'begun':
      return 'begun'
    case 'cleaning':
      return event.step
    case 'warming-up':
      return `warm-up ${event.index}`
    case 'launched':
    case 'kept':
      return `${event.type} ${event.pid}`
    case 'replaced':
      return `replaced: ${event.reasons.join(', ')}`
    case 'failed':
      return printable(`failed: ${event.error.message}`)
    default:
      return event.type
  }
}
