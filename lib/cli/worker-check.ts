/** `exactspawn worker check`: for who writes a worker, whether it keeps the protocol, and which rule it does not. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { ExactSpawnError, toError } from '../base/errors.js'
import { createPrivateDirectory } from '../directory/private-directory.js'
import type { Role } from '../protocol/messages.js'
import { checkRequestFields, isWorkerId, METHODS_OF } from '../protocol/messages.js'
import { readLaunchRecord } from '../worker/launch-record.js'
import type { PhaseTimeouts } from '../worker/phases.js'
import { PHASES, readPhaseTimeouts } from '../worker/phases.js'
import { readOptions, UsageError } from './arguments.js'
import { EXIT } from './exit-code.js'
import { WORKER_HELP } from './help.js'
import { Interruption } from './interruption.js'
import { readJsonFile } from './json-file.js'
import { printable, say, write, writeJson } from './terminal.js'
import { readChoice, readDuration, readNumber, readPairs } from './values.js'
import type { Exercised, Fields, PhaseResult } from './worker-exercise.js'
import { exercise, METHODS, workerIdOf } from './worker-exercise.js'

const OPTIONS = {
  role: { type: 'string' },
  'worker-id': { type: 'string' },
  timeout: { type: 'string' },
  timeouts: { type: 'string' },
  requests: { type: 'string' },
  secret: { type: 'string', multiple: true },
  'private-root': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

const ROLES = ['implementation', 'dataset_materializer', 'problem_evaluator'] as const
const BROKEN = 1
const LF = 0x0a
const CR = 0x0d

/** Gives 0 for a worker that keeps the protocol, 1 for one that does not. */
export async function worker([verb, ...args]: readonly string[]): Promise<number> {
  if (verb === '--help' || verb === '-h') {
    write(1, WORKER_HELP)
    return 0
  }
  if (verb !== 'check') throw new UsageError('worker check is the one command of worker')
  const [path] = args[0]?.startsWith('-') ? [] : args
  const options = readOptions(path === undefined ? args : args.slice(1), OPTIONS, '; the file of the launch record comes first')
  if (options.help) {
    write(1, WORKER_HELP)
    return 0
  }
  if (path === undefined) throw new UsageError('worker check: the file of the launch record comes first')
  const record = readLaunchRecord(readJsonFile(path))
  const workerId = readWorkerId(options['worker-id'] ?? workerIdOf(record))
  const role = readChoice('--role', options.role ?? 'implementation', ROLES)
  const timeouts = timeoutsOf(options)
  const secrets = readSecrets(options.secret ?? [])
  const fields = options.requests === undefined ? {} : readFields(options.requests, role)
  using interruption = new Interruption()
  const { signal } = interruption
  try {
    const directory = await createPrivateDirectory(options['private-root'] ?? tmpdir(), { prefix: 'check' })
    let result: Exercised
    let left: Error | null
    try {
      result = await exercise({ record, role, workerId, timeouts, secrets, directory: directory.path, fields, signal })
    } finally {
      left = await directory.remove().then(() => null, toError)
    }
    if (options.json) writeJson(documentOf({ role, workerId }, result))
    else write(1, render({ role, workerId }, result))
    // What the worker left is its own directory's trouble too: told once.
    left = result.left ?? left
    if (left !== null) say(left.message)
    if (result.broken !== null) return BROKEN
    return left === null ? 0 : EXIT.ours
  } catch (error) {
    if (interruption.exitCode === undefined || !ExactSpawnError.is(error, 'ERR_ABORTED')) throw error
    return interruption.exitCode
  }
}

function readWorkerId(text: string): string {
  if (isWorkerId(text)) return text
  throw new UsageError(`--worker-id ${text}: must be mw1-resolved-worker- and 64 digits of lower hex`)
}

/** Refuses what no request can say before a worker is launched. */
function readFields(path: string, role: Role): Fields {
  const given = readJsonFile(path)
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new UsageError(`${path}: must be an object`)
  for (const [method, fields] of Object.entries(given)) {
    const known = METHODS.find((name) => name === method)
    if (known === undefined) throw new UsageError(`${path}: ${method} is no method with fields: ${METHODS.join(', ')}`)
    if (!METHODS_OF[role].includes(known)) throw new UsageError(`${path}: ${method} is no method of --role ${role}`)
    try {
      checkRequestFields(known, fields)
    } catch (error) {
      throw new UsageError(`${path}: ${method}: ${(error as Error).message}`)
    }
  }
  return given
}

function timeoutsOf({ timeout, timeouts }: { timeout?: string; timeouts?: string }): PhaseTimeouts {
  if (timeout !== undefined && timeouts !== undefined) throw new UsageError('--timeout or --timeouts, not both')
  if (timeouts !== undefined) return readPhaseTimeouts(readJsonFile(timeouts))
  const limitMs = readDuration('--timeout', timeout ?? '10s')
  return readPhaseTimeouts(Object.fromEntries(PHASES.map((phase) => [phase, limitMs])))
}

/** By file or descriptor: a value that is typed can be read by everyone in the list of processes. */
function readSecrets(texts: readonly string[]): Record<string, Buffer> {
  const pairs = [...readPairs('--secret', texts)].map(([name, source]) => {
    if (source.startsWith('@')) return [name, withoutLineEnd(readFileSync(source.slice(1)))] as const
    if (source.startsWith('fd:')) return [name, readFileSync(readNumber('--secret', source.slice(3)))] as const
    throw new UsageError(`--secret ${name}: must be @FILE or fd:N`)
  })
  return Object.fromEntries(pairs)
}

/** Editors and echo end a file with one, and no secret that is typed into a file means it. */
function withoutLineEnd(bytes: Buffer): Buffer {
  const end = bytes.at(-1) !== LF ? 0 : bytes.at(-2) === CR ? 2 : 1
  return bytes.subarray(0, bytes.length - end)
}

interface Terms {
  readonly role: string
  readonly workerId: string
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

function documentOf(terms: Terms, { logs, left: _, ...rest }: Exercised): object {
  const streams = (['stdout', 'stderr'] as const).map((name) => {
    const { bytes, totalBytes, truncated } = logs[name]
    return [name, { text: text(bytes), totalBytes, truncated }]
  })
  return { ...terms, ...rest, logs: Object.fromEntries(streams) as object }
}

/** Whether any phase between hello and goodbye was more than a refusal. */
function worked(phases: readonly PhaseResult[]): boolean {
  const inner = phases.filter(({ phase }) => phase !== 'hello' && phase !== 'reset' && phase !== 'shutdown')
  return inner.some(({ failure }) => failure === null)
}

function render({ role, workerId }: Terms, { phases, broken, receipt, exit, logs }: Exercised): string {
  const lines = [`role        ${role}`, `worker id   ${workerId}`]
  for (const { phase, failure } of phases) {
    const answer = failure === null ? 'answered' : `answered ${failure.code}: ${failure.message}`
    lines.push(`${phase.padEnd(12)}${answer}`)
  }
  lines.push(`exit        ${exit === null ? 'none' : (exit.signal ?? `code ${exit.code}`)}`)
  for (const name of ['stdout', 'stderr'] as const) {
    lines.push(`${name.padEnd(12)}${logs[name].totalBytes} bytes`)
    const shown = text(logs[name].bytes).split('\n').filter((line) => line !== '')
    lines.push(...shown.map((line) => `  ${line}`))
  }
  lines.push(`receipt     ${JSON.stringify(receipt)}`)
  if (broken === null) {
    lines.push(`The worker keeps wire protocol v1${worked(phases) ? '' : ', and did none of its work: give it --requests'}.`)
  } else {
    lines.push(`BROKEN      ${broken.code}: ${broken.message}`)
    if (broken.rule !== null) lines.push(`rule        ${broken.rule}`)
  }
  return lines.map((line) => `${printable(line)}\n`).join('')
}
