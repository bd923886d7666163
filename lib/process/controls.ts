/** Controls that the child is born with: limits, priority, processors, ids. */
import { systemError } from '../base/errors.js'
import { plainObject } from './plain-object.js'
import { invalid, wrongType } from './strings.js'

/** A limit: soft and hard alike, or each. `Infinity` is RLIM_INFINITY. An absent hard limit is the host's own. */
export type Limit = number | { readonly soft: number; readonly hard?: number }

/** Numbers of getrlimit(2), which differ between the platforms, by the names that a spec has for them. */
export const RLIMIT =
  process.platform === 'darwin'
    ? ({ cpu: 0, fsize: 1, data: 2, stack: 3, core: 4, as: 5, memlock: 6, nproc: 7, nofile: 8 } as const)
    : ({
        cpu: 0,
        fsize: 1,
        data: 2,
        stack: 3,
        core: 4,
        rss: 5,
        nproc: 6,
        nofile: 7,
        memlock: 8,
        as: 9,
        locks: 10,
        sigpending: 11,
        msgqueue: 12,
        nice: 13,
        rtprio: 14,
        rttime: 15,
      } as const)

export type LimitName =
  | 'cpu'
  | 'fsize'
  | 'data'
  | 'stack'
  | 'core'
  | 'rss'
  | 'nproc'
  | 'nofile'
  | 'memlock'
  | 'as'
  | 'locks'
  | 'sigpending'
  | 'msgqueue'
  | 'nice'
  | 'rtprio'
  | 'rttime'

/** By the name of RLIMIT_ in lower case. `nofile: 'inherit'` keeps what Node raised its own soft limit to. */
export type Limits = { readonly [Name in LimitName]?: Name extends 'nofile' ? Limit | 'inherit' : Limit }

export interface ReadLimit {
  readonly name: string
  readonly resource: number
  readonly soft: number
  readonly hard: number
}

export interface ReadLimits {
  readonly list: readonly ReadLimit[]
  readonly inheritNofile: boolean
}

const NO_LIMITS: ReadLimits = { list: [], inheritNofile: false }
const EPERM = -1
const EINVAL = -22
/** Of a user's or group's number: the next one means "leave it", setresuid(2). */
export const ID_MAX = 2 ** 32 - 2

/**
 * Checks limits against what this host may set.
 *
 * @throws {SpecError} ERR_INVALID_SPEC: an unknown name, soft above hard (cause EINVAL), hard above the host's own hard
 *   limit without the privilege to raise it (cause EPERM), setrlimit(2)
 */
export function readLimits(limits: unknown, ownLimit: (resource: number) => readonly [number, number]): ReadLimits {
  if (limits === undefined) return NO_LIMITS
  const list: ReadLimit[] = []
  let inheritNofile = false
  for (const [name, value] of Object.entries(plainObject(limits, 'limits'))) {
    const field = `limits.${name}`
    const resource = Object.hasOwn(RLIMIT, name) ? RLIMIT[name as keyof typeof RLIMIT] : undefined
    if (resource === undefined) throw invalid(field, `is no limit of this platform: ${Object.keys(RLIMIT).join(', ')}`)
    if (name === 'nofile' && value === 'inherit') inheritNofile = true
    else list.push({ name, resource, ...readLimit(value, field, ownLimit(resource)[1]) })
  }
  return { list, inheritNofile }
}

function readLimit(value: unknown, field: string, ownHard: number): { soft: number; hard: number } {
  const pair = typeof value === 'number' ? { soft: value, hard: value } : value
  if (typeof pair !== 'object' || pair === null) throw wrongType(field, 'must be a number or { soft, hard }')
  const { soft, hard = ownHard < 0 ? Infinity : ownHard, ...rest } = pair as { soft?: unknown; hard?: unknown }
  for (const key of Object.keys(rest)) throw invalid(`${field}.${key}`, 'is no part of a limit')
  const softValue = readLimitValue(soft, `${field}.soft`)
  const hardValue = readLimitValue(hard, `${field}.hard`)
  if (softValue > hardValue) throw invalid(field, 'the soft limit is above the hard one', systemError(EINVAL, 'prlimit64'))
  const own = ownHard < 0 ? Infinity : ownHard
  if (hardValue > own && process.geteuid?.() !== 0) {
    throw invalid(field, `cannot be met: the host's own hard limit is ${own}`, systemError(EPERM, 'prlimit64'))
  }
  return { soft: packed(softValue), hard: packed(hardValue) }
}

function readLimitValue(value: unknown, field: string): number {
  if (typeof value !== 'number') throw wrongType(field, 'must be a number')
  if (value === Infinity || (Number.isSafeInteger(value) && value >= 0)) return value
  throw invalid(field, 'must be an integer of 0 or more, or Infinity')
}

const packed = (value: number): number => (value === Infinity ? -1 : value)

/** Checks an integer control within a range. */
export function readInteger(value: unknown, field: string, min: number, max: number): number {
  if (typeof value !== 'number') throw wrongType(field, 'must be a number')
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw invalid(field, `must be an integer from ${min} to ${max}`)
}

export function readId(value: unknown, field: string): number | null {
  return value === undefined ? null : readInteger(value, field, 0, ID_MAX)
}

/** Checks a list of distinct integers. */
export function readIntegers(value: unknown, field: string, max: number): number[] {
  if (!Array.isArray(value)) throw wrongType(field, 'must be an array')
  // Array.from: a hole in the array is an undefined number, which map would pass over.
  const list = Array.from(value, (item: unknown, index) => readInteger(item, `${field}[${index}]`, 0, max))
  if (new Set(list).size !== list.length) throw invalid(field, 'names one number twice')
  return list
}
