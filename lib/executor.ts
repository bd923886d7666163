/** exactspawn/executor: preflight, spawn, terminate. Names only. */
export { LocalProcessExecutor } from './executor/local-process-executor.js'
export type { LocalProcessExecutorOptions, LocalSpawnOptions } from './executor/local-process-executor.js'
export type {
  Capabilities,
  CapabilityName,
  PreflightLine,
  PreflightReport,
  Requirements,
  Support,
} from './executor/preflight.js'
export type { TerminationPlan, WorkerExecutor } from './executor/worker-executor.js'
