/**
 * Every test ends with the descriptors, threads, children and listeners that it began with. Vitest runs this file before
 * each test file.
 */
import { stat } from 'node:fs/promises'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import { capture, pipe, spawn } from 'exactspawn'
import { childrenOf, foreignThreads, openFds } from './process-table.js'
import { within } from './until.js'
import { setTimeout as pause } from 'node:timers/promises'

interface Facts {
  fds: string[]
  children: number[]
  threads: string[]
  listeners: Record<string, number>
}

const EVENTS = ['exit', 'beforeExit', 'SIGINT', 'SIGTERM', 'SIGHUP', 'SIGCHLD', 'uncaughtException']

function facts(): Facts {
  return {
    fds: [...openFds()].map(([fd, target]) => `${fd} ${target}`).filter((entry) => !entry.includes('/proc/')),
    children: childrenOf(),
    threads: foreignThreads(),
    listeners: Object.fromEntries(EVENTS.map((event) => [event, process.listenerCount(event)])),
  }
}

function differences(before: Facts, after: Facts): string[] {
  const found = after.fds.filter((entry) => !before.fds.includes(entry)).map((entry) => `descriptor ${entry}`)
  found.push(...after.children.filter((pid) => !before.children.includes(pid)).map((pid) => `child ${pid}`))
  if (after.threads.length > before.threads.length) found.push(`threads ${after.threads.join()}, were ${before.threads.join()}`)
  for (const event of EVENTS) {
    if (after.listeners[event] !== before.listeners[event]) found.push(`listeners of ${event}`)
  }
  return found
}

let before: Facts

// The process-wide threads and their descriptors come with the first use and stay.
beforeAll(async () => {
  const warm = pipe('childWrites')
  const fds = { 1: capture({ headBytes: 1 }), 3: warm.child }
  const child = await spawn({ program: '/bin/true', env: {}, fds })
  await warm.host.read()
  warm.host.close()
  await child.wait()
  // Node's own file threads, which newer ones make and name at the first use.
  await stat('/')
})

beforeEach(() => {
  before = facts()
})

afterEach(async () => {
  const end = performance.now() + within(5_000)
  for (;;) {
    const found = differences(before, facts())
    if (found.length === 0) return
    if (performance.now() > end) throw new Error(`left behind: ${found.join('; ')}`)
    // Handles that were dropped are closed by their finalizers.
    globalThis.gc?.()
    await pause(20)
  }
})
