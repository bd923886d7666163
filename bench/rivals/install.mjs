// Installs the rivals from npm, as the lock file beside this file names them, outside of what the package depends on.
// The two runtimes have 190 MB; the folder stays for the next run.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installed } from './folder.mjs'

const wanted = fileURLToPath(new URL('.', import.meta.url))
const files = ['package.json', '.npmrc', 'package-lock.json']

/** Gives what went wrong, or nothing. A rival that is missing for it is named where its figures would stand. */
export function installRivals() {
  if (existsSync(`${installed}/node_modules/.package-lock.json`) && files.every(same)) return undefined
  mkdirSync(installed, { recursive: true })
  for (const file of files) copyFileSync(`${wanted}/${file}`, `${installed}/${file}`)
  const { status, error, stderr } = spawnSync('npm', ['ci'], { cwd: installed, encoding: 'utf8' })
  if (status === 0) return undefined
  return `npm could not install the rivals: ${(error?.message ?? stderr).split('\n').slice(0, 3).join(' ')}`
}

function same(file) {
  const here = `${installed}/${file}`
  return existsSync(here) && readFileSync(here).equals(readFileSync(`${wanted}/${file}`))
}
