/** Errors of the operating system, as Node words its own. */
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'

// What a start or a wait can meet and Node's map (libuv's list) leaves out. Texts as in strerror(3).
const beyondNode: Readonly<Record<string, string>> = {
  EBADMSG: 'bad message',
  ECHILD: 'no child processes',
  EDEADLK: 'resource deadlock avoided',
  EDQUOT: 'disk quota exceeded',
  ENOEXEC: 'exec format error',
  ENOLCK: 'no locks available',
  ESTALE: 'stale file handle',
}

/**
 * Makes the Node-style error of a failed system call: `code` 'ENOENT', negative `errno`, `syscall`, `path`.
 *
 * It is the cause of ours, so that `err.cause.code` reads as everywhere else in Node.
 */
export function systemError(errno: number, syscall: string, path?: string): NodeJS.ErrnoException {
  const code = errnoName(errno)
  const text = errnoText(errno)
  const error: NodeJS.ErrnoException = new Error(
    `${code}${text === undefined ? '' : `: ${text}`}, ${syscall}${path === undefined ? '' : ` '${path}'`}`,
  )
  Error.captureStackTrace(error, systemError)
  return Object.assign(error, { errno, code, syscall }, path === undefined ? undefined : { path })
}

/** Says what a negative errno means, in words; undefined when no list knows it. */
export function errnoText(errno: number): string | undefined {
  return getSystemErrorMap().get(errno)?.[1] ?? beyondNode[errnoName(errno)]
}

/** Names a negative errno: -2 is 'ENOENT'. One that no list knows stays a number: 'errno 9999'. */
export function errnoName(errno: number): string {
  return (
    getSystemErrorMap().get(errno)?.[0] ??
    Object.entries(constants.errno).find(([, number]) => number === -errno)?.[0] ??
    `errno ${-errno}`
  )
}
