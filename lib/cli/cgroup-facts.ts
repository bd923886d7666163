/** What cgroup v2 offers to children of this process, found out as a start would: by making a leaf. */
import { randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

export interface CgroupFacts {
  /** Where cgroup v2 is mounted; null: nowhere. */
  readonly mount: string | null
  /** This process's own cgroup beneath it, the natural parent of a leaf. */
  readonly own: string | null
  /** Whether a leaf can be made there. */
  readonly writable: boolean
  /** The files of a leaf that matter here; null where none could be made. */
  readonly leaf: { readonly kill: boolean; readonly freeze: boolean; readonly memoryPeak: boolean } | null
}

export function readCgroupFacts(): CgroupFacts {
  const mount = mountPoint()
  // cgroups(7): the line of the unified hierarchy has number 0 and no controllers.
  const path = /^0::(.*)$/m.exec(text('/proc/self/cgroup'))?.[1]
  const own = mount === null || path === undefined ? null : resolve(mount, `.${path}`)
  const leaf = own === null ? null : tryLeaf(own)
  return { mount, own, writable: leaf !== null, leaf }
}

// proc_pid_mountinfo(5): the fifth field is the mount point, the type stands behind the separator.
function mountPoint(): string | null {
  for (const line of text('/proc/self/mountinfo').split('\n')) {
    const [fields = '', type = ''] = line.split(' - ')
    if (type.startsWith('cgroup2 ')) return unescape(fields.split(' ')[4] as string)
  }
  return null
}

// Blanks and backslashes in a path are octal there.
function unescape(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)))
}

function tryLeaf(parent: string): CgroupFacts['leaf'] {
  const leaf = join(parent, `exactspawn-doctor-${randomBytes(8).toString('hex')}`)
  try {
    mkdirSync(leaf)
  } catch {
    return null
  }
  try {
    const has = (file: string) => existsSync(join(leaf, file))
    accessSync(join(leaf, 'cgroup.procs'), constants.W_OK)
    return { kill: has('cgroup.kill'), freeze: has('cgroup.freeze'), memoryPeak: has('memory.peak') }
  } catch {
    return null
  } finally {
    rmdirSync(leaf)
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
