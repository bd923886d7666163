/** From a failed start's numbers to an error that says which step, which call, which path and which field. */
import { open } from 'node:fs/promises'
import { AbortError, SpawnError } from '../base/errors.js'
import type { NativeError } from '../addon/addon-types.js'
import { systemFailure } from './native-errors.js'
import { signalName } from './signals.js'
import type { CheckedSpec } from './spawn-spec.js'

const ENOENT = -2
/** How the hint begins that no directory of the search path has the program. */
export const NOT_FOUND = 'not found in the '

/** Words a failure that native code reported; `killedBy` is a signal's number for stage killed-before-exec. */
export async function startError(
  spec: CheckedSpec,
  error: NativeError,
  killedBy: number,
  cgroupLeaf: string | null,
): Promise<SpawnError> {
  const { redact } = spec
  const { stage = 'clone', errno, syscall, index } = systemFailure(error)
  const system = errno === undefined || syscall === undefined ? {} : { errno, syscall }
  if (stage === 'pipe' && syscall === 'epoll_ctl' && index !== undefined) {
    return new SpawnError('ERR_LOG_DRAIN_START_FAILED', { stream: index, ...system })
  }
  const path = pathOf(spec, stage, index, cgroupLeaf)
  const field = fieldOf(spec, stage, index)
  const hint = stage === 'exec' && errno === ENOENT && path !== undefined ? await missingHint(spec, path) : undefined
  return new SpawnError('ERR_SPAWN_FAILED', {
    stage,
    ...system,
    ...(path === undefined ? {} : { path: redact(path) }),
    ...(index === undefined ? {} : { index }),
    ...(field === undefined ? {} : { field }),
    ...(hint === undefined ? {} : { hint: redact(hint) }),
    ...(killedBy === 0 ? {} : { signal: signalName(killedBy) }),
  })
}

export function abortedStart(signal: AbortSignal): AbortError {
  return new AbortError('ERR_ABORTED', {}, { cause: signal.reason })
}

function pathOf(spec: CheckedSpec, stage: string, index: number | undefined, leaf: string | null): string | undefined {
  if (stage === 'exec') return Buffer.from(spec.candidates[index ?? 0] as Uint8Array).toString()
  if (stage === 'chdir' && spec.cwd !== null) return Buffer.from(spec.cwd).toString()
  if (stage === 'cgroup' && leaf !== null) return leaf
  return undefined
}

const FIELDS: Readonly<Record<string, string>> = {
  exec: 'program',
  chdir: 'cwd',
  setsid: 'group',
  setpgid: 'group',
  cgroup: 'cgroup',
  priority: 'nice',
  affinity: 'affinity',
  groups: 'groups',
  gid: 'gid',
  uid: 'uid',
  'no-new-privs': 'noNewPrivs',
  'dup-fd': 'fds',
}

function fieldOf(spec: CheckedSpec, stage: string, index: number | undefined): string | undefined {
  if (stage === 'rlimit') return `limits.${spec.limits.list[index ?? -1]?.name ?? 'nofile'}`
  if ((stage === 'pipe' || stage === 'file') && index !== undefined) return `fds.${index}`
  return FIELDS[stage]
}

async function missingHint(spec: CheckedSpec, path: string): Promise<string | undefined> {
  const hint = await interpreterHint(path)
  if (hint !== undefined || spec.program.includes('/')) return hint
  const tried = spec.candidates.length
  // The path of the error is one of them: it alone would say that the others were not looked at.
  return `${NOT_FOUND}${tried === 1 ? 'one directory' : `${tried} directories`} of searchPath`
}

// execve(2) answers ENOENT for a file that is there when its interpreter is not [B020].
async function interpreterHint(path: string): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(256), 0, 256, 0)
    const line = /^#![ \t]*([^ \t\n]+)/.exec(buffer.toString('latin1', 0, bytesRead))
    if (line === null) return 'the file is there, its program loader is not'
    // Matched as bytes, told as text: a secret is found only in what it was written as.
    return `the file is there, its interpreter ${Buffer.from(line[1] as string, 'latin1')} is not`
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
