#!/usr/bin/env node
/** The command line: docs/command-line.md. */
import { ExactSpawnError } from '../base/errors.js'
import { readOptions, UsageError } from './arguments.js'
import { EXIT } from './exit-code.js'
import { HELP } from './help.js'
import { packageVersion } from './package-version.js'
import { OutputClosed, say, write } from './terminal.js'

type Command = (args: readonly string[]) => Promise<number>

// Loaded when asked for: nobody waits for the parts of another command.
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./run.js')).run,
  doctor: async () => (await import('./doctor.js')).doctor,
  audit: async () => (await import('./audit-command.js')).audit,
  lanes: async () => (await import('./lanes.js')).lanes,
  worker: async () => (await import('./worker-check.js')).worker,
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) {
    write(2, HELP)
    return EXIT.ours
  }
  if (name.startsWith('-')) return about([name, ...args])
  if (!Object.hasOwn(COMMANDS, name)) {
    throw new UsageError(`'${name}' is no command; there are ${Object.keys(COMMANDS).join(', ')}`)
  }
  const command = await (COMMANDS[name] as () => Promise<Command>)()
  return await command(args)
}

function about(args: readonly string[]): number {
  const { help, version } = readOptions(args, {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
  })
  if (!help && !version) throw new UsageError('no command: exactspawn --help')
  write(1, help ? HELP : `${packageVersion()}\n`)
  return 0
}

function failed(error: unknown): number {
  if (error instanceof OutputClosed) return EXIT.outputClosed
  const expected = error instanceof UsageError || ExactSpawnError.is(error) || 'syscall' in (error as Error)
  say((expected ? (error as Error).message : (error as Error).stack) ?? String(error))
  return EXIT.ours
}

// Everything has been written by now: what is still open must not hold this process.
void main(process.argv.slice(2)).catch(failed).then((code) => process.exit(code))
