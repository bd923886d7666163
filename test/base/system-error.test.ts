import { openSync } from 'node:fs'
import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { errnoName, errnoText, systemError } from '../../lib/base/system-error.js'

test('a number that no list knows stays a number [P-2]', () => {
  expect(errnoName(-9999)).toBe('errno 9999')
  expect(errnoText(-9999)).toBeUndefined()
  expect(systemError(-9999, 'execve')).toMatchObject({ code: 'errno 9999', message: 'errno 9999, execve' })
})

test('a system error has the fields and the words of one by Node itself [P-2]', () => {
  let original: NodeJS.ErrnoException | undefined
  try {
    openSync('/nonexistent/file', 'r')
  } catch (error) {
    original = error as NodeJS.ErrnoException
  }
  const ours = systemError(-constants.errno.ENOENT, 'open', '/nonexistent/file')
  expect({ ...ours }).toEqual({ ...original })
  expect(ours.message).toBe(original?.message)
  expect(ours.stack).not.toContain('system-error.ts')
})

test('a system error without a path has no path [P-2]', () => {
  const error = systemError(-constants.errno.EMFILE, 'pipe2')
  expect('path' in error).toBe(false)
  expect(error.message).toBe('EMFILE: too many open files, pipe2')
})

test('what exec and wait can meet and Node cannot name has its name and its words [P-2]', () => {
  const noExec = systemError(-constants.errno.ENOEXEC, 'execve', '/x')
  expect(noExec.message).toBe("ENOEXEC: exec format error, execve '/x'")
  expect(systemError(-constants.errno.ECHILD, 'waitid').message).toBe('ECHILD: no child processes, waitid')
  for (const number of Object.values(constants.errno)) expect(errnoName(-number)).toMatch(/^E[A-Z0-9]+$/)
})
