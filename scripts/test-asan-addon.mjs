// Runs the tests of the addon's boundary with a build of it under the address sanitizer, in the Node that runs this: the
// sanitizer's library is preloaded, since Node itself is not built with it [B094, N-17]. Children get environments of
// their own and so run without it. Any arguments go to vitest in place of test/native.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'build-asan-addon')
const headers = createRequire(import.meta.url)('node-api-headers').include_dir
const library = (name) => execFileSync('gcc', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()

run('cmake', ['-S', 'native', '-B', folder, '-DEXACTSPAWN_SANITIZE=address,undefined', `-DCMAKE_JS_INC=${headers}`])
run('cmake', ['--build', folder, '--target', 'exactspawn', '--parallel', String(cpus().length)])

// Where the loader looks first, when it is told to.
const loaded = join(folder, 'build', 'Release')
mkdirSync(loaded, { recursive: true })
copyFileSync(join(folder, 'exactspawn.node'), join(loaded, 'exactspawn.node'))
const tests = process.argv.length > 2 ? process.argv.slice(2) : ['test/native']
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...tests], {
  EXACTSPAWN_PREBUILD: folder,
  EXACTSPAWN_SLOWNESS: '5',
  LD_PRELOAD: `${library('libasan.so')} ${library('libubsan.so')}`,
  // Hosts are killed and exit in mid-flight, so what they hold then is no leak.
  ASAN_OPTIONS: 'detect_leaks=0:halt_on_error=1:abort_on_error=1',
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
})

function run(program, args, environment = {}) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}
