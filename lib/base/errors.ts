/**
 * The errors of this package: one root, families below it, one table of codes (error-table.ts).
 *
 * `instanceof` a family answers the coarse question and narrows `details` by `code`; `ExactSpawnError.is`
 * answers the exact one, also for an error of another copy of the package or one revived from JSON.
 * Nothing here knows a secret: the throw site redacts what it puts in (io/redactor.ts).
 */
import type {
  AbortDetails,
  CapabilityDetails,
  Details,
  DirectoryDetails,
  ErrorCode,
  LifecycleDetails,
  PipeDetails,
  ProtocolDetails,
  ReuseDetails,
  SessionDetails,
  SpawnDetails,
  SpecDetails,
  SpecTypeDetails,
} from './error-table.js'
import { brand, errorJson, hasSafely, isError, readSafely } from './error-json.js'
import type { ErrorJson } from './error-json.js'
import { knownCode, messageOf } from './error-table.js'
import { systemError } from './system-error.js'

export type { Details, ErrorCode, ExitFacts, HandshakeCheck, Stage } from './error-table.js'
export { STAGES } from './error-table.js'
export { errorJson } from './error-json.js'
export type { ErrorJson } from './error-json.js'
export { errnoName, systemError } from './system-error.js'

/** What every error of ours has, a revived one too. */
export type ErrorFacts<C extends ErrorCode = ErrorCode> = C extends ErrorCode
  ? Readonly<{ name: string; message: string; code: C; details: Readonly<Details[C]> }>
  : never

interface CodedError<C extends ErrorCode> extends Error {
  readonly code: C
  readonly details: Readonly<Details[C]>
  /** What failed later, while this one was being handled; never a reason to hide this one. */
  readonly suppressed: readonly Error[]
  toJSON(): ErrorJson
}

/** An error of the codes C. Its details can also be read off the error itself, as `errno` is in Node. */
export type ErrorOf<C extends ErrorCode> = C extends ErrorCode ? CodedError<C> & Readonly<Details[C]> : never

/** Makes errors of the codes C; its prototype's type is what lets `instanceof` narrow. */
export interface ErrorClass<C extends ErrorCode> {
  readonly prototype: ErrorOf<C>
  /**
   * Words the message from the details and keeps them, frozen.
   *
   * Without options, details with `errno` and `syscall` bring their own cause: the Node-style system error.
   */
  new <K extends C>(code: K, details: Details[K], options?: ErrorOptions): ErrorOf<K>
}

interface RootClass extends ErrorClass<ErrorCode> {
  /** Tells whether a value is an error of ours, and of this code if one is given. */
  is<C extends ErrorCode>(value: unknown, code?: C): value is ErrorFacts<C>
}

/** The root: every error of ours but a SpecTypeError is an instance. */
export const ExactSpawnError = Object.assign(coded('ExactSpawnError', Error), { is }) as unknown as RootClass

/** A pending operation ended because its signal aborted; `cause` is `signal.reason`, the same object. */
export const AbortError = family<keyof AbortDetails>('AbortError')
/** No child was born; the program never ran. */
export const SpawnError = family<keyof SpawnDetails>('SpawnError')
/** A value in data that comes from elsewhere cannot be what was meant. */
export const SpecError = family<keyof SpecDetails>('SpecError')
/** A private directory could not be made, used or removed. */
export const DirectoryError = family<keyof DirectoryDetails>('DirectoryError')
/** A wait, a signal or an end did not go as asked. */
export const LifecycleError = family<keyof LifecycleDetails>('LifecycleError')
/** This kernel, runtime or build does not offer what was asked. */
export const CapabilityError = family<keyof CapabilityDetails>('CapabilityError')
/** The host's end of one pipe could not do what was asked. */
export const PipeError = family<keyof PipeDetails>('PipeError')
/** Bytes or messages are not what the wire protocol says; the stream cannot be trusted from there on. */
export const ProtocolError = family<keyof ProtocolDetails>('ProtocolError')
/** A session with a worker cannot do what was asked. */
export const SessionError = family<keyof SessionDetails>('SessionError')
/** A worker cannot be used, or used again, as an attempt asks. */
export const ReuseError = family<keyof ReuseDetails>('ReuseError')

/** A real TypeError that carries a code: some misuse must be caught as a TypeError and told apart as well. */
export const SpecTypeError = coded('TypeError', TypeError) as unknown as ErrorClass<
  keyof SpecTypeDetails | 'ERR_INVALID_SPEC'
>

export type ExactSpawnError = ErrorOf<ErrorCode>
export type AbortError = ErrorOf<keyof AbortDetails>
export type SpawnError = ErrorOf<keyof SpawnDetails>
export type SpecError = ErrorOf<keyof SpecDetails>
export type DirectoryError = ErrorOf<keyof DirectoryDetails>
export type LifecycleError = ErrorOf<keyof LifecycleDetails>
export type CapabilityError = ErrorOf<keyof CapabilityDetails>
export type PipeError = ErrorOf<keyof PipeDetails>
export type ProtocolError = ErrorOf<keyof ProtocolDetails>
export type SessionError = ErrorOf<keyof SessionDetails>
export type ReuseError = ErrorOf<keyof ReuseDetails>
export type SpecTypeError = ErrorOf<keyof SpecTypeDetails | 'ERR_INVALID_SPEC'>

/**
 * Attaches later failures to the first one, which stays the one to throw.
 *
 * Any error can be first.
 *
 * @returns false when it takes none: it is frozen, and keeps what it has
 */
export function suppress(first: Error, later: readonly Error[]): boolean {
  const others = later.filter((error) => error !== first)
  if (others.length === 0) return true
  // JavaScript's own SuppressedError has a single value there.
  const earlier = [readSafely(first, 'suppressed') ?? []].flat()
  const value = [...earlier, ...others]
  try {
    return Reflect.defineProperty(first, 'suppressed', { value, enumerable: true, configurable: true })
  } catch {
    return false
  }
}

/** Gives what was thrown as an Error: JavaScript lets anything be thrown. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error('something other than an error was thrown', { cause: thrown })
}

function family<C extends ErrorCode>(name: string): ErrorClass<C> {
  const Root = ExactSpawnError as unknown as new (...args: unknown[]) => Error
  return named(name, class extends Root {}) as unknown as ErrorClass<C>
}

function coded(name: string, Parent: ErrorConstructor) {
  const Coded = class extends Parent {
    constructor(code: ErrorCode, details: Details[ErrorCode], options?: ErrorOptions) {
      super(messageOf(code, details), options ?? causeIn(details))
      Object.assign(this, { code, details: frozen(details) })
      // Not enumerable: printed once, with the details.
      for (const [key, value] of Object.entries(details)) Object.defineProperty(this, key, { value })
    }

    toJSON(): ErrorJson {
      return errorJson(this)
    }
  }
  hide(Coded.prototype, brand, true)
  hide(Coded.prototype, 'suppressed', Object.freeze([]))
  return named(name, Coded)
}

// On the prototype and hidden: an own name would be printed with every error, and copied by spreads.
function named<T extends { prototype: object }>(name: string, constructor: T): T {
  hide(constructor, 'name', name)
  hide(constructor.prototype, 'name', name)
  return constructor
}

function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, configurable: true, writable: true })
}

function is(value: unknown, code?: ErrorCode): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (!hasSafely(value, brand) && !revived(value)) return false
  return code === undefined || readSafely(value, 'code') === code
}

function revived(value: object): boolean {
  if (isError(value)) return false
  const [code, message, details] = ['code', 'message', 'details'].map((key) => readSafely(value, key))
  if (typeof code !== 'string' || typeof message !== 'string') return false
  return typeof details === 'object' && details !== null && knownCode(code)
}

function causeIn(details: Details[ErrorCode]): ErrorOptions | undefined {
  const { errno, syscall, path } = details as { errno?: number; syscall?: string; path?: string }
  if (errno === undefined || syscall === undefined) return undefined
  return { cause: systemError(errno, syscall, path) }
}

// An exit record is frozen already and stays the same object as in every wait.
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  const copy = Array.isArray(value)
    ? value.map(frozen)
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozen(item)]))
  return Object.freeze(copy) as T
}
