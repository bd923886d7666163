/** The compiled command as a stranger runs it: a process of its own, `node dist/cli/main.js`. */
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from '../support/fixture.js'

export const command = join(root, 'dist', 'cli', 'main.js')

export interface CliResult {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface CliOptions {
  stdin?: string | Buffer
  env?: Record<string, string>
  cwd?: string
  /** Runs this by /bin/sh, with the command and its arguments as "$@". */
  through?: string
}

export interface StartedCli {
  process: ChildProcess
  /** What has come on standard output by now. */
  stdout: () => string
  stderr: () => string
  end: Promise<CliResult>
}

/** Starts the command; killed at the end of the test if it still runs. */
export function startCli(args: readonly string[], options: CliOptions = {}): StartedCli {
  const { env, cwd, through, stdin } = options
  const words = [process.execPath, command, ...args]
  const [program, ...rest] = through === undefined ? words : ['/bin/sh', '-c', through, 'sh', ...words]
  const child = spawn(program as string, rest, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('latin1').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => {})
  if (stdin !== undefined) child.stdin.end(stdin)
  const end = new Promise<CliResult>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return { process: child, stdout: () => stdout, stderr: () => stderr, end }
}

/** Runs the command to its end, with nothing to read unless told otherwise. */
export function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, { stdin: '', ...options }).end
}

/** Runs a program by `run` with an empty environment and the options given. */
export function run(options: readonly string[], program: readonly string[], how: CliOptions = {}): Promise<CliResult> {
  return cli(['run', '--env-empty', ...options, '--', ...program], how)
}
