// Starts a program so many times, one after the other, with two captured streams; what is counted from outside.
//
//   node starts.mjs COUNT PROGRAM
import { createRequire } from 'node:module'

const { capture, spawn } = createRequire(import.meta.url)('../../dist/index.js')
const [count, program] = process.argv.slice(2)
const log = capture({ headBytes: 1024 })

for (let i = 0; i < Number(count); i++) {
  const child = await spawn({ program, env: {}, fds: { 0: 'null', 1: log, 2: log } })
  await child.wait()
}
