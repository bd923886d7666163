/** One single-use cgroup v2 leaf for one child. Native code removes it once the child is settled. */
import { randomBytes } from 'node:crypto'
import { mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SpawnError } from '../base/errors.js'
import type { Redactor } from '../io/redactor.js'

/** @throws {SpawnError} stage cgroup, with path and field */
export async function makeCgroupLeaf(parent: string, redact: Redactor): Promise<string> {
  const path = join(parent, `exactspawn-${randomBytes(8).toString('hex')}`)
  try {
    await mkdir(path)
    return path
  } catch (error) {
    const { errno = 0, syscall = 'mkdir' } = error as NodeJS.ErrnoException
    const details = { stage: 'cgroup', errno, syscall, path: redact(path), field: 'cgroup.parent' } as const
    throw new SpawnError('ERR_SPAWN_FAILED', details)
  }
}

/** Removes the leaf of a start that failed; nothing ever ran in it. */
export async function removeCgroupLeaf(path: string): Promise<void> {
  await rmdir(path).catch(() => {})
}
