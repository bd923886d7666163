import { expect, test } from 'vitest'
import { endEscapee } from '../process/ends/children.js'
import { fixtureChild } from '../support/fixture.js'
import { alive } from '../support/process-table.js'
import { timed, until, within } from '../support/until.js'
import type { StartedCli } from './cli.js'
import { run, startCli } from './cli.js'

const start = (options: readonly string[], ...verbs: string[]): StartedCli =>
  startCli(['run', '--env-empty', ...options, '--', fixtureChild(), ...verbs], { stdin: '' })

/** A number out of a child's text that is safe to look up. */
function pidIn(text: string, pattern: RegExp): number {
  const pid = Number(pattern.exec(text)?.[1])
  if (!Number.isInteger(pid) || pid <= 1) throw new Error(`no pid in ${JSON.stringify(text)}`)
  return pid
}

/** From the receipt, which shares its stream with the fixture's own line: either may be there first. */
async function leaderOf(started: StartedCli): Promise<number> {
  const pid = /"pid":(\d+)[,}]/
  await until('the receipt', () => pid.test(started.stderr()))
  return pidIn(started.stderr(), pid)
}

test.each(['SIGTERM', 'SIGHUP'] as const)('%s reaches the whole group and settles nothing [B064]', async (name) => {
  const started = start([], 'trap', name, 't', '--', 'trap', 'INT', 'i', '5', '--', 'fork-pause', '1', '--', 'pause')
  await until('ready', () => started.stderr().includes('ready'))
  started.process.kill(name)
  await until('both told', () => started.stdout().split('t').length === 3)
  started.process.kill('SIGINT')
  const { code, signal, stdout } = await started.end
  expect({ code, signal }).toEqual({ code: 5, signal: null })
  expect(stdout).toMatch(/i/)
})

test('a signal that ends the program is passed on as its code, without a word [P-8]', async () => {
  const started = start([], 'pause')
  await until('ready', () => started.stderr().includes('ready'))
  started.process.kill('SIGTERM')
  expect(await started.end).toEqual({ code: 143, signal: null, stdout: '', stderr: 'ready\n' })
})

test('in the caller\'s group a signal is passed on to the program alone [X-01, B072]', async () => {
  const started = start(['--group', 'inherit'], 'trap', 'TERM', 't', '6', '--', 'pause')
  await until('ready', () => started.stderr().includes('ready'))
  started.process.kill('SIGTERM')
  expect(await started.end).toMatchObject({ code: 6, stdout: 't' })
})

test('a timeout gives 124 and says so, whatever the program makes of its signal [B049, B088]', async () => {
  // Long enough for the trap to be set.
  const ms = within(100)
  const options = ['--timeout', `${ms}ms`, '--grace', '1m', '--signal', 'usr1']
  const obedient = start(options, 'trap', 'USR1', 'bye', '0', '--', 'pause')
  const { code, stdout, stderr } = await obedient.end
  expect({ code, stdout }).toEqual({ code: 124, stdout: 'bye' })
  expect(stderr).toBe(`ready\nexactspawn: timed out after ${ms} ms; ended with exit code 0\n`)
})

test('a program that ignores the signal of its timeout is killed after its grace [B069]', async () => {
  const stubborn = ['ignore', 'TERM', '--', 'fork-ignore', 'TERM', '60000', '--', 'pause']
  // Long enough for the member to be told.
  const timeoutMs = within(100)
  const options = ['--timeout', `${timeoutMs}ms`, '--grace', '150ms']
  const { result, ms } = await timed(() => start(options, ...stubborn).end)
  expect(result.code).toBe(124)
  expect(result.stderr).toContain(`timed out after ${timeoutMs} ms; ended with SIGKILL, after its grace`)
  expect(ms).toBeGreaterThanOrEqual(timeoutMs + 150)
  expect(ms).toBeLessThan(within(5_000))
  expect(alive(pidIn(result.stdout, /member (\d+)/))).toBe(false)
})

test('what is left of the group is killed and told, or kept and told [B053]', async () => {
  const verbs = ['fork-ignore', 'HUP', '60000']
  const killed = await start([], ...verbs).end
  expect(killed).toMatchObject({ code: 0, stderr: 'exactspawn: 1 of its group outlived it: killed\n' })
  expect(alive(pidIn(killed.stdout, /member (\d+)/))).toBe(false)

  const keeping = start(['--leftovers', 'keep'], ...verbs)
  await new Promise((resolve) => keeping.process.once('exit', resolve))
  expect(keeping.process.exitCode).toBe(0)
  // What it said may be read after its exit, and ends with the member that holds it.
  await until('a member', () => keeping.stdout().includes('\n'))
  const member = pidIn(keeping.stdout(), /member (\d+)/)
  expect(alive(member)).toBe(true)
  endEscapee(member, 'fork-ignore')
  expect((await keeping.end).stderr).toBe('exactspawn: 1 of its group outlived it: kept\n')
})

test('the program ends with a command that is killed, and with a guard so does its group [P-7]', async () => {
  const plain = start(['--receipt'], 'pause')
  const leader = await leaderOf(plain)
  plain.process.kill('SIGKILL')
  await until('the program is gone', () => !alive(leader))

  const guarded = start(['--receipt', '--guard'], 'fork-pause', '1', '--', 'pause')
  const guardedLeader = await leaderOf(guarded)
  await until('a member', () => guarded.stdout().includes('\n'))
  const member = pidIn(guarded.stdout(), /member (\d+)/)
  guarded.process.kill('SIGKILL')
  await until('all are gone', () => !alive(guardedLeader) && !alive(member))
})

test('a receipt comes when the program runs, the exit when it has ended, one line of JSON each [P-1]', async () => {
  const { code, stderr } = await run(['--receipt', '--timeout', '1m'], ['/bin/sh', '-c', 'exit 3'])
  expect(code).toBe(3)
  const [first, last, ...rest] = stderr.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(rest).toEqual([])
  expect(first).toMatchObject({ receipt: { program: '/bin/sh', env: [], group: 'new' } })
  expect(last).toMatchObject({ exit: { code: 3, signal: null, endedBy: 'self', groupLeft: 0, lost: false } })
})
