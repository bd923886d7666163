/**
 * Loads the native addon, once an environment: the only importer of the .node file. The platform is judged as soon as
 * this is imported, the file loaded when it is first needed.
 */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CapabilityError, toError } from '../base/errors.js'
import type { NativeAddon } from './addon-types.js'
import { detectLibc } from './libc.js'

const NODE_API = 8
const root = join(__dirname, '..', '..')
const host = supportedHost()

let loaded: NativeAddon | undefined

/**
 * Gives the addon, loading it at the first call.
 *
 * @throws {CapabilityError} ERR_ADDON_LOAD_FAILED with every file that was tried
 */
export function addon(): NativeAddon {
  return (loaded ??= load())
}

function supportedHost() {
  const { platform, arch } = process
  const napi = process.versions['napi'] ?? 'none'
  const facts = { platform, arch, libc: detectLibc() || 'no known libc', napi }
  const built = ['linux', 'darwin'].includes(platform) && ['x64', 'arm64'].includes(arch)
  if (!built || !(Number(napi) >= NODE_API)) throw new CapabilityError('ERR_UNSUPPORTED_PLATFORM', facts)
  return facts
}

function load(): NativeAddon {
  try {
    // Not by require, which gives the same instance to every copy of this module in an environment: the events of an
    // instance go to one copy, and the others would wait for ever. A test runner with a module registry for each file
    // makes such copies.
    const module = { exports: {} as NativeAddon }
    process.dlopen(module, addonFile())
    return module.exports
  } catch (error) {
    const details = { ...host, tried: triedFiles(toError(error)) }
    throw new CapabilityError('ERR_ADDON_LOAD_FAILED', details, { cause: error })
  }
}

/**
 * Names the file that `addon` loads. Throws plain errors: it is for reports on a machine where loading may fail.
 *
 * node-gyp-build takes its guess of the libc from the environment variable LIBC; without it, it knows musl only by a
 * file of one distribution. The variable is ours for this one call.
 */
export function addonFile(): string {
  const before = process.env['LIBC']
  if (host.platform === 'linux') process.env['LIBC'] = host.libc
  try {
    return (require('node-gyp-build') as { resolve(root: string): string }).resolve(root)
  } finally {
    if (before === undefined) delete process.env['LIBC']
    else process.env['LIBC'] = before
  }
}

// What node-gyp-build looked for and does not tell: a build in the checkout, then the file of a release.
function triedFiles({ message }: Error): { file: string; message: string }[] {
  const folder = process.env['EXACTSPAWN_PREBUILD'] ?? root
  const libc = host.platform === 'linux' ? `.${host.libc}` : ''
  const places = [
    join(folder, 'build', 'Release', 'exactspawn.node'),
    join(folder, 'prebuilds', `${host.platform}-${host.arch}`, `exactspawn${libc}.node`),
  ]
  const there = places.find((file) => existsSync(file))
  if (there !== undefined) return [{ file: there, message }]
  return places.map((file) => ({ file, message: `no such file${others(dirname(file))}` }))
}

// A folder that was installed on another system has that one's file.
function others(folder: string): string {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.node')) : []
  return files.length === 0 ? '' : `, only ${files.join(' and ')}`
}
