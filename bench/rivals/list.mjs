// The rivals: how each is started, and how it is found out whether it can run here. Each is a process of its own that
// takes `MEASURE key=value …` and prints one line of JSON.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { limit } from '../programs.mjs'
import { installed } from './folder.mjs'

const host = fileURLToPath(new URL('../host.mjs', import.meta.url))
const python = fileURLToPath(new URL('python.py', import.meta.url))
const modules = `${installed}/node_modules`
const bun = `${modules}/bun-${process.arch}/bin/bun`
const deno = `${modules}/deno-${process.arch}/deno`
const inNode = (adapter) => [process.execPath, '--expose-gc', host, adapter]

export const OURS = 'exactspawn'
export const LIMIT = 'C limit'

/** `check` says why a rival cannot run here, or nothing. */
export const rivals = [
  { name: OURS, command: inNode('exactspawn'), version: () => versionOfPackage('../..') },
  { name: LIMIT, command: [limit], version: () => 'clone, epoll, pidfd' },
  { name: 'child_process', command: inNode('child-process'), version: () => `Node ${process.versions.node}` },
  {
    name: 'Bun.spawn',
    command: [bun, host, 'bun'],
    check: () => missing(bun, 'the package of Bun'),
    version: () => printedBy(bun, ['--version']),
  },
  {
    name: 'Deno.Command',
    command: [deno, 'run', '--allow-all', '--v8-flags=--expose-gc', host, 'deno'],
    check: () => missing(deno, 'the package of Deno'),
    version: () => printedBy(deno, ['--version'])?.replace('deno ', ''),
  },
  {
    name: 'Python',
    command: ['python3', python],
    check: () => (printedBy('python3', ['--version']) === null ? 'there is no python3' : undefined),
    version: () => printedBy('python3', ['--version'])?.replace('Python ', ''),
  },
  {
    name: 'execa',
    command: inNode('execa'),
    check: () => missing(`${modules}/execa`, 'the package execa'),
    version: () => versionOfPackage(`${modules}/execa`),
  },
  {
    name: 'node-pty',
    command: inNode('node-pty'),
    check: () => missing(`${modules}/node-pty/build/Release/pty.node`, 'the addon of node-pty, which did not build,'),
    version: () => versionOfPackage(`${modules}/node-pty`),
  },
]

/** Those that the goals are about; a quick run has no time for more. */
export const quickRivals = [OURS, LIMIT, 'child_process', 'Bun.spawn']

function missing(path, what) {
  return existsSync(path) ? undefined : `${what} is not installed`
}

function printedBy(program, args) {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n')[0].trim().split(' (')[0] : null
}

function versionOfPackage(path) {
  const file = path.startsWith('.') ? new URL(`${path}/package.json`, import.meta.url) : `${path}/package.json`
  return JSON.parse(readFileSync(file, 'utf8')).version
}
