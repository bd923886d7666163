// Makes a checkout ready to run: installs and builds what is missing or older than its sources. Uses nothing but Node,
// so that it works in a fresh clone. `npm test` and `npm run demo` begin with it.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const newest = (folders) => Math.max(0, ...folders.map((folder) => newestIn(join(root, folder))))

function newestIn(path) {
  if (!existsSync(path)) return 0
  const facts = statSync(path)
  if (!facts.isDirectory()) return facts.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => newestIn(join(path, name))))
}

function run(command, args) {
  console.error(`> ${[command, ...args].join(' ')}`)
  // What a build prints belongs to whoever looks at a failure, not between the lines of a demo.
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status === 0) return
  console.error(`${stdout ?? ''}${stderr ?? ''}`)
  console.error(`${command} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`)
  process.exit(1)
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`exactspawn needs Node 20.19 or later; this is ${process.version}`)
  process.exit(1)
}
if (newest(['node_modules/.package-lock.json']) < newest(['package-lock.json'])) run('npm', ['ci'])
const addon = newest(['build/Release/exactspawn.node'])
if (addon < newest(['native', 'fixtures', 'binding.gyp'])) run('npm', ['run', 'build:native'])
const compiled = newest(['dist/index.js'])
if (compiled < newest(['lib', 'tsconfig.json'])) run('npm', ['run', 'build:ts'])
