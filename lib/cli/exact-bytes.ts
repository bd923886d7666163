/**
 * What this process was given, as the kernel has it. Node decodes arguments and environment as UTF-8 and puts U+FFFD
 * where that fails: the child would get another file name than the one that was typed [B085].
 */
import { readFileSync } from 'node:fs'
import type { SpecString } from '../process/strings.js'

const REPLACEMENT = '\ufffd'

/** Gives the last arguments of this process: text, or the bytes of one that is no UTF-8. */
export function exactArguments(args: readonly string[]): SpecString[] {
  if (!args.some((arg) => arg.includes(REPLACEMENT))) return [...args]
  const strings = stringsOf('/proc/self/cmdline').slice(-args.length)
  return args.map((arg, index) => exact(arg, strings[index]))
}

/** Gives the environment of this process: text, or the bytes of a value that is no UTF-8. */
export function exactEnvironment(): Record<string, SpecString> {
  const variables = process.env as Record<string, string>
  if (!Object.values(variables).some((value) => value.includes(REPLACEMENT))) return { ...variables }
  const bytes = new Map(stringsOf('/proc/self/environ').map((string) => {
    const at = string.indexOf('=')
    return [string.subarray(0, at).toString(), string.subarray(at + 1)]
  }))
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, exact(value, bytes.get(name))]))
}

function exact(text: string, bytes: Uint8Array | undefined): SpecString {
  return bytes === undefined || Buffer.from(text).equals(bytes) ? text : bytes
}

function stringsOf(path: string): Buffer[] {
  const block = readFileSync(path)
  const strings: Buffer[] = []
  for (let start = 0, end; (end = block.indexOf(0, start)) >= 0; start = end + 1) {
    strings.push(block.subarray(start, end))
  }
  return strings
}
