// Bun.spawn, in its own runtime.
import { Kept } from './kept.mjs'
import { MessageCounter } from './line.mjs'

const env = {}

async function run(program, args, pipes) {
  const stdio = pipes === 0 ? ['ignore', 'ignore', 'ignore'] : ['ignore', 'pipe', 'pipe']
  const child = Bun.spawn([program, ...args], { env, stdio })
  if (pipes === 0) return child.exited
  await Promise.all([child.stdout.bytes(), child.stderr.bytes(), child.exited])
}

async function drain(program, args) {
  const child = Bun.spawn([program, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const kept = new Kept()
  for await (const chunk of child.stdout) kept.take(chunk)
  await child.exited
  return kept.total
}

async function talk([program, args], { bytes }) {
  const child = Bun.spawn([program, ...args], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const counter = new MessageCounter(bytes)
  const reading = (async () => {
    for await (const chunk of child.stdout) counter.take(chunk.length)
  })()
  return {
    exchange(message, times, told) {
      counter.expect(times, told)
      for (let i = 0; i < times; i++) child.stdin.write(message)
      child.stdin.flush()
    },
    end() {
      reading.catch(() => {})
      child.kill('SIGKILL')
    },
  }
}

// Its further descriptors are bare numbers without a reader: the worker talks over its standard ones.
export const adapter = { run, drain, talk, talkDescriptors: [0, 1] }
