/** The environment of a worker: fixed values, private places, the record's allowlist. Nothing of the host's [M-58]. */
import { chmod, chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DirectoryError, errnoName, ExactSpawnError } from '../base/errors.js'

/** The same for every worker, whatever the host's locale and clock [M-60]. */
export const FIXED_VALUES: Readonly<Record<string, string>> = Object.freeze({
  LANG: 'C.UTF-8',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
})

/** Variables that lead to places beneath the private directory [M-62]. */
export const PRIVATE_PLACES: Readonly<Record<string, string>> = Object.freeze({
  HOME: 'home',
  TMPDIR: 'tmp',
  XDG_CONFIG_HOME: 'config',
  XDG_CACHE_HOME: 'cache',
  XDG_DATA_HOME: 'data',
  XDG_STATE_HOME: 'state',
  npm_config_cache: 'cache/npm',
  PIP_CACHE_DIR: 'cache/pip',
  UV_CACHE_DIR: 'cache/uv',
  CARGO_HOME: 'cache/cargo',
  GOPATH: 'cache/go',
  GOCACHE: 'cache/go-build',
  R_USER_CACHE_DIR: 'cache/R',
  JULIA_DEPOT_PATH: 'cache/julia',
  PYTHONPYCACHEPREFIX: 'cache/python',
})

/** Names that no record may set. */
export const fixedVariableNames: ReadonlySet<string> = new Set([
  ...Object.keys(FIXED_VALUES),
  ...Object.keys(PRIVATE_PLACES),
])

const OWNER_ONLY = 0o700
// chown(2): -1 leaves an id as it is.
const KEEP_ID = -1

/** Whose the places are; the host's unless told. */
export interface PlaceOwner {
  readonly uid?: number
  readonly gid?: number
}

/**
 * Makes every private place, 0700 under any umask, and gives them and the directory to who will use them.
 *
 * @throws {DirectoryError} ERR_PRIVATE_DIRECTORY_CREATE_FAILED
 */
export async function makePrivatePlaces(directory: string, { uid, gid }: PlaceOwner = {}): Promise<void> {
  const owned = async (path: string) => {
    if (uid !== undefined || gid !== undefined) await chown(path, uid ?? KEEP_ID, gid ?? KEEP_ID)
  }
  let path = directory
  try {
    for (const place of Object.values(PRIVATE_PLACES)) {
      path = join(directory, place)
      await mkdir(path, { mode: OWNER_ONLY })
      // mkdir's mode is masked: under umask 0777 nothing of it would be left.
      await chmod(path, OWNER_ONLY)
      await owned(path)
    }
    path = directory
    await owned(path)
  } catch (error) {
    const { errno = 0, syscall = '' } = error as NodeJS.ErrnoException
    throw new DirectoryError('ERR_PRIVATE_DIRECTORY_CREATE_FAILED', { path, errno, syscall }, { cause: error })
  }
}

/**
 * Makes every private place anew in a directory that was emptied.
 *
 * @throws {DirectoryError} ERR_CLEANUP_FAILED: something came back meanwhile, or there is no room
 */
export async function renewPrivatePlaces(directory: string, owner: PlaceOwner): Promise<void> {
  try {
    await makePrivatePlaces(directory, owner)
  } catch (cause) {
    if (!ExactSpawnError.is(cause, 'ERR_PRIVATE_DIRECTORY_CREATE_FAILED')) throw cause
    const { path, errno } = cause.details
    const failures = [{ path, errno: errnoName(errno) }]
    throw new DirectoryError('ERR_CLEANUP_FAILED', { path: directory, failures }, { cause })
  }
}

/** Gives the fixed variables of a worker whose private directory is this one. */
export function fixedEnvironment(directory: string): Record<string, string> {
  const places = Object.entries(PRIVATE_PLACES).map(([name, place]) => [name, join(directory, place)])
  return { ...FIXED_VALUES, ...(Object.fromEntries(places) as Record<string, string>) }
}
