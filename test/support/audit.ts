/** Asks a child what it was born with: the fixture's `audit` verb, fixtures/README.md. */
import type { SpawnSpec } from 'exactspawn'
import { capture, MiB, spawn } from 'exactspawn'
import { fixtureChild } from './fixture.js'

export interface AuditedFd {
  fd: number
  fdflags: number
  statusflags: number
  dev: string
  ino: string
  mode: number
  rdev: string
  offset: number
}

export interface Audit {
  pid: number
  ppid: number
  pgid: number
  sid: number
  fds: AuditedFd[]
  sigmask: string
  ignored: number[]
  handled: number[]
  umask: number
  cwd: string
  argv: string[]
  env: string[]
  rlimits: Record<string, [soft: number, hard: number]>
  uids: number[]
  gids: number[]
  groups: number[]
  nice: number
  no_new_privs: number
  pdeathsig: number
  affinity: number[]
  cgroup: string
}

/** Starts the fixture with the given spec; its report comes over a capture on 1, unless the spec puts one elsewhere. */
export async function audit(spec: Partial<SpawnSpec> = {}, on = 1): Promise<Audit> {
  const fds = { [on]: capture({ headBytes: MiB }), ...spec.fds }
  const child = await spawn({ program: fixtureChild(), args: ['audit', String(on)], env: {}, ...spec, fds })
  const exit = await child.wait()
  const text = exit.logs[on]?.text() ?? ''
  if (exit.code !== 0) throw new Error(`audit ended with ${exit.code ?? exit.signal}: ${text}`)
  return JSON.parse(text) as Audit
}

export const auditedNumbers = (report: Audit): number[] => report.fds.map(({ fd }) => fd)
