// The files that the checks read: those that git tracks or would track, below the current directory. Outside
// a repository, as in the tests of the checks, it is every file but build output and dependencies. Also the
// one way in which each check ends: nothing but a count when all is well, else `file:line: what. Mend: how.`
// and exit code 1.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'

const notOurs = new Set(['.git', 'node_modules', 'build', 'dist', 'prebuilds', 'coverage'])

/** Lists files as sorted paths with forward slashes, relative to the current directory. */
export function listFiles(keep = () => true) {
  return (fromGit() ?? walk('.')).filter((path) => existsSync(path) && keep(path)).sort()
}

function fromGit() {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  try {
    const paths = execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return [...new Set(paths.split('\0'))].filter((path) => path !== '')
  } catch {
    return null
  }
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name)) return []
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return walk(path)
    return entry.isFile() ? [path] : []
  })
}

/** Reads a text file, or gives null for one that holds a NUL byte. */
export function readText(path) {
  const bytes = readFileSync(path)
  return bytes.includes(0) ? null : bytes.toString('utf8')
}

/** What a program prints, as `{ text }`, or why it could not, as `{ failure }`. */
export function outputOf(program, args) {
  try {
    return { text: execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }) }
  } catch (error) {
    return { failure: error.stderr?.trim() || error.message }
  }
}

/** The line, counted from 1, on which an offset into a text lies. */
export function lineAt(text, offset) {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** Collects what a check finds. `finish` prints it and sets the exit code. */
export function findings(check) {
  const found = []
  return {
    add: (where, what, mend) => found.push(`${where}: ${what}. Mend: ${mend}.`),
    finish: (checked) => {
      for (const line of found) console.error(line)
      console.log(`${check}: ${found.length === 0 ? `ok, ${checked}` : `${found.length} found, ${checked}`}`)
      process.exitCode = found.length === 0 ? 0 : 1
    },
  }
}
