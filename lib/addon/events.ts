/**
 * The one way back from the native threads: batches of events, told to whoever listens for that number; and the one
 * count that says whether they keep the event loop alive.
 */
import { setImmediate } from 'node:timers'
import { addon } from './addon.js'
import type { NativeAddon } from './addon-types.js'
import { EVENT, EVENT_BATCH, EVENT_STRIDE } from './addon-types.js'
import { loopMayBeAsked } from './own-loop.js'

/** One event's fields, borrowed until the listener returns. */
export type EventFields = Float64Array

/** Takes one event; must not throw. */
export type EventListener = (type: number, fields: EventFields) => void

/** Takes the INTEREST bits for which a pipe is ready; must not throw. */
export type PipeListener = (interest: number) => void

const children = new Map<number, EventListener>()
const pipes = new Map<number, PipeListener>()
const tasks = new Map<number, (result: unknown) => void>()
let attached: NativeAddon | undefined
let holders = 0
let batches = 0
// Native code writes each batch here: an array a batch and a view an event were a tenth of what a start allocates.
const batch = new Float64Array(EVENT_BATCH * EVENT_STRIDE)
const fieldsOf = Array.from({ length: EVENT_BATCH }, (_, index) => {
  return batch.subarray(index * EVENT_STRIDE + 2, (index + 1) * EVENT_STRIDE)
})

/** Gives the addon with its events attached to this environment. */
export function connectedAddon(): NativeAddon {
  if (attached === undefined) {
    const native = addon()
    native.attach(batch, dispatch, loopMayBeAsked() ? tellPipe : null)
    attached = native
  }
  return attached
}

export function onChild(child: number, listener: EventListener): void {
  children.set(child, listener)
}

export function offChild(child: number): void {
  children.delete(child)
}

export function onPipe(pipe: number, listener: PipeListener): void {
  pipes.set(pipe, listener)
}

export function offPipe(pipe: number): void {
  pipes.delete(pipe)
}

/** Runs native work that reports with a taskDone event; keeps the loop alive until then. */
export function runTask<T>(submit: (native: NativeAddon) => number): Promise<T> {
  const native = connectedAddon()
  const release = holdLoop()
  return new Promise<T>((resolve) => {
    tasks.set(submit(native), (result) => {
      release()
      resolve(result as T)
    })
  })
}

/** Keeps the event loop alive until the returned function is called; calling it again does nothing. */
export function holdLoop(): () => void {
  retainLoop()
  let held = true
  return () => {
    if (!held) return
    held = false
    releaseLoop()
  }
}

/** As holdLoop, for who remembers that it holds: each is followed by one release. */
export function retainLoop(): void {
  if (holders++ === 0) connectedAddon().setReferenced(true)
}

export function releaseLoop(): void {
  if (--holders === 0) connectedAddon().setReferenced(false)
}

/**
 * Calls back in the next turn of the event loop. Not the global, which a vm context lacks; and taken at once: tests of users
 * put clocks of their own in its place, and the next batch would never be asked for.
 */
export const nextTurn = setImmediate
const turned = () => attached?.turned()

/** How many batches have been told: with each one the loop has turned. */
export function eventBatches(): number {
  return batches
}

// Native code has told these events and will not again: one listener's failure must not cost the others theirs.
function dispatch(count: number): void {
  batches++
  nextTurn(turned)
  const failures: unknown[] = []
  for (let index = 0; index < count; index++) {
    const type = batch[index * EVENT_STRIDE] as number
    const id = batch[index * EVENT_STRIDE + 1] as number
    const fields = fieldsOf[index] as EventFields
    try {
      if (type === EVENT.taskDone) finishTask(id)
      else if (type === EVENT.pipeReady) tellPipe(id, fields[0] as number)
      else children.get(id)?.(type, fields)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

function tellPipe(pipe: number, interest: number): void {
  pipes.get(pipe)?.(interest)
}

function finishTask(id: number): void {
  const finish = tasks.get(id)
  tasks.delete(id)
  finish?.(connectedAddon().taskResult(id))
}
