// What one start and its end cost beside node:child_process, in one process, at several sizes of the host. In blocks, not
// alternating: after each fork of child_process the host pays copy-on-write faults, which would be charged to the other.
// node bench/start.mjs [GiB …]     Ratios are what counts; absolute figures are this machine's mood.
import { spawn as nodeSpawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'

const { capture, spawn } = createRequire(import.meta.url)('../dist/index.js')
const PROGRAM = '/bin/true'
const PAGE = 4096
const CHUNK = 64 * 1024 * 1024

const held = []
function grow(gib) {
  while (held.length * CHUNK < gib * 1024 ** 3) {
    const chunk = Buffer.allocUnsafeSlow(CHUNK)
    for (let at = 0; at < CHUNK; at += PAGE) chunk[at] = at
    held.push(chunk)
  }
}

const ours = async () => {
  const fds = { 1: capture({ headBytes: 1024 }), 2: capture({ headBytes: 1024 }) }
  const begin = performance.now()
  const starting = spawn({ program: PROGRAM, env: {}, fds })
  const blocked = performance.now() - begin
  await (await starting).wait()
  return { blocked, whole: performance.now() - begin }
}

const theirs = async () => {
  const begin = performance.now()
  const child = nodeSpawn(PROGRAM, [], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] })
  const blocked = performance.now() - begin
  await new Promise((resolve) => child.stdout.resume() && child.stderr.resume() && child.on('close', resolve))
  return { blocked, whole: performance.now() - begin }
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]
const ms = (value) => `${value.toFixed(3)} ms`

async function measure(gib, rounds) {
  grow(gib)
  for (let i = 0; i < 20; i++) await ours()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const samples = { ours: [], theirs: [] }
  delay.enable()
  for (let i = 0; i < rounds; i++) samples.ours.push(await ours())
  delay.disable()
  for (let i = 0; i < rounds; i++) samples.theirs.push(await theirs())
  const figure = (who, what) => median(samples[who].map((sample) => sample[what]))
  console.log(
    `+${gib} GiB  exactspawn ${ms(figure('ours', 'blocked'))} blocked, ${ms(figure('ours', 'whole'))} whole` +
      `  child_process ${ms(figure('theirs', 'blocked'))}, ${ms(figure('theirs', 'whole'))}` +
      `  ratio ${(figure('theirs', 'blocked') / figure('ours', 'blocked')).toFixed(0)}x, ` +
      `${(figure('theirs', 'whole') / figure('ours', 'whole')).toFixed(1)}x` +
      `  longest loop delay of ours ${(delay.max / 1e6).toFixed(1)} ms`,
  )
}

const sizes = process.argv.slice(2).map(Number)
for (const gib of sizes.length > 0 ? sizes : [0, 1, 4]) await measure(gib, 100)
