// node:child_process, which is what everybody has.
import { fork, spawn } from 'node:child_process'
import { Kept } from './kept.mjs'
import { MessageCounter } from './line.mjs'

const env = {}

function run(program, args, pipes) {
  const stdio = pipes === 0 ? 'ignore' : ['ignore', 'pipe', 'pipe']
  const child = spawn(program, args, { env, stdio })
  if (pipes > 0) {
    const kept = [new Kept(), new Kept()]
    child.stdout.on('data', (chunk) => kept[0].take(chunk))
    child.stderr.on('data', (chunk) => kept[1].take(chunk))
  }
  return new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
}

function start(program, args) {
  const child = spawn(program, args, { env, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.on('exit', resolve))
  return new Promise((resolve, reject) => child.on('error', reject).on('spawn', () => resolve({ ended })))
}

function drain(program, args) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const kept = new Kept()
  child.stdout.on('data', (chunk) => kept.take(chunk))
  return new Promise((resolve, reject) => child.on('error', reject).on('close', () => resolve(kept.total)))
}

async function talk([program, args], { bytes, channel, worker }) {
  const counter = new MessageCounter(bytes)
  if (channel !== 'pipes') return talkOverIpc(worker, bytes, channel, counter)
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
  const [, , , requests, responses] = child.stdio
  responses.on('data', (chunk) => counter.take(chunk.length))
  return {
    exchange(message, times, told) {
      counter.expect(times, told)
      for (let i = 0; i < times; i++) requests.write(message)
    },
    end: () => child.kill('SIGKILL'),
  }
}

// What Node itself offers between two Nodes: "json" or "advanced" messages over a socket.
function talkOverIpc(worker, bytes, serialization, counter) {
  const child = fork(worker, ['ipc'], { serialization })
  child.on('message', () => counter.take(bytes))
  return {
    exchange(message, times, told) {
      counter.expect(times, told)
      const value = serialization === 'json' ? message.toString() : message
      for (let i = 0; i < times; i++) child.send(value)
    },
    end: () => child.kill('SIGKILL'),
  }
}

export const adapter = { run, start, drain, talk }
