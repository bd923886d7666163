// Counts messages of one size out of chunks of any, for the adapters' `talk`.

/** Gives a function that takes chunks and calls the oldest waiting callback for each whole message. */
export class MessageCounter {
  #bytes
  #got = 0
  #waiting = []

  constructor(bytes) {
    this.#bytes = bytes
  }

  /** `told` is called for each of the next `times` messages. */
  expect(times, told) {
    for (let i = 0; i < times; i++) this.#waiting.push(told)
  }

  take(length) {
    this.#got += length
    while (this.#got >= this.#bytes && this.#waiting.length > 0) {
      this.#got -= this.#bytes
      this.#waiting.shift()()
    }
  }
}
