/** What holds a child's descendants together, in three lines that are never merged. */
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { leadsGroup } from './group.js'
import type { CheckedSpec } from './spawn-spec.js'

/** Each line is said outright; absence never means no [M-74]. */
export interface Containment {
  /** Ordinary descendants get the group's signals. One that calls setsid(2) leaves it. */
  readonly processGroup: 'enforced' | 'unsupported'
  /** Every descendant, setsid and double fork included, dies by one write while it stays in the leaf. */
  readonly cgroup: 'enforced' | 'unsupported'
  /** Also a child that tries to leave: only where it provably cannot write to the cgroup tree. */
  readonly completeProcessTree: 'enforced' | 'unsupported'
}

export async function readContainment(spec: CheckedSpec, leaf: string | null): Promise<Containment> {
  const complete = leaf !== null && (await cannotLeave(spec, leaf))
  return Object.freeze({
    processGroup: leadsGroup(spec) ? 'enforced' : 'unsupported',
    cgroup: leaf === null ? 'unsupported' : 'enforced',
    completeProcessTree: complete ? 'enforced' : 'unsupported',
  })
}

// To move elsewhere a process writes to cgroup.procs of a common ancestor, cgroups(7), "Delegation containment". Another
// uid without the way back to privilege, to which no ancestor's file is open, cannot.
async function cannotLeave(spec: CheckedSpec, leaf: string): Promise<boolean> {
  const { uid, gid, groups, noNewPrivs } = spec
  if (uid === null || uid === 0 || !noNewPrivs || gid === null || groups === null) return false
  for (let folder = leaf; folder !== '/'; folder = dirname(folder)) {
    const procs = await stat(join(folder, 'cgroup.procs')).catch(() => undefined)
    // Above the mount point there are no such files.
    if (procs === undefined) return folder !== leaf
    const byOwner = procs.uid === uid
    const byGroup = (procs.mode & 0o020) !== 0 && (procs.gid === gid || groups.includes(procs.gid))
    if (byOwner || byGroup || (procs.mode & 0o002) !== 0) return false
  }
  return true
}
