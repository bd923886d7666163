// Runs the native tests. Plain: the binary that binding.gyp has built. With --sanitizer=address or thread: a build of
// its own by CMake, in build-asan or build-tsan. Any other argument is a part of the titles to run.
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'

const sanitizers = {
  address: {
    folder: 'build-asan',
    flags: 'address,undefined',
    environment: {
      ASAN_OPTIONS: 'detect_leaks=1:halt_on_error=1',
      UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    },
  },
  thread: {
    folder: 'build-tsan',
    flags: 'thread',
    // Cases fork to change user or limits, and start threads there.
    environment: { TSAN_OPTIONS: 'halt_on_error=1:die_after_fork=0:second_deadlock_stack=1' },
  },
}

const words = process.argv.slice(2)
const option = words.find((word) => word.startsWith('--sanitizer='))
const filters = words.filter((word) => word !== option)
if (option === undefined) {
  process.exit(run('build/Release/native_test', filters))
} else {
  const sanitizer = sanitizers[option.slice('--sanitizer='.length)]
  if (sanitizer === undefined) {
    console.error(`native-test: expected --sanitizer=address or --sanitizer=thread, not ${option}`)
    process.exit(2)
  }
  const { folder, flags, environment } = sanitizer
  mustSucceed(run('cmake', ['-S', 'native', '-B', folder, `-DEXACTSPAWN_SANITIZE=${flags}`]))
  mustSucceed(run('cmake', ['--build', folder, '--parallel', String(cpus().length)]))
  // The thread sanitizer of older compilers maps its shadow at fixed places and refuses a randomized layout.
  const machine = process.arch === 'x64' ? 'x86_64' : 'aarch64'
  process.exit(run('setarch', [machine, '-R', `${folder}/native_test`, ...filters], environment))
}

function run(program, args, environment = {}) {
  const result = spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } })
  if (result.error !== undefined) throw result.error
  return result.status ?? 1
}

function mustSucceed(status) {
  if (status !== 0) process.exit(status)
}
