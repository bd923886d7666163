/**
 * Launches a worker from a resolved record, in a private directory, with nothing of the host's environment. Protects
 * reproducibility from what happens to be around; it is no sandbox [M-67].
 */
import { checkSignal } from '../base/deadline.js'
import { DisposeStack } from '../base/dispose.js'
import { suppress, toError } from '../base/errors.js'
import { createPrivateDirectory } from '../directory/private-directory.js'
import { readRoot } from '../directory/root.js'
import type { FdSource } from '../process/fd-map.js'
import { checkOptions } from '../process/options.js'
import type { SpawnSpec } from '../process/spawn-spec.js'
import { checkSpec } from '../process/spawn-spec.js'
import { readChannelSecrets } from './channel-secrets.js'
import type { LaunchRecordInput, SecretChannel } from './launch-record.js'
import { readLaunchRecord } from './launch-record.js'
import { PosixWorkerProcess } from './posix-worker-process.js'
import type { ProtocolFds, WorkerLogLimits } from './worker-command.js'
import { checkLogLimits, readProtocolFds, WorkerCommand } from './worker-command.js'
import { fixedEnvironment, makePrivatePlaces } from './worker-environment.js'

/** Resource controls, for executors: the launcher itself takes none. */
export type WorkerControls = Pick<
  SpawnSpec,
  'limits' | 'nice' | 'affinity' | 'uid' | 'gid' | 'groups' | 'noNewPrivs' | 'cgroup' | 'guard'
>

type LaunchPlace = Pick<LaunchOptions, 'privateRoot' | 'logs'>

export interface LaunchOptions {
  /** An existing directory of the caller's; it stays, and must stay, for the worker's life. */
  readonly privateRoot: string
  readonly logs: WorkerLogLimits
  /** Values for the channels that the record declares, by their names. Never part of the record. */
  readonly secrets?: Readonly<Record<string, string | Uint8Array>>
  readonly protocolFds?: ProtocolFds
  readonly signal?: AbortSignal
}

/**
 * Starts a worker: exact program and arguments, umask 0077, the fixed environment, the record's allowlisted variables,
 * the declared secrets. Its working directory is made for it beneath the private root and goes when it is waited for.
 *
 * @throws {SpecError} ERR_INVALID_LAUNCH_RECORD, ERR_INVALID_ENVIRONMENT_VARIABLE, ERR_UNDECLARED_SECRET_CHANNEL,
 *   ERR_INVALID_SPEC, before a directory exists
 * @throws {SpecTypeError} ERR_INVALID_LOG_LIMITS
 * @throws {CapabilityError} ERR_UNSUPPORTED_CONTROL
 * @throws {DirectoryError} ERR_PRIVATE_ROOT_UNAVAILABLE, ERR_PRIVATE_DIRECTORY_CREATE_FAILED
 * @throws as spawn; the directory is gone again
 */
export async function launchTrustedLocalWorker(
  record: LaunchRecordInput,
  options: LaunchOptions,
): Promise<PosixWorkerProcess> {
  return await planLaunch(record, options, {}).start()
}

/** @internal Checks what all launches of one owner share. The root is absolute then, whatever chdir comes later. */
export function readLaunchPlace({ privateRoot, logs }: LaunchPlace): LaunchPlace {
  return { privateRoot: readRoot(privateRoot, 'privateRoot'), logs: checkLogLimits(logs) }
}

/** @internal Checks all of a launch that is no place's, as its start would; nothing happens. Throws as planLaunch. */
export function checkLaunch(
  record: LaunchRecordInput,
  secrets: NonNullable<LaunchOptions['secrets']>,
  controls: WorkerControls,
): void {
  planLaunch(record, { privateRoot: '/', logs: { stdoutBytes: 0, stderrBytes: 0 }, secrets }, controls)
}

/** A launch that has been checked, and depends on nothing of the caller's any more. */
export interface LaunchPlan {
  start: () => Promise<PosixWorkerProcess>
}

/** @internal Checks a launch whole, with the controls that an executor is asked for. Throws as launchTrustedLocalWorker. */
export function planLaunch(given: LaunchRecordInput, options: LaunchOptions, controls: WorkerControls): LaunchPlan {
  checkOptions(options, ['privateRoot', 'logs', 'secrets', 'protocolFds', 'signal'])
  const record = readLaunchRecord(given)
  const { privateRoot, logs } = readLaunchPlace(options)
  const protocolFds = readProtocolFds(options.protocolFds)
  const secrets = readChannelSecrets(record.secretChannels, options.secrets)
  const channels = deliverSecrets(record.secretChannels, secrets, protocolFds)
  const specIn = (directory: string, asked: WorkerControls) => ({
    ...asked,
    program: record.program,
    args: record.args,
    env: { ...fixedEnvironment(directory), ...record.environment, ...channels.variables },
    cwd: directory,
    umask: 0o077,
    secrets: [...secrets.values()],
  })
  // All that a start could refuse is refused before there is a directory.
  const ends = { [protocolFds.read]: 'null', [protocolFds.write]: 'null' } as const
  checkSpec({ ...specIn('/', controls), fds: { ...channels.fds, ...ends } })
  const { signal } = options
  checkSignal(signal)
  // Checked as plain data; a later change of the caller's is none of this launch.
  const asked = structuredClone(controls)
  const start = async () => {
    const undo = new DisposeStack()
    try {
      const directory = await createPrivateDirectory(privateRoot, { prefix: 'worker' })
      undo.defer(() => directory.remove())
      await makePrivatePlaces(directory.path, asked)
      const command = new WorkerCommand({ ...specIn(directory.path, asked), logs, protocolFds, fds: channels.fds })
      return await PosixWorkerProcess.spawn(command, { ...(signal === undefined ? {} : { signal }), directory })
    } catch (thrown) {
      const error = toError(thrown)
      await undo.dispose().catch((later: unknown) => suppress(error, [toError(later)]))
      throw error
    }
  }
  return { start }
}

// A value by descriptor gets the next number that the protocol does not use; the variable says which.
function deliverSecrets(
  channels: readonly SecretChannel[],
  secrets: ReadonlyMap<string, Uint8Array>,
  taken: ProtocolFds,
): { variables: Record<string, string | Uint8Array>; fds: Record<number, FdSource> } {
  // A Map first: assigning to a name such as __proto__ would set no variable.
  const variables = new Map<string, string | Uint8Array>()
  const fds: Record<number, FdSource> = {}
  let next = 3
  for (const { name, by, variable } of channels) {
    const value = secrets.get(name) as Uint8Array
    if (by === 'variable') {
      variables.set(variable, value)
      continue
    }
    while (next === taken.read || next === taken.write) next++
    fds[next] = { bytes: value }
    variables.set(variable, String(next++))
  }
  return { variables: Object.fromEntries(variables), fds }
}
