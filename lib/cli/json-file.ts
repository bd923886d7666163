/** JSON that a user names on the command line. */
import { readFileSync } from 'node:fs'
import { parseStrictJson } from '../protocol/strict-json.js'
import { UsageError } from './arguments.js'

/**
 * Reads a file as strictly as a frame: of a key that is there twice only one would count.
 *
 * @throws {UsageError} with the path and what is wrong
 */
export function readJsonFile(path: string): unknown {
  try {
    return parseStrictJson(readFileSync(path))
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message}`)
  }
}
