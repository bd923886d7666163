/** Loads the native addon, once an environment: the only importer of the .node file. */
import { join } from 'node:path'
import { CapabilityError } from '../base/errors.js'
import type { NativeAddon } from './addon-types.js'
import { detectLibc } from './libc.js'

const NODE_API = 8
const root = join(__dirname, '..', '..')

let loaded: NativeAddon | undefined

/**
 * Gives the addon, loading it at the first call.
 *
 * @throws {CapabilityError} ERR_UNSUPPORTED_PLATFORM, ERR_ADDON_LOAD_FAILED with every file that was tried
 */
export function addon(): NativeAddon {
  return (loaded ??= load())
}

function load(): NativeAddon {
  const libc = detectLibc()
  const host = {
    platform: process.platform,
    arch: process.arch,
    libc: libc || 'no known libc',
    napi: process.versions['napi'] ?? 'none',
  }
  const supported = ['linux', 'darwin'].includes(process.platform) && ['x64', 'arm64'].includes(process.arch)
  if (!supported || !(Number(host.napi) >= NODE_API)) throw new CapabilityError('ERR_UNSUPPORTED_PLATFORM', host)
  try {
    return withLibc(libc, (build) => build(root))
  } catch (error) {
    const tried = [{ file: join(root, 'prebuilds', `${host.platform}-${host.arch}`), message: String(error) }]
    throw new CapabilityError('ERR_ADDON_LOAD_FAILED', { ...host, tried }, { cause: error })
  }
}

/** Names the file that `addon` loads. Throws plain errors: it is for reports on a machine where loading may fail. */
export function addonFile(): string {
  return withLibc(detectLibc(), (build) => build.resolve(root))
}

interface NodeGypBuild {
  (root: string): NativeAddon
  resolve(root: string): string
}

// node-gyp-build takes its guess of the libc from the environment variable LIBC; without it, it knows musl only by a
// file of one distribution. The variable is ours for this one call.
function withLibc<T>(libc: string, use: (build: NodeGypBuild) => T): T {
  const before = process.env['LIBC']
  if (libc !== '') process.env['LIBC'] = libc
  try {
    return use(require('node-gyp-build') as NodeGypBuild)
  } finally {
    if (before === undefined) delete process.env['LIBC']
    else process.env['LIBC'] = before
  }
}
