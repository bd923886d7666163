/** A host of its own: a Node process that runs a script with the compiled package, for what ends or upsets a host. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { dist, fixtureChild } from './fixture.js'

export interface HostResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface HostOptions {
  /** Put before `node`, as in `[denysys, 'ENOSYS', 'clone3', '--']`. */
  wrapper?: readonly string[]
  nodeArgs?: readonly string[]
  env?: Record<string, string>
  uid?: number
  gid?: number
}

const prelude = `
const xs = require(${JSON.stringify(dist)});
const { spawn, pipe, capture } = xs;
const fixture = ${JSON.stringify(fixtureChild())};
const say = (value) => require('node:fs').writeSync(1, JSON.stringify(value) + '\\n');
`

/** Starts a host with an async body; `say(value)` in it prints one line of JSON. Killed at the end of the test. */
export function startHost(body: string, options: HostOptions = {}): ChildProcess {
  const script = `${prelude};(async () => {${body}\n})().catch((error) => { console.error(error); process.exit(99) })`
  const [program, ...args] = [...(options.wrapper ?? []), process.execPath, ...(options.nodeArgs ?? []), '-e', script]
  const { uid, gid } = options
  const host = spawn(program as string, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  })
  onTestFinished(() => void host.kill('SIGKILL'))
  return host
}

/** Runs a host to its end. */
export function runHost(body: string, options: HostOptions = {}): Promise<HostResult> {
  const host = startHost(body, options)
  let stdout = ''
  let stderr = ''
  host.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  host.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve) => host.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })))
}

/** Runs a host that must end well, and gives the JSON lines it said. */
export async function hostSays<T = unknown>(body: string, options: HostOptions = {}): Promise<T[]> {
  const { code, signal, stdout, stderr } = await runHost(body, options)
  if (code !== 0) throw new Error(`host ended with ${code ?? signal}: ${stderr}`)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}
