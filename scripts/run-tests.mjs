// Runs every suite and sums it up: the native tests, then the TypeScript ones. Arguments choose among them: `native`,
// or parts of paths below test/. The last line is `N passed, N failed`; the exit code is 0 only when that is true of
// something.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const words = process.argv.slice(2)
const paths = words.filter((word) => word !== 'native')

// What a developer's shell may hold and a child or a runner would obey.
const foreign = ['NODE_OPTIONS', 'NODE_PATH', 'NODE_DEBUG', 'NODE_V8_COVERAGE', 'FORCE_COLOR', 'LIBC']
for (const name of [...foreign, 'EXACTSPAWN_PREBUILD']) delete process.env[name]
if (!process.stdout.isTTY) process.env.NO_COLOR = '1'
process.umask(0o022)

const sums = []
if (words.length === 0 || paths.length < words.length) sums.push(runNative())
if (words.length === 0 || paths.length > 0) sums.push(runVitest(paths))
const passed = sums.reduce((sum, suite) => sum + suite.passed, 0)
const failed = sums.reduce((sum, suite) => sum + suite.failed, 0)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

function runNative() {
  const { status, signal, error, stdout } = node(['scripts/native-test.mjs'], 'pipe')
  const lines = (stdout ?? '').trimEnd().split('\n')
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/.exec(lines.at(-1)) ?? []
  for (const line of lines) if (!line.startsWith('ok ')) console.log(`native: ${line}`)
  return suite('native', { passed, failed }, { status, signal, error })
}

function runVitest(filters) {
  const folder = mkdtempSync(join(tmpdir(), 'exactspawn-tests-'))
  const report = join(folder, 'report.json')
  try {
    const shown = ['--reporter=dot', '--reporter=./scripts/stall-reporter.mjs']
    const reporters = [...shown, '--reporter=json', `--outputFile.json=${report}`]
    const run = node(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...filters], 'inherit')
    return suite('vitest', countReport(report), run)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function countReport(path) {
  let report
  try {
    report = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return { passed: 0, failed: 0 }
  }
  // A file that could not be loaded has no tests, and has failed all the same.
  const unloaded = report.testResults.filter((file) => {
    return file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed')
  })
  for (const file of unloaded) console.log(`vitest: ${file.name}: ${file.message}`)
  const undone = report.numPendingTests + report.numTodoTests
  if (undone > 0) console.log(`vitest: ${undone} tests were skipped, and count as failed`)
  return { passed: report.numPassedTests, failed: report.numFailedTests + unloaded.length + undone }
}

// A runner that crashed, or complained of something beside its tests, has failed even if it counted no failure.
function suite(name, { passed = 0, failed = 0 }, { status, signal, error }) {
  const counted = { passed: Number(passed), failed: Number(failed) }
  if (status !== 0 && counted.failed === 0) {
    console.log(`${name}: ended with ${error?.message ?? signal ?? `exit code ${status}`}`)
    counted.failed = 1
  }
  return counted
}

function node(args, stdout) {
  const stdio = ['ignore', stdout, 'inherit']
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', stdio, maxBuffer: 1 << 28 })
}
