/** The names of lib/reuse.ts for import: the same objects, no state of its own. */
export type * from '../reuse.js'
export {
  AttemptJournal,
  EVIDENCE_VERSION,
  WorkerLanes,
  WorkerOwner,
  readAttemptJournal,
  workerKey,
} from '../reuse.js'
