// Deno.Command, in its own runtime.
import { Kept } from './kept.mjs'
import { MessageCounter } from './line.mjs'

const options = { env: {}, clearEnv: true }

async function run(program, args, pipes) {
  const stream = pipes === 0 ? 'null' : 'piped'
  const command = new Deno.Command(program, { ...options, args, stdin: 'null', stdout: stream, stderr: stream })
  const child = command.spawn()
  await (pipes === 0 ? child.status : child.output())
}

async function drain(program, args) {
  const streams = { stdin: 'null', stdout: 'piped', stderr: 'null' }
  const child = new Deno.Command(program, { ...options, args, ...streams }).spawn()
  const kept = new Kept()
  for await (const chunk of child.stdout) kept.take(chunk)
  await child.status
  return kept.total
}

async function talk([program, args], { bytes }) {
  const streams = { stdin: 'piped', stdout: 'piped', stderr: 'null' }
  const child = new Deno.Command(program, { ...options, args, ...streams }).spawn()
  const counter = new MessageCounter(bytes)
  const requests = child.stdin.getWriter()
  const reading = (async () => {
    for await (const chunk of child.stdout) counter.take(chunk.length)
  })()
  return {
    exchange(message, times, told) {
      counter.expect(times, told)
      for (let i = 0; i < times; i++) void requests.write(message)
    },
    end() {
      reading.catch(() => {})
      child.kill('SIGKILL')
    },
  }
}

// Deno has no descriptors beyond the standard ones.
export const adapter = { run, drain, talk, talkDescriptors: [0, 1] }
