/** Workers as processes of this machine, in private directories and groups of their own. */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { KILL_DEADLINE_MS } from '../base/limits.js'
import type { ExitStatus } from '../process/exit.js'
import { checkOptions } from '../process/options.js'
import { readCgroupParent } from '../process/spawn-spec.js'
import { invalid } from '../process/strings.js'
import type { LaunchRecordInput } from '../worker/launch-record.js'
import type { PosixWorkerProcess } from '../worker/posix-worker-process.js'
import type { LaunchOptions } from '../worker/trusted-local.js'
import { planLaunch, readLaunchPlace } from '../worker/trusted-local.js'
import type { LocalControls } from './local-controls.js'
import { checkControlNames } from './local-controls.js'
import type { Capabilities, PreflightReport, Reasons, Requirements } from './preflight.js'
import { compare, requireSatisfied } from './preflight.js'
import type { TerminationPlan, WorkerExecutor } from './worker-executor.js'

export interface LocalProcessExecutorOptions {
  readonly privateRoot: LaunchOptions['privateRoot']
  readonly logs: LaunchOptions['logs']
  /** A cgroup v2 directory that this executor may own: one single-use leaf in it for each worker. */
  readonly cgroup?: { readonly parent: string }
}

export interface LocalSpawnOptions extends Pick<LaunchOptions, 'secrets' | 'protocolFds' | 'signal'> {
  readonly requirements?: Requirements
  readonly controls?: LocalControls
}

// statfs(2)
const CGROUP2_SUPER_MAGIC = 0x63677270

const REASONS: Omit<Reasons, 'cgroupContainment'> = {
  privateWorkingDirectories: 'made beneath the private root, 0700, and removed',
  processGroups: 'each worker leads its own',
  completeProcessTreeContainment:
    'a POSIX descendant can leave its group by making a session, and a worker of the same user can leave a cgroup',
  filesystemIsolation: 'a private directory isolates working files and restricts no access to others',
}

export class LocalProcessExecutor implements WorkerExecutor<PosixWorkerProcess, LocalSpawnOptions> {
  readonly #options: LocalProcessExecutorOptions

  /**
   * Does no I/O.
   *
   * @throws {SpecError | SpecTypeError} ERR_INVALID_SPEC; ERR_INVALID_LOG_LIMITS
   */
  constructor(options: LocalProcessExecutorOptions) {
    checkOptions(options, ['privateRoot', 'logs', 'cgroup'])
    const { cgroup } = options
    this.#options = Object.freeze({
      ...readLaunchPlace(options),
      ...(cgroup === undefined ? {} : { cgroup: { parent: readCgroupParent(cgroup) } }),
    })
  }

  async preflight(requirements: Requirements = {}): Promise<PreflightReport> {
    const cgroup = await this.#cgroupSupport()
    const capabilities: Capabilities = Object.freeze({
      privateWorkingDirectories: 'supported',
      processGroups: 'supported',
      cgroupContainment: cgroup.status,
      completeProcessTreeContainment: 'unsupported',
      filesystemIsolation: 'unsupported',
    })
    return compare(requirements, capabilities, { ...REASONS, cgroupContainment: cgroup.reason })
  }

  /**
   * Starts a worker, usable by `WorkerSession.connect`.
   *
   * @throws {CapabilityError} ERR_UNSUPPORTED_COMPLETE_PROCESS_TREE, ERR_PREFLIGHT_FAILED, ERR_UNSUPPORTED_CONTROL,
   *   before anything is allocated
   * @throws as launchTrustedLocalWorker
   */
  async spawn(record: LaunchRecordInput, options: LocalSpawnOptions = {}): Promise<PosixWorkerProcess> {
    checkOptions(options, ['requirements', 'controls', 'secrets', 'protocolFds', 'signal'])
    const { privateRoot, logs, cgroup } = this.#options
    const { requirements, secrets, protocolFds, signal, controls } = options
    const launch: LaunchOptions = {
      privateRoot,
      logs,
      ...(secrets === undefined ? {} : { secrets }),
      ...(protocolFds === undefined ? {} : { protocolFds }),
      ...(signal === undefined ? {} : { signal }),
    }
    const asked = { ...checkControlNames(controls === undefined ? {} : controls), ...(cgroup === undefined ? {} : { cgroup }) }
    // Before the first await: what the caller changes after the call is none of this start.
    const plan = planLaunch(record, launch, asked)
    requireSatisfied(await this.preflight(requirements))
    return await plan.start()
  }

  /**
   * Sends SIGINT to the group, waits the grace period, sends SIGKILL to the group also when the leader has gone, and
   * waits one more second for the leader. Then `worker.wait()` collects the logs and releases the private directory.
   *
   * @throws {LifecycleError} ERR_TERMINATION_DEADLINE; the worker stays the caller's, and the call can be repeated
   */
  async terminate(worker: PosixWorkerProcess, plan: TerminationPlan): Promise<ExitStatus> {
    checkOptions(plan, ['graceMs', 'killDeadlineMs', 'signal', 'timeoutMs'])
    if (plan.graceMs === undefined) throw invalid('graceMs', 'is required')
    return await worker.terminate({ killDeadlineMs: KILL_DEADLINE_MS, ...plan, firstSignal: 'SIGINT' })
  }

  async #cgroupSupport(): Promise<{ status: 'supported' | 'unsupported'; reason: string }> {
    const parent = this.#options.cgroup?.parent
    if (parent === undefined) return { status: 'unsupported', reason: 'no cgroup was given to this executor' }
    try {
      // Files of these names can be anywhere; to have effect they must be the kernel's.
      if ((await statfs(parent)).type !== CGROUP2_SUPER_MAGIC) throw new Error('it is on no cgroup v2 file system')
      await access(join(parent, 'cgroup.procs'), constants.W_OK)
      await access(parent, constants.W_OK | constants.X_OK)
      return { status: 'supported', reason: 'descendants die with their leaf, also after setsid and a double fork' }
    } catch (error) {
      return { status: 'unsupported', reason: `${parent} cannot be used: ${(error as Error).message}` }
    }
  }
}
