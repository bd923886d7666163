/** What any backend for workers does: says what it can, starts, ends. Knows nothing of protocols or environments. */
import type { Bounds } from '../base/deadline.js'
import type { ExitStatus } from '../process/exit.js'
import type { LaunchRecordInput } from '../worker/launch-record.js'
import type { PreflightReport, Requirements } from './preflight.js'

/** The process type is the backend's own [M-70]. */
export interface WorkerExecutor<WorkerProcess, SpawnOptions extends { requirements?: Requirements }> {
  /** Compares requirements with capabilities. For planning: has no side effect. */
  preflight(requirements?: Requirements): Promise<PreflightReport>
  /** Repeats the same check before anything is allocated, then starts. */
  spawn(record: LaunchRecordInput, options?: SpawnOptions): Promise<WorkerProcess>
  /** Ends a worker within bounds. After an error the handle stays good and the call can be repeated. */
  terminate(worker: WorkerProcess, plan: TerminationPlan): Promise<ExitStatus>
}

/** SIGINT to the group → grace → SIGKILL to the group → the leader's exit, or an error. */
export interface TerminationPlan extends Bounds {
  /** Required: how long a worker may take to end politely is its user's to say. */
  readonly graceMs: number
  /** One second unless named. */
  readonly killDeadlineMs?: number
}
