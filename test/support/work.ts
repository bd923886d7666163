/** Work of byte readers, counted instead of timed: a machine's load does not change it. */

export interface Work {
  /** Bytes that searches looked at. */
  searched: number
  /** Bytes that were copied or moved. */
  moved: number
}

/** Runs a step and counts what Buffer does in it. */
export function workOf(step: () => void): Work {
  const work = { searched: 0, moved: 0 }
  const { indexOf, copy, copyWithin, set } = Buffer.prototype
  Object.assign(Buffer.prototype, {
    indexOf(this: Buffer, value: number, from = 0) {
      const found = indexOf.call(this, value, from)
      work.searched += (found === -1 ? this.length : found + 1) - from
      return found
    },
    copy(this: Buffer, ...args: Parameters<typeof copy>) {
      const copied = copy.apply(this, args)
      work.moved += copied
      return copied
    },
    copyWithin(this: Buffer, target: number, start: number, end = this.length) {
      work.moved += end - start
      return copyWithin.call(this, target, start, end)
    },
    set(this: Buffer, bytes: ArrayLike<number>, offset = 0) {
      work.moved += bytes.length
      set.call(this, bytes, offset)
    },
  })
  try {
    step()
  } finally {
    Object.assign(Buffer.prototype, { indexOf, copy })
    // These two are inherited.
    for (const name of ['copyWithin', 'set']) Reflect.deleteProperty(Buffer.prototype, name)
  }
  return work
}
