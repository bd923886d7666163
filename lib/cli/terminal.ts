/** What people see: text to a descriptor, colours where they are wanted, tables. */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { styleText } from 'node:util'

const RETRY_MS = 10
const NO_CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g

/** Nobody reads standard output any more: there is nobody left to tell. */
export class OutputClosed extends Error {}

/**
 * Writes all of a text. Blocks, as every write of a command line tool does.
 *
 * Not process.stdout, which would make a pipe non-blocking for everyone who shares it, a running child too.
 *
 * @throws {OutputClosed} the reader is gone; this and the next only for 1, since a tool that cannot complain goes on
 * @throws {Error} Node's, with `code`: a full disk, a file size limit
 */
export function write(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EAGAIN') {
        if (fd === 2) return
        throw code === 'EPIPE' ? new OutputClosed() : error
      }
      // Someone else made the description non-blocking, and its reader is slow.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}

/** Says one thing on standard error, in one line. */
export function say(text: string): void {
  write(2, `exactspawn: ${printable(text)}\n`)
}

/** Writes one JSON document. */
export function writeJson(document: unknown): void {
  write(1, `${JSON.stringify(document, null, 2)}\n`)
}

/** Takes out what a terminal would obey: names of files and programs are other people's. */
export function printable(text: string): string {
  return text.replace(NO_CONTROLS, '\ufffd')
}

export type Style = 'bold' | 'red' | 'yellow' | 'green'
export type Paint = (style: Style, text: string) => string

/** Gives what colours text for standard output: on a terminal, unless NO_COLOR says otherwise (no-color.org). */
export function painter(): Paint {
  const plain = !isatty(1) || (process.env['NO_COLOR'] ?? '') !== '' || process.env['TERM'] === 'dumb'
  return plain ? (_, text) => text : (style, text) => styleText(style, text, { validateStream: false })
}

/** A cell: one line or several, and how it is coloured. */
export interface Cell {
  readonly lines: readonly string[]
  readonly style?: Style
}

/** Lays cells out in columns; a row is as high as its highest cell. The last column is not padded. */
export function table(rows: readonly (readonly Cell[])[], paint: Paint): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map(({ lines }, at) => Math.max(widest[at] ?? 0, ...lines.map(({ length }) => length))),
    [],
  )
  const line = (row: readonly Cell[], index: number) =>
    row
      .map(({ lines, style }, at) => {
        const text = lines[index] ?? ''
        const padding = at === row.length - 1 ? '' : ' '.repeat((widths[at] as number) - text.length)
        return (style === undefined || text === '' ? text : paint(style, text)) + padding
      })
      .join('  ')
      .trimEnd()
  return rows
    .flatMap((row) => {
      const height = Math.max(...row.map(({ lines }) => lines.length))
      return Array.from({ length: height }, (_, index) => `${line(row, index)}\n`)
    })
    .join('')
}
