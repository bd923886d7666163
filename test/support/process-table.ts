/** What /proc says of this process and of others: facts to wait for, and to compare before and after. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Open descriptors with what they lead to, without the one that reads the folder. */
export function openFds(pid: number | 'self' = 'self'): Map<number, string> {
  const folder = `/proc/${pid}/fd`
  const fds = new Map<number, string>()
  for (const name of readdirSync(folder)) {
    try {
      fds.set(Number(name), readlinkSync(`${folder}/${name}`))
    } catch {
      // closed since: the folder's own
    }
  }
  return fds
}

/** Names of the threads that are not the package's own immortal ones. */
export function foreignThreads(): string[] {
  return readdirSync('/proc/self/task')
    .map((task) => read(`/proc/self/task/${task}/comm`)?.trim() ?? '')
    .filter((name) => name !== '' && !name.startsWith('xs-'))
    .sort()
}

export function threadNames(): string[] {
  return readdirSync('/proc/self/task').map((task) => read(`/proc/self/task/${task}/comm`)?.trim() ?? '')
}

/** Children of a process, zombies included. */
export function childrenOf(pid: number = process.pid): number[] {
  return allProcesses()
    .filter((entry) => entry.ppid === pid)
    .map((entry) => entry.pid)
}

export interface ProcessFacts {
  pid: number
  ppid: number
  pgid: number
  sid: number
  /** proc_pid_stat(5): R, S, D, T, Z, … */
  state: string
}

export function processFacts(pid: number): ProcessFacts | undefined {
  const text = read(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  const [state, ppid, pgid, sid] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { pid, ppid: Number(ppid), pgid: Number(pgid), sid: Number(sid), state: state as string }
}

export function allProcesses(): ProcessFacts[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processFacts(Number(name)))
    .filter((facts) => facts !== undefined)
}

/** Whether the process exists and is neither zombie nor dead. */
export function alive(pid: number): boolean {
  const facts = processFacts(pid)
  return facts !== undefined && facts.state !== 'Z' && facts.state !== 'X'
}

/** Live members of a process group. */
export function groupMembers(pgid: number): number[] {
  return allProcesses()
    .filter((entry) => entry.pgid === pgid && entry.state !== 'Z' && entry.state !== 'X')
    .map((entry) => entry.pid)
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
