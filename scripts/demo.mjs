// `npm run demo`: the main job of this package, told as it goes. A worker on two pipes of its own, logs that cannot
// stop it, the accounts at the end, and the difference to node:child_process.
import { existsSync, readdirSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { capture, KiB, MiB, pipe, spawn } from '../dist/index.js'
import { showChain } from './demo-chain.mjs'

const workerFile = fileURLToPath(new URL('../fixtures/workers/arithmetic.py', import.meta.url))
const commandLine = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
const requestFd = 7
const responseFd = 12
const floodBytes = 8 * MiB
const blockMs = 1_500

// The audit at the end gets this very descriptor, which console.log would make non-blocking.
const print = (text = '') => writeSync(1, `${text}\n`)
const colours = isatty(1) && !process.env.NO_COLOR
const heading = (text) => print(`\n${colours ? styleText('bold', text) : text}\n`)
const say = (text) => print(`  ${text}`)
const number = (value) => value.toLocaleString('en')

async function main() {
  heading('1. A worker, born exactly as declared')
  // What this process keeps open from its first start on: the threads that serve all of them.
  await (await spawn({ program: '/bin/sh', args: ['-c', ':'], env: {} })).wait()
  const openBefore = openDescriptors()

  const requests = pipe('childReads')
  const responses = pipe('childWrites')
  const log = capture({ headBytes: 64 * KiB, tailBytes: 64 * KiB })
  const worker = await spawn({
    program: 'python3',
    searchPath: `/usr/bin:/usr/local/bin:/opt/homebrew/bin:${absoluteFolders(process.env.PATH)}`,
    args: ['-I', workerFile],
    env: { LANG: 'C.UTF-8', REQUEST_FD: String(requestFd), RESPONSE_FD: String(responseFd) },
    fds: { 0: 'null', 1: log, 2: log, [requestFd]: requests.child, [responseFd]: responses.child },
    lifetime: { timeoutMs: 30_000 },
  })
  const { receipt } = worker
  say(`process ${receipt.pid}, ${receipt.program}, made by ${receipt.mechanism}`)
  for (const { fd, source, detail } of receipt.fds) say(`fd ${String(fd).padEnd(3)} ${source} ${detail ?? ''}`)
  for (const { control, value, status } of receipt.controls) say(`${control.padEnd(20)} ${value} (${status})`)

  heading('2. Requests and responses, on numbers of its choosing')
  const lines = readLines(responses.host)
  const ask = async (operation, ...args) => {
    await requests.host.write(Buffer.from(`${JSON.stringify({ operation, arguments: args })}\n`))
    return JSON.parse((await lines.next()).value)
  }
  say(`sum of 19 and 23                     ${await ask('sum', [19, 23])}`)
  say(`descriptors that the worker sees     ${(await ask('descriptors')).join(' ')}`)
  say(`variables that the worker sees       ${(await ask('environment')).join(' ')}`)

  heading('3. A flood of logs while the JavaScript thread does nothing')
  say(`The worker writes ${number(floodBytes)} bytes to each of its two log streams. A pipe holds 65,536 or 262,144;`)
  say('past that it would stand still until somebody reads. Nobody in JavaScript will: this thread blocks.')
  const askedAt = Date.now()
  const flooded = ask('flood', floodBytes)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs)
  const wokeAt = Date.now()
  const { tookMs, doneAtMs } = await flooded
  say(`The thread was blocked for ${wokeAt - askedAt} ms. The worker needed ${tookMs} ms and was done`)
  say(`${Math.max(0, wokeAt - doneAtMs)} ms before the thread woke up.`)

  heading('4. The end, and the accounts')
  requests.host.close()
  const exit = await worker.wait()
  responses.host.close()
  say(`exit code ${exit.code}, ended by ${exit.endedBy === 'self' ? 'itself' : exit.endedBy}`)
  for (const [name, { totalBytes, bytes, omittedBytes, truncated, complete }] of [
    ['standard output', exit.logs[1]],
    ['standard error ', exit.logs[2]],
  ]) {
    const exact = totalBytes === floodBytes ? 'exact' : `NOT the ${number(floodBytes)} written`
    const kept = `${number(bytes.length)} kept, ${number(omittedBytes)} let go`
    say(`${name}  ${number(totalBytes)} bytes seen (${exact}), ${kept}`)
    say(`${' '.repeat(name.length)}  truncated: ${truncated}, complete to its end: ${complete}`)
  }
  say(`cpu time         ${exit.usage.userMs.toFixed(0)} ms user, ${exit.usage.systemMs.toFixed(0)} ms system`)
  say(`left behind      ${exit.groupLeft} processes of its group, ${existsSync(`/proc/${worker.pid}`) ? 1 : 0} zombies`)
  say(`descriptors      ${openBefore} open here before the worker, ${await descriptorsNow(openBefore)} after it`)

  heading('5. What node:child_process would have given it')
  const audit = await spawn({
    program: process.execPath,
    args: [commandLine, 'audit'],
    env: 'inherit',
    // Where they are pipes, Node has made them non-blocking; the command is Node too and can write to such.
    fds: { 1: { hostFd: 1, nonblock: 'keep' }, 2: { hostFd: 2, nonblock: 'keep' } },
  })
  await audit.wait()

  heading('6. Three workers of one protocol, from a seed to a judged result')
  await showChain(say)
  print()
}

function openDescriptors() {
  return readdirSync('/proc/self/fd').length
}

// Another thread gives the exited process's own descriptor back, a moment after the exit was told.
async function descriptorsNow(expected) {
  for (let turn = 0; turn < 100 && openDescriptors() > expected; turn++) await pause(2)
  return openDescriptors()
}

// An empty or relative element of PATH means whatever folder one happens to be in.
function absoluteFolders(path = '') {
  return path.split(':').filter((folder) => folder.startsWith('/')).join(':') || '/bin'
}

async function* readLines(reader) {
  let rest = ''
  for await (const chunk of reader.bytes()) {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop()
    yield* lines
  }
}

if (process.platform !== 'linux') {
  print('The demonstration looks into /proc, which only Linux has.')
} else {
  try {
    await main()
  } catch (error) {
    print(`\nThe demonstration needs python3, and ended early: ${error.message}`)
    process.exitCode = 1
  }
}
