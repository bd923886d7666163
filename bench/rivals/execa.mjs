// execa: the richest of the wrappers around child_process.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { installed } from './folder.mjs'
import { Kept } from './kept.mjs'

const found = createRequire(`${installed}/index.js`).resolve('execa')
const { execa } = await import(pathToFileURL(found).href)
const options = { env: {}, extendEnv: false }

function run(program, args, pipes) {
  return execa(program, args, { ...options, ...(pipes === 0 ? { stdio: 'ignore' } : { stdin: 'ignore' }) })
}

async function drain(program, args) {
  const streams = { stdin: 'ignore', stderr: 'ignore', buffer: false, encoding: 'buffer' }
  const child = execa(program, args, { ...options, ...streams })
  const kept = new Kept()
  child.stdout.on('data', (chunk) => kept.take(chunk))
  await child
  return kept.total
}

export const adapter = { run, drain }
