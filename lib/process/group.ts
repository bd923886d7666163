/** Which process group a child is born into. */
import { LifecycleError } from '../base/errors.js'
import { invalid } from './strings.js'

/**
 * "new": a group of its own. "session": that in a session of its own, without a terminal. "inherit": the host's, so that
 * signals to the group are not offered. join: a living child's; a number could have been recycled.
 */
export type GroupSpec = 'new' | 'session' | 'inherit' | { readonly join: GroupChild }

/** What joining needs of a child. */
export interface GroupChild {
  readonly pid: number
}

/** How child.ts tells a joinable child from any other object, without an import in a circle. */
export interface GroupMember {
  readonly number: number
  readonly pid: number
  readonly leadsGroup: boolean
  readonly running: boolean
}

let memberOf: (child: object) => GroupMember | undefined = () => undefined

/** @internal Takes the way to tell them: a map of all children would be looked through at every collection. */
export function tellMembersBy(read: (child: object) => GroupMember | undefined): void {
  memberOf = read
}

/** Tells whether a child leads a group that nobody had before it. */
export function leadsGroup({ group }: { readonly group: GroupSpec }): boolean {
  return group === 'new' || group === 'session'
}

/**
 * Checks a group spec.
 *
 * @throws {SpecError} ERR_INVALID_SPEC
 */
export function readGroup(group: unknown): { spec: GroupSpec; join: GroupChild | undefined } {
  if (group === undefined) return { spec: 'new', join: undefined }
  if (group === 'new' || group === 'session' || group === 'inherit') return { spec: group, join: undefined }
  if (typeof group !== 'object' || group === null || Object.keys(group).join() !== 'join') {
    throw invalid('group', "must be 'new', 'session', 'inherit' or { join: child }")
  }
  const { join } = group as { join: GroupChild }
  const member = typeof join === 'object' && join !== null ? memberOf(join) : undefined
  if (member === undefined) throw invalid('group.join', 'must be a child that this environment started')
  if (!member.leadsGroup) throw invalid('group.join', 'that child has no group of its own')
  return { spec: { join }, join }
}

/**
 * @internal Gives the native number of the child to join, at the last moment before the start.
 *
 * @throws {LifecycleError} ERR_PROCESS_GONE: it has exited
 */
export function joinNumber(join: GroupChild): number {
  const member = memberOf(join) as GroupMember
  if (!member.running) throw new LifecycleError('ERR_PROCESS_GONE', { pid: member.pid })
  return member.number
}
