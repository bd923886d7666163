// A vitest reporter that ends a run in which nothing happens any more. A test that blocks its thread is beyond vitest's
// own timeouts, and a runner killed from outside takes the name of that test with it: this one names what was running,
// shows the processes and then kills them.
import { spawnSync } from 'node:child_process'

// Longer than the longest test may take; shorter than anybody waits for a run.
const STALL_MS = 180_000

export default class StallReporter {
  #modules = new Set()
  #tests = new Set()
  #timer

  onTestRunStart() {
    this.#live()
  }

  onTestModuleStart({ moduleId }) {
    this.#modules.add(moduleId)
    this.#live()
  }

  onTestModuleEnd({ moduleId }) {
    this.#modules.delete(moduleId)
    this.#live()
  }

  onTestCaseReady({ fullName }) {
    this.#tests.add(fullName)
    this.#live()
  }

  onTestCaseResult({ fullName }) {
    this.#tests.delete(fullName)
    this.#live()
  }

  onTestRunEnd() {
    clearTimeout(this.#timer)
  }

  #live() {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), STALL_MS)
  }

  #end() {
    console.log(`\nnothing has happened for ${STALL_MS / 1000} s; running were`)
    for (const name of [...this.#modules, ...this.#tests]) console.log(`  ${name}`)
    for (const { pid, line } of descendants(process.pid)) {
      console.log(`  ${line}`)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Gone by itself.
      }
    }
    process.exit(1)
  }
}

function descendants(root) {
  const columns = 'pid,ppid,pgid,sid,stat,wchan:24,etimes,args'
  const { stdout } = spawnSync('ps', ['-e', '-ww', '-o', columns], { encoding: 'utf8' })
  const processes = stdout.split('\n').slice(1).map((line) => {
    const [pid, ppid] = line.trim().split(/\s+/, 2).map(Number)
    return { pid, ppid, line }
  })
  const found = [{ pid: root }]
  for (const { pid: parent } of found) found.push(...processes.filter(({ ppid }) => ppid === parent))
  return found.slice(1)
}
