// What the figures were made on, and where programs can be placed.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, freemem, loadavg, release, totalmem } from 'node:os'

const GIB = 1024 ** 3

export function describeMachine() {
  const gib = (bytes) => Math.round(bytes / GIB)
  const usable = `${allowedCpus().length} of ${cpus().length} CPUs usable`
  return [
    `${cpus()[0]?.model ?? process.arch}, ${usable}, load ${loadavg()[0].toFixed(1)}`,
    `Linux ${release()}, ${gib(totalmem())} GiB of memory, at most ${mostDescriptors()} descriptors`,
  ]
}

/** The processors that this process may use. */
export function allowedCpus() {
  const list = /^Cpus_allowed_list:\s+(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

/** The hard limit, up to which every rival may go. */
export function mostDescriptors() {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))[1]
  return hard === 'unlimited' ? Infinity : Number(hard)
}

export const freeGib = () => Math.max(freemem(), availableBytes()) / GIB

// What the page cache holds can be had as well.
function availableBytes() {
  return Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? 0) * 1024
}

/** Why no program can be kept on a processor here, or nothing. */
export function whyNoPlaces(wanted) {
  if (spawnSync('taskset', ['--version']).status !== 0) return 'there is no taskset (util-linux)'
  if (allowedCpus().length < wanted) return `there are fewer than ${wanted} CPUs`
  return undefined
}
