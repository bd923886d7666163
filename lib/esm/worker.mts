/** The names of lib/worker.ts for import: the same objects, no state of its own. */
export type * from '../worker.js'
export {
  EXECUTION_SEMANTICS_VERSION,
  PosixWorkerProcess,
  WIRE_PROTOCOL_VERSION,
  WorkerCommand,
  WorkerSession,
  finalLogSnapshot,
  launchIdentity,
  launchTrustedLocalWorker,
  readLaunchRecord,
} from '../worker.js'
