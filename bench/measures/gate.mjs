// Children that live until a gate is closed, and the fact that all of them are there.
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { sleep } from '../clock.mjs'

export class Gate {
  #gate
  #ready
  #parameters

  constructor(parameters) {
    this.#parameters = parameters
    // For reading and writing: opening a fifo for one of them waits for the other side.
    this.#gate = openSync(parameters.gate, constants.O_RDWR)
    this.#ready = openSync(parameters.ready, constants.O_RDWR | constants.O_NONBLOCK)
  }

  get args() {
    return ['hold', this.#parameters.gate, this.#parameters.ready]
  }

  /** Starts children that hold; gives the promises of their ends once each has said that it is there. */
  async hold({ run }, count, pipes) {
    const ends = []
    while (ends.length < count) {
      ends.push(run(this.#parameters.target, this.args, pipes))
      // A program that starts a thousand children does something else as well.
      if (ends.length % 50 === 0) await sleep(0)
    }
    await this.#await(count)
    return ends
  }

  close() {
    closeSync(this.#gate)
  }

  async #await(count) {
    const bytes = Buffer.alloc(4096)
    for (let there = 0; there < count; await sleep(2)) {
      try {
        there += readSync(this.#ready, bytes, 0, Math.min(bytes.length, count - there), null)
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error
      }
    }
  }
}
