// Runs every check of the sources, scripts/check-*.mjs, and the type checks. `npm run check` begins here. The last
// line is `N passed, N failed`.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
// These look at what was built for a release, not at the sources: `npm run check:pack` and `check:binary`.
const ofReleases = ['check-pack.mjs', 'check-binary.mjs']

const checks = readdirSync(new URL('.', import.meta.url))
  .filter((file) => /^check-.*\.mjs$/.test(file) && !ofReleases.includes(file))
  .sort()
  .map((file) => [`scripts/${file}`])
const types = ['tsconfig.json', 'tsconfig.test.json'].map((project) => {
  return ['node_modules/typescript/bin/tsc', '--noEmit', '-p', project]
})

let failed = 0
for (const args of [...checks, ...types]) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status === 0) continue
  console.error(`check: ${args.join(' ')} failed`)
  failed++
}
console.log(`${checks.length + types.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
