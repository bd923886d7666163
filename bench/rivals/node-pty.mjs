// node-pty: native too, and another way into the kernel. Each child gets a terminal, whether or not it wants one.
import { createRequire } from 'node:module'
import { installed } from './folder.mjs'

const pty = createRequire(`${installed}/index.js`)('node-pty')

function run(program, args) {
  const child = pty.spawn(program, args, { cols: 80, rows: 24, encoding: null, env: {} })
  child.onData(() => {})
  return new Promise((resolve) => child.onExit(resolve))
}

export const adapter = { run }
