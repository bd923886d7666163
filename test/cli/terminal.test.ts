import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { Audit } from '../support/audit.js'
import { fixtureChild } from '../support/fixture.js'
import { until } from '../support/until.js'
import { command } from './cli.js'

interface Terminal {
  process: ChildProcess
  screen: () => string
  type: (text: string) => void
  end: Promise<number | null>
}

/** Types into a pseudo-terminal in which one line of shell runs; `$EXACTSPAWN` is the command. */
function terminal(line: string, env: Record<string, string | undefined> = {}): Terminal {
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      // The one that script(1) runs the line with.
      SHELL: '/bin/sh',
      TERM: 'xterm',
      NO_COLOR: undefined,
      EXACTSPAWN: `${process.execPath} ${command}`,
      FIXTURE: fixtureChild(),
      ...env,
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text))
  const end = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { process: child, screen: () => screen, type: (text) => child.stdin.write(text), end }
}

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const ESCAPE = '\x1b['

test('a program that reads the terminal is not stopped, and gives its exit code [B059]', async () => {
  const typed = terminal('$EXACTSPAWN run --env-empty -- /bin/sh -c \'read line; echo "got $line"; exit 4\'')
  typed.type('hello\n')
  expect(await typed.end).toBe(4)
  expect(typed.screen()).toContain('got hello')
})

test('Ctrl-C reaches the program once, and what it makes of it counts [C-08]', async () => {
  // Why exec: Ctrl-C reaches a shell that waits too, and one that runs a script dies of it.
  const line = 'exec $EXACTSPAWN run --env-empty -- $FIXTURE trap INT interrupted -- echo-lines 0 1'
  const typed = terminal(line)
  await until('ready', () => typed.screen().includes('ready'))
  typed.type(CTRL_C)
  await until('interrupted', () => typed.screen().includes('interrupted'))
  typed.type('on\n')
  await until('it goes on', () => typed.screen().split('on\r\n').length > 2)
  typed.type(CTRL_D)
  expect(await typed.end).toBe(0)
  expect(typed.screen().split('interrupted').length - 1).toBe(1)
})

test('a program that does not type has a group of its own also on a terminal [X-01]', async () => {
  const typed = terminal('$EXACTSPAWN run --env-empty --fd 0=null -- $FIXTURE pgid')
  expect(await typed.end).toBe(0)
  const [, pid, pgid] = /pid (\d+) ppid \d+ pgid (\d+)/.exec(typed.screen()) ?? []
  expect(pgid).toBe(pid)
})

test('a terminal that somebody made non-blocking is opened once more for the program [B036]', async () => {
  const typed = terminal('$FIXTURE nonblock 0; $EXACTSPAWN run --env-empty -- $FIXTURE audit')
  expect(await typed.end).toBe(0)
  const { fds } = JSON.parse(typed.screen()) as Audit
  expect(fds.map(({ fd }) => fd)).toEqual([0, 1, 2])
  for (const { mode, statusflags } of fds) {
    expect(mode & constants.S_IFMT).toBe(constants.S_IFCHR)
    expect(statusflags & constants.O_NONBLOCK).toBe(0)
  }
})

test('colours are for terminals, and not for those who do not want them [P-10]', async () => {
  const coloured = terminal('$EXACTSPAWN doctor')
  expect(await coloured.end).toBe(0)
  expect(coloured.screen()).toContain(ESCAPE)
  for (const [line, env] of [
    ['$EXACTSPAWN doctor', { NO_COLOR: '1' }],
    ['$EXACTSPAWN doctor', { TERM: 'dumb' }],
    ['$EXACTSPAWN doctor | cat', {}],
    ['$EXACTSPAWN doctor --json', {}],
  ] as const) {
    const plain = terminal(line, env)
    expect(await plain.end).toBe(0)
    expect(plain.screen()).not.toContain(ESCAPE)
  }
})
