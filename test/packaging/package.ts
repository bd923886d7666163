/** The package as a user gets it: installed from its tarball by npm, offline, without compiler or scripts. */
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../support/fixture.js'

const run = promisify(execFile)
const platform = `${process.platform}-${process.arch}`

/** The user that a hardened build has: no home, no rights, no name. */
export const nobody = { uid: 65534, gid: 65534 }

interface Manifest {
  version: string
  dependencies: Record<string, string>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** Packs the checkout, with the addon that is built here as the release's, and its dependencies; names the tarballs. */
export async function packAll(folder: string): Promise<Record<string, string>> {
  const stage = join(folder, 'stage')
  mkdirSync(stage)
  for (const name of ['package.json', 'README.md', 'LICENSE', 'docs', 'dist']) {
    cpSync(join(root, name), join(stage, name), { recursive: true })
  }
  const prebuilds = join(stage, 'prebuilds', platform)
  mkdirSync(prebuilds, { recursive: true })
  const addon = join(prebuilds, 'exactspawn.glibc.node')
  await run('strip', ['-o', addon, join(root, 'build', 'Release', 'exactspawn.node')])
  chmodSync(addon, 0o755)
  const sources = Object.keys(manifest.dependencies).map((name) => [name, join(root, 'node_modules', name)] as const)
  const packed = [['exactspawn', stage] as const, ...sources].map(async ([name, source]) => {
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
    const { stdout } = await run('npm', args, { cwd: source })
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    return [name, join(folder, filename)] as const
  })
  return Object.fromEntries(await Promise.all(packed))
}

/** An empty project that depends on the tarballs; `npm` runs there as nobody, with nothing but node and npm on PATH. */
export class Project {
  readonly folder: string
  readonly #environment: Record<string, string>

  constructor(folder: string, tarballs: Record<string, string>) {
    this.folder = folder
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    symlinkSync(process.execPath, join(bin, 'node'))
    // npm beside this node, or wherever PATH has it.
    const places = [dirname(process.execPath), ...(process.env['PATH'] ?? '').split(':')]
    const npm = places.map((place) => join(place, 'npm')).find((path) => existsSync(path))
    if (npm === undefined) throw new Error('no npm on PATH')
    symlinkSync(npm, join(bin, 'npm'))
    const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' }
    this.#environment = { PATH: bin, HOME: folder, npm_config_offline: 'true', ...quiet }
    const dependencies = Object.fromEntries(Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  }

  get installed(): string {
    return join(this.folder, 'node_modules', 'exactspawn')
  }

  /** The binaries of the installed package, as paths within it. */
  binaries(): string[] {
    const folder = join(this.installed, 'prebuilds')
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.node')).sort()
  }

  async npm(...args: string[]): Promise<string> {
    const { stdout, stderr } = await this.#run('npm', args)
    return stdout + stderr
  }

  /** Runs a script in the project and gives the JSON that it prints. */
  async says(script: string, environment: Record<string, string> = {}, ...args: string[]): Promise<unknown> {
    const { stdout } = await this.#run('node', [...args, '-e', script], environment)
    return JSON.parse(stdout)
  }

  #run(program: string, args: string[], environment: Record<string, string> = {}) {
    const env = { ...this.#environment, ...environment }
    return run(join(this.folder, 'bin', program), args, { cwd: this.folder, env, ...nobody })
  }
}
