/** `exactspawn run`: a program exactly as declared, in the foreground of a terminal or a script. */
import { isatty } from 'node:tty'
import { ExactSpawnError } from '../base/errors.js'
import type { Child } from '../process/child.js'
import type { Exit } from '../process/exit.js'
import type { LogSnapshot } from '../process/log.js'
import { spawn } from '../process/spawn.js'
import type { SpawnSpec } from '../process/spawn-spec.js'
import { readOptions } from './arguments.js'
import { exitCode, startFailureCode } from './exit-code.js'
import { RUN_HELP } from './help.js'
import { pumpStreams } from './own-stdio.js'
import { readRun, RUN_OPTIONS, splitAtProgram } from './run-request.js'
import { say, write, writeJson } from './terminal.js'

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Forwarded = (typeof FORWARDED)[number]

/** Runs one program to its end; gives this process's exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const { options, program } = splitAtProgram(args)
  const values = readOptions(options, RUN_OPTIONS, '; a program stands behind --')
  if (values.help) {
    write(1, RUN_HELP)
    return 0
  }
  const request = readRun(values, program)
  const signals = new SignalForwarder(request.spec)
  let child: Child
  try {
    child = await spawn(request.spec)
  } catch (error) {
    if (!ExactSpawnError.is(error) && !(error instanceof TypeError)) throw error
    say((error as Error).message)
    if (request.json) writeJson({ receipt: null, exit: null, error })
    return startFailureCode(error)
  }
  signals.attach(child)
  if (request.receipt) writeRecord({ receipt: child.receipt })
  const outputPassed = request.pumps ? pumpStreams(child) : async () => {}
  const exit = await settled(child)
  await outputPassed()
  tellEnd(exit, request.spec, signals.passedOn)
  if (request.receipt) writeRecord({ exit: recordOf(exit) })
  if (request.json) writeJson({ receipt: child.receipt, exit: recordOf(exit), ...outputsOf(exit), error: null })
  return exitCode(exit)
}

/** Passes on to the child's group what is sent to this process; nothing is lost while the child is being born. */
class SignalForwarder {
  readonly passedOn = new Set<string>()
  readonly #group: SpawnSpec['group']
  #child: Child | undefined
  #early: Forwarded[] = []

  constructor({ group }: SpawnSpec) {
    this.#group = group
    for (const name of FORWARDED) process.on(name, () => this.#forward(name))
  }

  attach(child: Child): void {
    this.#child = child
    for (const name of this.#early) this.#forward(name)
  }

  #forward(name: Forwarded): void {
    const child = this.#child
    if (child === undefined) {
      this.#early.push(name)
      return
    }
    // Ctrl-C has reached a child in our own group already; twice means "at once" to many programs.
    if (this.#group === 'inherit' && name === 'SIGINT' && [0, 1, 2].some((fd) => isatty(fd))) return
    this.passedOn.add(name)
    try {
      if (this.#group === 'inherit') child.signal(name)
      else child.signalGroup(name)
    } catch (error) {
      say((error as Error).message)
    }
  }
}

// A log that a descendant outside the group holds open is told of, and what is there of it is shown.
async function settled(child: Child): Promise<Exit> {
  try {
    return await child.wait()
  } catch (error) {
    if (!ExactSpawnError.is(error, 'ERR_LOG_DRAIN_DEADLINE')) throw error
    say(error.message)
    return child.tryWait() as Exit
  }
}

// As a shell: silent about the pipe that somebody closed and about what the user asked for.
function tellEnd(exit: Exit, spec: SpawnSpec, passedOn: ReadonlySet<string>): void {
  if (exit.lost) say('the exit status is lost: something else in this process has taken it')
  const how = exit.signal === null ? `exit code ${exit.code}` : exit.signal
  if (exit.endedBy === 'timeout') {
    say(`timed out after ${spec.lifetime?.timeoutMs} ms; ended with ${how}${exit.escalated ? ', after its grace' : ''}`)
  } else if (exit.signal !== null && exit.signal !== 'SIGPIPE' && !passedOn.has(exit.signal)) {
    say(`ended by ${exit.signal}${exit.coreDumped ? ', core dumped' : ''}`)
  }
  if (exit.groupLeft > 0) {
    const fate = spec.leftovers === 'keep' ? 'kept' : 'killed'
    say(`${exit.groupLeft} of its group outlived it: ${fate}`)
  }
}

// One line each, so that they can be told from what the program writes there.
function writeRecord(record: object): void {
  write(2, `${JSON.stringify(record)}\n`)
}

function recordOf({ logs: _, ...record }: Exit): object {
  return record
}

function outputsOf({ logs }: Exit): object {
  const outputs = Object.entries(logs).map(([fd, log]) => [fd, outputOf(log)])
  return { outputs: Object.fromEntries(outputs) as object }
}

function outputOf({ text, totalBytes, omittedBytes, truncated, complete }: LogSnapshot): object {
  return { text: text(), totalBytes, omittedBytes, truncated, complete }
}
