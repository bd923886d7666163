// What a rival's process knows of time and of itself, the same way under Node, Bun and Deno.
import { readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'

/** Microseconds since some moment. */
export const microseconds = () => Number(process.hrtime.bigint()) / 1e3

/** Microseconds of processor time that all threads of this process have used. */
export function cpuMicroseconds() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Lets the event loop turn. */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Memory that is in use by this process alone or shared, after the garbage is gone. */
export function residentKiB() {
  collectGarbage()
  return Number(/^Rss:\s+(\d+)/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))[1])
}

/** Open descriptors of this process; the one that lists them is among them each time. */
export const openDescriptors = () => readdirSync('/proc/self/fd').length

/** Twice: what a finalizer lets go is garbage only at the next collection. */
export function collectGarbage() {
  const collect = globalThis.gc ?? (() => globalThis.Bun?.gc(true))
  collect()
  collect()
}
