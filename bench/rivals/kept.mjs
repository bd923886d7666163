// What every rival does with output that it drains: keep the first 64 KiB, count the rest.
const KEPT_BYTES = 64 * 1024

export class Kept {
  #chunks = []
  #kept = 0
  total = 0

  take(chunk) {
    this.total += chunk.length
    if (this.#kept >= KEPT_BYTES) return
    const head = chunk.subarray(0, KEPT_BYTES - this.#kept)
    this.#chunks.push(head)
    this.#kept += head.length
  }
}
