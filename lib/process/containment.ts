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

const NO_GROUP = containment(false, false, false)
const GROUP = containment(true, false, false)

function containment(group: boolean, cgroup: boolean, complete: boolean): Containment {
  const status = (holds: boolean) => (holds ? 'enforced' : 'unsupported')
  return Object.freeze({ processGroup: status(group), cgroup: status(cgroup), completeProcessTree: status(complete) })
}

/** What a start without a leaf of its own has. */
export function plainContainment(spec: CheckedSpec): Containment {
  return leadsGroup(spec) ? GROUP : NO_GROUP
}

export async function leafContainment(spec: CheckedSpec, leaf: string): Promise<Containment> {
  return containment(leadsGroup(spec), true, await cannotLeave(spec, leaf))
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
