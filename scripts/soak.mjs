// A hundred thousand starts and ends in one host: descriptors, zombies and memory must not grow. Not part of `npm test`.
// node scripts/soak.mjs [starts] [in flight]
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { capture, pipe, spawn } = createRequire(import.meta.url)('../dist/index.js')
const starts = Number(process.argv[2] ?? 100_000)
const inFlight = Number(process.argv[3] ?? 16)
const ROUNDS = 10
// In bytes a start, over the second half; a leak of one record would be far above it.
const MAX_GROWTH = 200

const zombies = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'latin1')
        const [state, ppid] = text.slice(text.lastIndexOf(')') + 2).split(' ')
        return state === 'Z' && Number(ppid) === process.pid
      } catch {
        return false
      }
    }).length

// Every kind of start that holds something: captures, protocol pipes, a failure.
async function one(number) {
  if (number % 10 === 0) return void (await spawn({ program: '/nonexistent', env: {} }).catch(() => {}))
  const responses = pipe('childWrites')
  const fds = { 1: capture({ headBytes: 64 }), 3: responses.child }
  const child = await spawn({ program: '/bin/true', env: {}, fds })
  if ((await responses.host.read()) !== null) throw new Error('bytes from nowhere')
  responses.host.close()
  const { code } = await child.wait()
  if (code !== 0) throw new Error(`exit code ${code}`)
}

async function lane(from, to) {
  for (let number = from; number < to; number += inFlight) await one(number)
}

// What JavaScript holds is its live heap; all else that is resident is native. V8's own room, which comes and goes by tens
// of MiB, is neither.
async function facts() {
  // Finalizers run between two collections.
  for (let times = 0; times < 5; times++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage()
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    zombies: zombies(),
    threads: readdirSync('/proc/self/task').length,
    js: heapUsed,
    native: rss - heapTotal,
  }
}

const MiB = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

let first
for (let round = 0; round < ROUNDS; round++) {
  const from = Math.floor((starts * round) / ROUNDS)
  const to = Math.floor((starts * (round + 1)) / ROUNDS)
  await Promise.all(Array.from({ length: inFlight }, (_, index) => lane(from + index, to)))
  const now = await facts()
  const { descriptors, zombies, threads, js, native } = now
  console.log(`${to} starts: ${descriptors} descriptors, ${zombies} zombies, ${threads} threads, JavaScript ${MiB(js)}, native ${MiB(native)}`)
  // Half of the way warms everything up.
  if (round === ROUNDS / 2 - 1) first = { ...now, to }
}
const last = await facts()
const growth = Object.fromEntries(['js', 'native'].map((part) => [part, (last[part] - first[part]) / (starts - first.to)]))
const flat = Object.values(growth).every((bytes) => bytes < MAX_GROWTH)
const good = flat && last.descriptors <= first.descriptors && last.zombies === 0 && last.threads <= first.threads
console.log(`JavaScript ${growth.js.toFixed(0)}, native ${growth.native.toFixed(0)} bytes a start in the second half`)
console.log(good ? '1 passed, 0 failed' : '0 passed, 1 failed')
process.exitCode = good ? 0 : 1
