// A hundred thousand starts and ends in one host: descriptors, zombies and memory must not grow. Not part of `npm test`.
// node scripts/soak.mjs [starts] [in flight]
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { capture, pipe, spawn } = createRequire(import.meta.url)('../dist/index.js')
const starts = Number(process.argv[2] ?? 100_000)
const inFlight = Number(process.argv[3] ?? 16)
const ROUNDS = 10
// What V8 may still grow by after the first round, in bytes a start; a leak of one record would be far above it.
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

function facts() {
  globalThis.gc?.()
  const { rss } = process.memoryUsage()
  return { descriptors: readdirSync('/proc/self/fd').length, zombies: zombies(), threads: readdirSync('/proc/self/task').length, rss }
}

let first
for (let round = 0; round < ROUNDS; round++) {
  const from = Math.floor((starts * round) / ROUNDS)
  const to = Math.floor((starts * (round + 1)) / ROUNDS)
  await Promise.all(Array.from({ length: inFlight }, (_, index) => lane(from + index, to)))
  const now = facts()
  console.log(`${to} starts: ${now.descriptors} descriptors, ${now.zombies} zombies, ${now.threads} threads, ${(now.rss / 2 ** 20).toFixed(1)} MiB`)
  // Half of the way warms everything up.
  if (round === ROUNDS / 2 - 1) first = { ...now, to }
}
const last = facts()
const growth = (last.rss - first.rss) / (starts - first.to)
const good = last.descriptors <= first.descriptors && last.zombies === 0 && last.threads <= first.threads && growth < MAX_GROWTH
console.log(`${growth.toFixed(0)} bytes a start in the second half`)
console.log(good ? '1 passed, 0 failed' : '0 passed, 1 failed')
process.exitCode = good ? 0 : 1
