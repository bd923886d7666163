/** A worker's start, prepared: consumed by one attempt, also one that fails [M-09]. */
import { SpawnError, SpecTypeError } from '../base/errors.js'
import { plainObject } from '../process/plain-object.js'
import type { SpawnSpec } from '../process/spawn-spec.js'
import { invalid } from '../process/strings.js'
import { isVariableName, PROTOCOL_VARIABLES } from './launch-record.js'

/** Limits of the two log streams, in bytes; neither has a default, and either may be 0 [M-16]. */
export interface WorkerLogLimits {
  readonly stdoutBytes: number
  readonly stderrBytes: number
}

/** Numbers of the protocol descriptors in the worker. */
export interface ProtocolFds {
  readonly read: number
  readonly write: number
}

/** Names of the variables that tell the numbers. */
export interface ProtocolVariables {
  readonly read: string
  readonly write: string
}

/** What of a spec is a worker's to say. Standard streams, group and ownership are the transport's. */
export type WorkerSpec = Omit<SpawnSpec, 'fds' | 'group' | 'owner' | 'leftovers' | 'lifetime'> & {
  readonly logs: WorkerLogLimits
  /** Numbers of the protocol descriptors in the worker; 3 and 4 unless named. */
  readonly protocolFds?: ProtocolFds
  /** Variables that tell them; METEWAND_PROTOCOL_READ_FD and METEWAND_PROTOCOL_WRITE_FD unless named. */
  readonly protocolVariables?: ProtocolVariables
  /** More descriptors for the worker, such as secret channels. The transport's own five replace what is said of them. */
  readonly fds?: SpawnSpec['fds']
}

type PreparedSpec = WorkerSpec & Required<Pick<WorkerSpec, 'protocolFds' | 'protocolVariables'>>

export class WorkerCommand {
  #spec: PreparedSpec | undefined

  /**
   * @throws {SpecTypeError} ERR_INVALID_LOG_LIMITS
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC: protocolFds, protocolVariables
   */
  constructor(spec: WorkerSpec) {
    const logs = checkLogLimits(spec.logs)
    const protocolFds = readProtocolFds(spec.protocolFds)
    const protocolVariables = readProtocolVariables(spec.protocolVariables)
    this.#spec = { ...spec, logs, protocolFds, protocolVariables }
  }

  get consumed(): boolean {
    return this.#spec === undefined
  }

  /** @internal Gives the spec to the one attempt. */
  consume(): PreparedSpec {
    const spec = this.#spec
    if (spec === undefined) throw new SpawnError('ERR_COMMAND_CONSUMED', { field: 'command' })
    this.#spec = undefined
    return spec
  }
}

const DEFAULT_FDS: ProtocolFds = Object.freeze({ read: 3, write: 4 })

/** Gives the two numbers: different, and none of the standard streams [M-10]. */
export function readProtocolFds(fds: ProtocolFds = DEFAULT_FDS): ProtocolFds {
  const { read, write } = plainObject(fds, 'protocolFds') as Partial<ProtocolFds>
  if (read !== write && isProtocolFd(read) && isProtocolFd(write)) return Object.freeze({ read, write })
  throw invalid('protocolFds', 'must be two numbers above 2')
}

function readProtocolVariables(variables: ProtocolVariables = PROTOCOL_VARIABLES): ProtocolVariables {
  const { read, write } = plainObject(variables, 'protocolVariables') as Partial<ProtocolVariables>
  if (isVariableName(read) && isVariableName(write) && read !== write) return Object.freeze({ read, write })
  throw invalid('protocolVariables', 'must be two different names of variables')
}

function isProtocolFd(fd: number | undefined): fd is number {
  return Number.isSafeInteger(fd) && (fd as number) > 2
}

export function checkLogLimits(logs: unknown): WorkerLogLimits {
  const { stdoutBytes, stderrBytes } = (logs ?? {}) as WorkerLogLimits
  const limits = Object.freeze({ stdoutBytes, stderrBytes })
  for (const field of ['stdoutBytes', 'stderrBytes'] as const) {
    if (Number.isSafeInteger(limits[field]) && limits[field] >= 0) continue
    const reason = 'is required and must be an integer of 0 or more bytes'
    throw new SpecTypeError('ERR_INVALID_LOG_LIMITS', { field: `logs.${field}`, reason })
  }
  return limits
}
