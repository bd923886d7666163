// Runs the same build under other runtimes: the smoke (test/runtimes/smoke.cjs) under each, and the whole suite under the
// oldest Node that is supported and the newest. They are fetched once, as npm packages, into build-runtimes, 90 to
// 210 MB each; nothing else of this repository needs them. Linux only.
// usage: test-runtimes.mjs [--smoke] [name…], where names are among those below; anything after -- goes to vitest
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'build-runtimes')
const { arch } = process

const node = (version, suite = false) => ({ package: `node-linux-${arch}@${version}`, command: ['bin/node'], suite })
const runtimes = {
  'node-20': node('20.19.0', true),
  'node-22': node('22'),
  'node-24': node('24'),
  'node-26': node('26', true),
  bun: { package: `@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}@1`, command: ['bin/bun'] },
  deno: { package: `@deno/linux-${arch}-glibc@2`, command: ['deno', 'run', '--allow-all'] },
}

const words = process.argv.slice(2)
const end = words.includes('--') ? words.indexOf('--') : words.length
const vitestArguments = words.slice(end + 1)
const smokeOnly = words.slice(0, end).includes('--smoke')
const named = words.slice(0, end).filter((word) => word !== '--smoke')
const unknown = named.find((name) => !(name in runtimes))
if (unknown !== undefined) {
  console.error(`test-runtimes: no runtime ${unknown}; there are ${Object.keys(runtimes).join(', ')}`)
  process.exit(2)
}
const chosen = named.length === 0 ? Object.keys(runtimes) : named

install(chosen.filter((name) => !existsSync(programOf(name))))
const failed = []
for (const name of chosen) {
  console.log(`\n> ${name}: ${versionOf(name)}`)
  run(`${name}, smoke`, [...commandOf(name), 'test/runtimes/smoke.cjs'])
  if (!runtimes[name].suite || smokeOnly) continue
  run(`${name}, suite`, [...commandOf(name), 'node_modules/vitest/vitest.mjs', 'run', ...vitestArguments])
}
console.log(failed.length === 0 ? '\ntest-runtimes: ok' : `\ntest-runtimes: failed in ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)

function commandOf(name) {
  const [program, ...rest] = runtimes[name].command
  return [join(folder, 'node_modules', name, program), ...rest]
}

function programOf(name) {
  return commandOf(name)[0]
}

function versionOf(name) {
  return spawnSync(programOf(name), ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0]
}

// Under names of ours, so that several Nodes have room side by side. Forced: npm holds packages of one platform only.
function install(missing) {
  if (missing.length === 0) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const wanted = missing.map((name) => `${name}@npm:${runtimes[name].package}`)
  const { status } = spawnSync('npm', ['install', '--force', '--save', ...wanted], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

function run(what, [program, ...args]) {
  const { status, signal } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) failed.push(`${what} (${signal ?? status})`)
}
