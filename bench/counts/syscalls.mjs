// System calls for one start and its end, from two traces of strace: what a longer one has more, divided by the starts
// that it has more. So nothing of Node's own beginning and end is in it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nothing } from '../programs.mjs'

const starts = fileURLToPath(new URL('starts.mjs', import.meta.url))
const FEW = 40
const MANY = 140

// Sleeping, waking and memory: how many of these there are depends on which thread was faster.
const waking = new Set(['futex', 'epoll_wait', 'epoll_pwait', 'read', 'write', 'restart_syscall', 'sched_yield'])
const ofAllocator = new Set(['mmap', 'munmap', 'mprotect', 'madvise', 'brk', 'mremap'])

export function whyNoSyscalls() {
  const { status } = spawnSync('strace', ['--version'])
  return status === 0 ? undefined : 'there is no strace; install the package strace'
}

/**
 * Gives { child, host, waking }: calls by name before exec, calls by name of the host, and the sum of the sleepy ones. Of
 * three countings the fewest: a busy machine only adds, where one thread looks in vain while another is kept from going on.
 */
export function countSyscalls() {
  return fewest(Array.from({ length: 3 }, countOnce))
}

/** The least of each number, in objects of one shape; a name that one of them lacks is 0 there, and so left out. */
export function fewest(counts) {
  const [first, ...others] = counts
  const entries = Object.entries(first).flatMap(([name, value]) => {
    const all = others.map((other) => other[name])
    if (all.includes(undefined)) return []
    return [[name, typeof value === 'number' ? Math.min(value, ...all) : fewest([value, ...all])]]
  })
  return Object.fromEntries(entries)
}

function countOnce() {
  const few = trace(FEW)
  const many = trace(MANY)
  const each = (part) => difference(few[part], many[part], MANY - FEW)
  const host = each('host')
  const sum = [...waking].reduce((total, name) => total + (host[name] ?? 0), 0)
  for (const name of [...waking, ...ofAllocator]) delete host[name]
  return { child: each('child'), host, waking: Number(sum.toFixed(1)) }
}

function trace(count) {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-budget-'))
  const file = join(folder, 'trace')
  try {
    const args = ['-f', '-qq', '-o', file, process.execPath, starts, String(count), nothing]
    const { status, stderr } = spawnSync('strace', args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`strace failed: ${stderr.trim()}`)
    return readTrace(readFileSync(file, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Sorts the calls of a trace into those of a child up to its exec and those of the host. A child is who calls execve and
 * is not the first; what it does afterwards is the program's.
 */
export function readTrace(text) {
  const calls = text.split('\n').flatMap((line) => {
    const match = /^(\d+)\s+(?:<\.\.\. \w+ resumed>|(\w+)\()/.exec(line)
    return match?.[2] === undefined ? [] : [{ pid: match[1], name: match[2] }]
  })
  const first = calls[0]?.pid
  const children = new Set(calls.filter(({ pid, name }) => name === 'execve' && pid !== first).map(({ pid }) => pid))
  const counts = { child: {}, host: {} }
  const programs = new Set()
  for (const { pid, name } of calls) {
    if (programs.has(pid)) continue
    const part = counts[children.has(pid) ? 'child' : 'host']
    part[name] = (part[name] ?? 0) + 1
    if (children.has(pid) && name === 'execve') programs.add(pid)
  }
  return counts
}

// Less than one in ten starts is not what a start does.
function difference(few, many, starts) {
  const names = Object.keys(many).sort()
  const entries = names.map((name) => [name, Number(((many[name] - (few[name] ?? 0)) / starts).toFixed(1))])
  return Object.fromEntries(entries.filter(([, count]) => count >= 0.1))
}
