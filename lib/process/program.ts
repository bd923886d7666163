/** Which file is executed: named exactly, or found in a path that the caller gives. Never the host's PATH, never a shell. */
import type { SpecString } from './strings.js'
import { bytesOf, invalid, pathBytes, wrongType } from './strings.js'

const SLASH = 0x2f

/**
 * Gives the paths to try, in order. Which of them exists is for the kernel to say, at the exec: a check made here would
 * be about another moment and another user [B026].
 *
 * @throws {SpecError} ERR_INVALID_SPEC: no program, a relative path with a slash, a bare name without a search path, an
 *   empty or relative element in it
 */
export function readCandidates(program: unknown, searchPath: unknown): { program: string; candidates: Uint8Array[] } {
  if (program === undefined) throw invalid('program', 'is required')
  const bytes = pathBytes(program, 'program')
  const text = typeof program === 'string' ? program : Buffer.from(bytes).toString()
  if (bytes[0] === SLASH) return { program: text, candidates: [bytes] }
  if (bytes.includes(SLASH)) throw invalid('program', 'is a relative path: relative to which directory? give an absolute one')
  if (searchPath === undefined) throw invalid('program', 'is a bare name: give an absolute path, or a searchPath')
  return { program: text, candidates: readSearchPath(searchPath).map((directory) => join(directory, bytes)) }
}

function readSearchPath(searchPath: unknown): string[] {
  if (typeof searchPath !== 'string') throw wrongType('searchPath', 'must be a string')
  bytesOf(searchPath, 'searchPath')
  const directories = searchPath.split(':')
  directories.forEach((directory, index) => {
    // An empty element means the working directory to a shell: whoever may write there chooses what is run.
    if (directory === '') throw invalid('searchPath', `element ${index} is empty`)
    if (!directory.startsWith('/')) throw invalid('searchPath', `element ${index} is relative`)
  })
  return directories
}

function join(directory: string, name: Uint8Array): Uint8Array {
  return pathBytes(Buffer.concat([Buffer.from(`${directory.replace(/\/+$/, '')}/`), name]), 'program')
}
