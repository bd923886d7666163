/** The public names of the core, and nothing else. */
export { KiB, MiB } from './base/limits.js'
export type { Bounds } from './base/deadline.js'
export {
  AbortError,
  CapabilityError,
  DirectoryError,
  ExactSpawnError,
  LifecycleError,
  PipeError,
  ProtocolError,
  ReuseError,
  SessionError,
  SpawnError,
  SpecError,
  SpecTypeError,
} from './base/errors.js'
export type { ErrorCode, Stage } from './base/errors.js'
export type { DirectoryFailure } from './directory/directory-errors.js'
export { createPrivateDirectory } from './directory/private-directory.js'
export type { PrivateDirectory, PrivateDirectoryOptions } from './directory/private-directory.js'
export type { RemovalBounds } from './directory/root.js'
export { sweepPrivateRoot } from './directory/sweep.js'
export type { SweepReport } from './directory/sweep.js'
export { capture } from './process/capture.js'
export type { Capture, CaptureLimits } from './process/capture.js'
export type { Child, TerminateOptions } from './process/child.js'
export type { Containment } from './process/containment.js'
export type { Limit, LimitName, Limits } from './process/controls.js'
export { pipe } from './process/endpoint.js'
export type { ChildEndpoint, PipeDirection, RequestPipe, ResponsePipe } from './process/endpoint.js'
export type { EnvironmentSpec } from './process/environment.js'
export type { EndedBy, Exit, ExitStatus, Usage } from './process/exit.js'
export type { FdSource, FileMode } from './process/fd-map.js'
export type { GroupSpec } from './process/group.js'
export type { HostReader, HostWriter } from './process/host-pipe.js'
export type { Log, LogSnapshot } from './process/log.js'
export type { Receipt, ReceiptControl, ReceiptFd } from './process/receipt.js'
export { spawn } from './process/spawn.js'
export type { SpawnOptions } from './process/spawn.js'
export type { Lifetime, SpawnSpec } from './process/spawn-spec.js'
export type { SpecString } from './process/strings.js'
