/** The names of lib/index.ts for import: the same objects, no state of its own. */
export type * from '../index.js'
// Not `export *`: of a CommonJS module that takes along what compilers and Node put beside the names.
export {
  AbortError,
  CapabilityError,
  DirectoryError,
  ExactSpawnError,
  KiB,
  LifecycleError,
  MiB,
  PipeError,
  ProtocolError,
  ReuseError,
  SessionError,
  SpawnError,
  SpecError,
  SpecTypeError,
  capture,
  createPrivateDirectory,
  pipe,
  spawn,
  sweepPrivateRoot,
} from '../index.js'
