// The C programs of the benchmark, built once beside the other builds: the limit, and what the children run.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const sources = fileURLToPath(new URL('native', import.meta.url))
export const folder = fileURLToPath(new URL('../build-bench', import.meta.url))

/** A static program that ends at once. */
export const nothing = `${folder}/nothing`
/** Writes, echoes or holds. */
export const target = `${folder}/target`
export const limit = `${folder}/limit`

const strict = ['-O2', '-Wall', '-Wextra']
const programs = [
  { out: nothing, source: 'nothing.c', flags: ['-static', '-nostdlib', '-ffreestanding'] },
  { out: target, source: 'target.c', flags: ['-static'], otherwise: [] },
  { out: limit, source: 'limit.c', flags: [] },
]

/** Builds what is missing or older than its source. Gives what a reader of the figures should know. */
export function buildPrograms() {
  mkdirSync(folder, { recursive: true })
  const notes = []
  for (const { out, source, flags, otherwise } of programs) {
    const path = `${sources}/${source}`
    if (existsSync(out) && statSync(out).mtimeMs > statSync(path).mtimeMs) continue
    let failure = compile(out, path, flags)
    if (failure !== null && otherwise !== undefined) {
      notes.push(`${source} is linked dynamically: no static libc here`)
      failure = compile(out, path, otherwise)
    }
    if (failure !== null) throw new Error(`${source} does not compile: ${failure}`)
  }
  return notes
}

function compile(out, source, flags) {
  const { status, error, stderr } = spawnSync('cc', [...strict, ...flags, '-o', out, source], { encoding: 'utf8' })
  return status === 0 ? null : (error?.message ?? stderr)
}
