// This package. Captures keep 64 KiB, as the others do in their own ways.
import { createRequire } from 'node:module'
import { MessageCounter } from './line.mjs'
import { tokens } from './secrets.mjs'

const { KiB, capture, pipe, spawn } = createRequire(import.meta.url)('../../dist/index.js')

const log = capture({ headBytes: 64 * KiB })
const noPipes = { 0: 'null', 1: 'null', 2: 'null' }
const twoPipes = { 0: 'null', 1: log, 2: log }
const env = {}

async function run(program, args, pipes) {
  const child = await spawn({ program, args, env, fds: pipes === 0 ? noPipes : twoPipes })
  await child.wait()
}

async function start(program, args) {
  const child = await spawn({ program, args, env, fds: noPipes })
  return { ended: child.wait() }
}

// `tail` keeps the last 64 KiB as well.
async function drain(program, args, { secrets: secretCount = 0, tail = 0 }) {
  const output = tail === 0 ? log : capture({ headBytes: 64 * KiB, tailBytes: 64 * KiB })
  const child = await spawn({ program, args, env, fds: { 0: 'null', 1: output, 2: 'null' }, secrets: tokens(secretCount) })
  return (await child.wait()).logs[1].totalBytes
}

async function talk([program, args], { bytes }) {
  const requests = pipe('childReads')
  const responses = pipe('childWrites')
  const counter = new MessageCounter(bytes)
  const fds = { 0: 'null', 1: 'null', 2: 'null', 3: requests.child, 4: responses.child }
  const child = await spawn({ program, args, env, fds })
  const reading = (async () => {
    for await (const chunk of responses.host.bytes()) counter.take(chunk.length)
  })()
  // One write at a time; what gathers until then goes out together, also what one chunk of answers asks for.
  let waiting = []
  let writing = false
  const flush = async () => {
    writing = true
    await null
    while (waiting.length > 0) {
      const next = waiting.length === 1 ? waiting[0] : Buffer.concat(waiting)
      waiting = []
      await requests.host.write(next)
    }
    writing = false
  }
  return {
    exchange(message, times, told) {
      counter.expect(times, told)
      for (let i = 0; i < times; i++) waiting.push(message)
      if (!writing) void flush()
    },
    end() {
      requests.host.close()
      void reading.then(() => child.wait())
    },
  }
}

export const adapter = { run, start, drain, talk }
