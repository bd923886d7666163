/** What an owner tells while it works. Terminal is the last event of an attempt: its evidence is durable by then. */
import type { Replacement } from './evidence.js'
import type { CleanupStep } from './slot-cleanup.js'

/** What happens, by type. */
export interface OwnerEventFacts {
  /** The attempt begins. */
  begun: { readonly measured: true }
  /** The worker that was there is ended. */
  replaced: Replacement
  launching: object
  launched: { readonly pid: number; readonly instance: string }
  /** The worker that was there is used again. */
  kept: { readonly pid: number; readonly instance: string }
  cleaning: { readonly step: CleanupStep }
  'warming-up': { readonly index: number }
  measuring: object
  /** Terminal. */
  completed: object
  /** Terminal. */
  failed: { readonly error: Error }
}

export type OwnerEventType = keyof OwnerEventFacts

export type OwnerEvent = {
  [Type in OwnerEventType]: {
    readonly type: Type
    readonly attempt: string
    readonly specification: string
    /** Absent for an owner that is no lane's. */
    readonly lane?: number
  } & OwnerEventFacts[Type]
}[OwnerEventType]

export type OnOwnerEvent = (event: OwnerEvent) => void
