/** exactspawn/reuse: workers that serve more than one slot, and the evidence of what they did. Names only. */
export { AttemptJournal } from './reuse/attempt-journal.js'
export type { Attempt, PlannedWarmUp, WarmUpExecution, WarmUps, WarmUpVerdict } from './reuse/attempt.js'
export { EVIDENCE_VERSION } from './reuse/evidence.js'
export type {
  AttemptEvidence,
  LogEvidence,
  Replacement,
  ReplacementReason,
  WarmUpEvidence,
  WorkerReuseContext,
} from './reuse/evidence.js'
export type { CachePolicy, ExecutionPolicy, Timing } from './reuse/execution-policy.js'
export { readAttemptJournal } from './reuse/journal-reading.js'
export type { ForeignLine, JournalReading, TornLine } from './reuse/journal-reading.js'
export type { JsonObject, JsonValue } from './reuse/json.js'
export type { LeftBehind } from './reuse/owned-worker.js'
export type { OnOwnerEvent, OwnerEvent, OwnerEventType } from './reuse/owner-events.js'
export type { CleanupStep } from './reuse/slot-cleanup.js'
export type { Publish } from './reuse/publication.js'
export type { SlotSession } from './reuse/slot-session.js'
export { workerKey } from './reuse/worker-key.js'
export type { WorkerKey, WorkerPart, WorkerParts } from './reuse/worker-key.js'
export { WorkerLanes } from './reuse/worker-lanes.js'
export type { WorkerLanesOptions } from './reuse/worker-lanes.js'
export { WorkerOwner } from './reuse/worker-owner.js'
export type { AttemptOutcome, RetainedWorker, WorkerOwnerOptions } from './reuse/worker-owner.js'
export type { OwnerExecutor } from './reuse/worker-start.js'
