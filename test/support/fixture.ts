/** Paths of what binding.gyp builds for the tests. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(__dirname, '..', '..')

/** The compiled package, for hosts in processes of their own. */
export const dist = join(root, 'dist', 'index.js')

function built(name: string): string {
  const path = join(root, 'build', 'Release', name)
  if (!existsSync(path)) throw new Error(`${path} is missing: npm run build:native`)
  return path
}

/** The program with verbs: fixtures/README.md. */
export const fixtureChild = (): string => built('fixture_child')
/** Runs a program with system calls denied. */
export const denysys = (): string => built('fixture_denysys')
/** The addon that steals exit statuses; for process.dlopen. */
export const reaperAddon = (): string => built('fixture_reaper.addon')
