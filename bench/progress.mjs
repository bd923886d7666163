// One line that says what runs now: overwritten on a terminal, written down one by one elsewhere.
export class Progress {
  #stream
  #last = ''

  constructor(stream) {
    this.#stream = stream
  }

  /** `detail` changes too often for a log and appears on a terminal only. */
  show(text, detail = '') {
    if (this.#stream.isTTY) {
      const line = `${text}${detail === '' ? '' : `: ${detail}`}`
      this.#stream.write(`\r\x1b[K${line.slice(0, (this.#stream.columns ?? 80) - 1)}`)
    } else if (text !== this.#last) {
      this.#stream.write(`bench: ${text}\n`)
    }
    this.#last = text
  }

  clear() {
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K')
  }
}
