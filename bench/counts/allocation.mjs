// Bytes of JavaScript objects that one start and its end allocate. Run with a young generation that takes them all, so
// that no collection is between the two readings.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { nothing } from '../programs.mjs'

const WARM = 300
const COUNTED = 200
const own = fileURLToPath(import.meta.url)

export function countAllocation() {
  const args = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256', own, nothing]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`counting failed: ${stderr}`)
  return Number(stdout)
}

async function count(program) {
  const { capture, spawn } = createRequire(import.meta.url)('../../dist/index.js')
  const log = capture({ headBytes: 1024 })
  const once = async () => {
    const child = await spawn({ program, env: {}, fds: { 0: 'null', 1: log, 2: log } })
    await child.wait()
  }
  for (let i = 0; i < WARM; i++) await once()
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < COUNTED; i++) await once()
  console.log(Math.round((process.memoryUsage().heapUsed - before) / COUNTED))
}

if (process.argv[1] === own) await count(process.argv[2])
