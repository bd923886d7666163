/** Options of a command, read strictly: what nobody asked for is an error, and so is asking twice. */
import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'

/** What was typed cannot be meant; the message is the one line that says why. */
export class UsageError extends Error {}

export type OptionTable = NonNullable<ParseArgsConfig['options']>

/** The values of a table of options, as `parseArgs` types them. */
export type Values<T extends OptionTable> = ReturnType<
  typeof parseArgs<{ options: T; strict: true; allowPositionals: true; tokens: true }>
>['values']

/**
 * Reads the options of a command that takes nothing else.
 *
 * @throws {UsageError} unknown options, values missing or in excess, an option twice that may be given once
 */
export function readOptions<const T extends OptionTable>(args: readonly string[], options: T, hint = ''): Values<T> {
  const { values, positionals, tokens } = parsed(args, options)
  const [extra] = positionals
  if (extra !== undefined) throw new UsageError(`'${extra}' is no option${hint}`)
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option' || options[token.name]?.multiple) continue
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice`)
    seen.add(token.name)
  }
  return values
}

function parsed<const T extends OptionTable>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true, tokens: true })
  } catch (error) {
    // The rest of the message explains how to type a file name that begins with a dash.
    const [sentence = ''] = (error as Error).message.split(/\. |\n/)
    throw new UsageError(sentence)
  }
}
