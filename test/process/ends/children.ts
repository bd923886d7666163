/** Children as the tests of ends need them, and how these look at processes that no handle names. */
import type { Child, SpawnSpec } from 'exactspawn'
import { capture, MiB, spawn } from 'exactspawn'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { dist, fixtureChild } from '../../support/fixture.js'
import { alive, processFacts } from '../../support/process-table.js'
import { until, within } from '../../support/until.js'

/** Rounds of a race; more of them by EXACTSPAWN_ROUNDS. */
export const rounds = (few: number): number => Number(process.env['EXACTSPAWN_ROUNDS'] ?? few)

export const env = { PATH: '/usr/bin:/bin' }

/** Starts a shell with its output captured. */
export function shell(script: string, spec: Partial<SpawnSpec> = {}): Promise<Child> {
  const fds = { 1: capture({ headBytes: MiB }), ...spec.fds }
  return spawn({ program: '/bin/sh', args: ['-c', script], env, ...spec, fds })
}

/** Starts the fixture with all its lines, `ready` included, captured on 1. */
export function fixture(verbs: string, spec: Partial<SpawnSpec> = {}): Promise<Child> {
  const fds = { 1: capture({ headBytes: MiB }), ...spec.fds }
  const args = ['--ready-fd', '1', ...verbs.split(' ')]
  return spawn({ program: fixtureChild(), args, env: {}, ...spec, fds })
}

export const logText = (child: Child): string => child.log(1).snapshot().text()

/** Waits until the captured output has the text so many times. */
export async function logged(child: Child, text: string, times = 1): Promise<string> {
  return await until(`${times} times ${JSON.stringify(text)} from ${child.pid}`, () => {
    const log = logText(child)
    return log.split(text).length > times && log
  })
}

/** Waits for the members or holders that the fixture announces. */
export async function announced(child: Child, count: number): Promise<number[]> {
  return await until(`${count} members of ${child.pid}`, () => {
    const pids = [...logText(child).matchAll(/^(?:member|held) (\d+)$/gm)].map(([, pid]) => checkedPid(Number(pid)))
    return pids.length === count && pids
  })
}

export async function gone(...pids: number[]): Promise<void> {
  await until(`the end of ${pids.join()}`, () => !pids.some(alive))
}

/** A number that kill(2) takes for one process, and not for a group or for all. */
export function checkedPid(pid: number): number {
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`${pid} is no process of a test`)
  return pid
}

/** Sends a signal to the group of a child that runs and leads it. */
export function signalGroup(child: Child, signal: NodeJS.Signals): void {
  const pgid = checkedPid(child.pid)
  if (processFacts(pgid)?.pgid !== pgid) throw new Error(`${pgid} leads no group`)
  process.kill(-pgid, signal)
}

/** Ends a process that has left the reach of its handle; only one that still is the program it was. */
export function endEscapee(pid: number, program: string): void {
  const line = commandLine(checkedPid(pid))
  if (line.includes(program)) process.kill(pid, 'SIGKILL')
}

/** Ends members that a shell has left behind, each once it is the program: in the middle of its exec it has no name. */
export async function endMembers(program: string, ...pids: number[]): Promise<void> {
  for (const pid of pids) {
    await until(`${pid} as ${program}`, () => !alive(pid) || commandLine(pid).startsWith(program))
    endEscapee(pid, program)
  }
  await gone(...pids)
}

/** Ends it with the test at the latest. */
export function escapee(pid: number, program: string = fixtureChild()): number {
  onTestFinished(() => endEscapee(pid, program))
  return pid
}

export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** For a host's script: the addon's hooks, `until`, and what /proc says. */
export const hostTools = `
const { addon } = require(${JSON.stringify(join(dirname(dist), 'addon', 'addon.js'))});
const fs = require('node:fs');
const pause = require('node:timers/promises').setTimeout;
const env = ${JSON.stringify(env)};
const shell = (script, spec = {}) => spawn({ program: '/bin/sh', args: ['-c', script], env, ...spec });
const stateOf = (pid) => {
  try {
    const text = fs.readFileSync('/proc/' + pid + '/stat', 'latin1');
    return text.slice(text.lastIndexOf(')') + 2)[0];
  } catch {}
};
const childrenOfHost = () => fs.readdirSync('/proc').filter((name) => {
  try {
    const text = fs.readFileSync('/proc/' + name + '/stat', 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === process.pid;
  } catch {}
});
const until = async (name, look) => {
  const end = performance.now() + ${within(10_000)};
  for (let fact; performance.now() < end; await pause(5)) if ((fact = await look())) return fact;
  throw new Error('not seen: ' + name);
};
`
