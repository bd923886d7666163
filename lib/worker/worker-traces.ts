/** What the kernel shows of a worker from outside: what a slot leaves behind in it is seen here, whatever it says. */
import { readdir, readlink } from 'node:fs/promises'
import { runTask } from '../addon/events.js'

/** One moment of a worker. A field is null where the kernel does not show it. */
export interface WorkerTraces {
  /** Live members of the group without the worker itself, each as number and start. */
  readonly members: readonly string[] | null
  readonly cwd: string | null
  /** Open descriptors, each as number and what it leads to. */
  readonly fds: readonly string[] | null
}

/** Reads the traces of a worker that is not reaped. Blocks neither this thread nor, by the group, Node's file threads. */
export async function readTraces(pid: number): Promise<WorkerTraces> {
  const [members, cwd, fds] = await Promise.all([readMembers(pid), target(`/proc/${pid}/cwd`), readFds(pid)])
  return Object.freeze({ members, cwd, fds })
}

async function readMembers(pgid: number): Promise<string[] | null> {
  const pairs = await runTask<Float64Array | null>((native) => native.groupMembers(pgid))
  if (pairs === null) return null
  const members = []
  for (let at = 0; at < pairs.length; at += 2) members.push(`${pairs[at]} ${pairs[at + 1]}`)
  return members
}

async function readFds(pid: number): Promise<string[] | null> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => null)
  if (names === null) return null
  const fds = names.map(async (name) => [name, await target(`${folder}/${name}`)] as const)
  // One that was closed since it was listed is none.
  return (await Promise.all(fds)).filter(([, to]) => to !== null).map(([name, to]) => `${name} ${to}`)
}

async function target(link: string): Promise<string | null> {
  const to = await readlink(link).catch(() => null)
  // proc_pid_fd(5): what was removed is marked, and stays what it was.
  return to?.replace(/ \(deleted\)$/, '') ?? null
}
