import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readOptions, UsageError } from '../../lib/cli/arguments.js'
import { readRun, RUN_OPTIONS, splitAtProgram } from '../../lib/cli/run-request.js'
import { fixtureChild } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'
import { cli, run } from './cli.js'

const complaint = (text: string): RegExp => new RegExp(`^exactspawn: [^\\n]*${text}[^\\n]*\\n$`)

test.each([
  ['', 'no program'],
  ['--', 'no program'],
  ['--env-inherit -- /bin/true', 'contradicts'],
  ['--env A -- /bin/true', 'NAME=VALUE'],
  ['--env =x -- /bin/true', 'NAME=VALUE'],
  ['--env A=1 --env A=2 -- /bin/true', 'A: is given twice'],
  ['/bin/true', 'is no option'],
  ['--nonsense -- /bin/true', "Unknown option '--nonsense'"],
  ['--guard=yes -- /bin/true', "'--guard'"],
  ['--cwd / --cwd /tmp -- /bin/true', '--cwd is given twice'],
  ['--cwd -- /bin/true', '--cwd'],
  ['--timeout 2 -- /bin/true', '500ms'],
  ['--timeout=-2s -- /bin/true', '500ms'],
  ['--grace 2s -- /bin/true', 'there is none'],
  ['--signal INT -- /bin/true', 'there is none'],
  ['--timeout 2s --signal NOPE -- /bin/true', 'no such signal'],
  ['--umask 888 -- /bin/true', 'octal'],
  ['--umask 1777 -- /bin/true', 'octal'],
  ['--group other -- /bin/true', 'new, session, inherit'],
  ['--leftovers eat -- /bin/true', 'kill, keep'],
  ['--uid root -- /bin/true', 'whole number'],
  ['--groups 1, -- /bin/true', 'whole number'],
  ['--limit core=1:2:3 -- /bin/true', 'SOFT:HARD'],
  ['--limit core=inherit -- /bin/true', 'whole number'],
  ['--fd 3 -- /bin/true', 'NAME=VALUE'],
  ['--fd x=null -- /bin/true', 'whole number'],
  ['--fd 3=file:/dev/null -- /bin/true', 'file:PATH'],
  ['--fd 3=nonsense -- /bin/true', 'file:PATH'],
  ['--fd 3=same:x -- /bin/true', 'whole number'],
  ['--head-bytes 9 -- /bin/true', '--json'],
  ['--json --tail-bytes -1 -- /bin/true', '--tail-bytes'],
  ['-- true', 'no PATH'],
])('run --env-empty %s is refused with the reason [P-2]', (typed, why) => {
  const { options, program } = splitAtProgram(['--env-empty', ...typed.split(' ').filter(Boolean)])
  const read = () => readRun(readOptions(options, RUN_OPTIONS), program)
  expect(read).toThrow(UsageError)
  expect(read).toThrow(why)
})

test('what cannot be meant ends with 125 and one line, and nothing is started [P-2]', async () => {
  const refused: [args: string[], why: string][] = [
    [['run', '--', '/bin/true'], 'no environment'],
    [['run', '--env-empty', '--limit', 'nonsense=1', '--', '/bin/true'], 'limits.nonsense'],
    [['run', '--env-empty', '--fd', '3=inherit:7777', '--', '/bin/true'], '7777 is not open'],
    [['run', '--env-empty', '--guard', '--group', 'inherit', '--', '/bin/true'], 'guard'],
    [['run', '--env-empty', '--cwd', '/nonexistent', '--', '/bin/true'], "chdir '/nonexistent'"],
    [['run', '--env-empty', '--', ''], 'empty'],
    [['nonsense'], 'no command'],
    [['--'], 'no command'],
    [['doctor', 'extra'], 'no option'],
    [['audit', '--nonsense'], 'Unknown option'],
  ]
  for (const [args, why] of refused) {
    const { code, stdout, stderr } = await cli(args)
    expect({ args, code, stdout }).toEqual({ args, code: 125, stdout: '' })
    expect(stderr).toMatch(complaint(why))
  }
})

test('a value that may be a secret is in no complaint [P-9]', async () => {
  const { code, stderr } = await cli(['run', '--env', '=hunter2', '--env', 'hunter2', '--', '/bin/true'])
  expect(code).toBe(125)
  expect(stderr).not.toContain('hunter2')
})

test('help and version go to standard output, and no command at all is a mistake [P-2]', async () => {
  const [help, runHelp, version, nothing] = await Promise.all([
    cli(['--help']),
    cli(['run', '--help']),
    cli(['--version']),
    cli([]),
  ])
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('exactspawn doctor') })
  expect(runHelp).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('--env-inherit') })
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  expect(nothing).toMatchObject({ code: 125, stdout: '', stderr: expect.stringContaining('usage:') })
})

test.each([
  ['exit 0', 0, ''],
  ['exit 1', 1, ''],
  ['exit 255', 255, ''],
  ['kill -KILL $$', 137, 'exactspawn: ended by SIGKILL\n'],
  ['kill -TERM $$', 143, 'exactspawn: ended by SIGTERM\n'],
  ['kill -PIPE $$', 141, ''],
  ['kill -40 $$', 168, 'exactspawn: ended by SIG40\n'],
])('%s gives the code that a shell would give [P-8]', async (script, code, stderr) => {
  expect(await run([], ['/bin/sh', '-c', script])).toEqual({ code, signal: null, stdout: '', stderr })
})

test('126 is found but not executable, 127 is not found [B020]', async () => {
  const folder = tmpFolder()
  const file = (name: string, text: string, mode: number) => {
    writeFileSync(join(folder, name), text)
    chmodSync(join(folder, name), mode)
    return join(folder, name)
  }
  const codes = async (...program: string[]) => (await run(['--env', `PATH=${folder}`], program)).code
  expect(await codes(file('plain', '', 0o644))).toBe(126)
  expect(await codes(file('no-interpreter', '#!/nonexistent/sh\n', 0o755))).toBe(126)
  expect(await codes(file('no-shebang', 'exit 0\n', 0o755))).toBe(126)
  expect(await codes(folder)).toBe(126)
  expect(await codes(join(folder, 'nothing'))).toBe(127)
  expect(await codes('nothing')).toBe(127)
})

test('the environment is what is given and nothing else, or the inherited one below it [B029, M-58]', async () => {
  const env = { EXACTSPAWN_CANARY: 'host' }
  const exact = await cli(['run', '--env', 'A=1', '--env', 'B=x=y', '--', fixtureChild(), 'env'], { env })
  expect(exact).toMatchObject({ code: 0, stdout: 'A=1\nB=x=y\n' })
  expect(await run([], [fixtureChild(), 'env'], { env })).toMatchObject({ code: 0, stdout: '' })
  const options = ['run', '--env-inherit', '--env', 'A=1', '--', fixtureChild(), 'env']
  const inherited = await cli(options, { env: { ...env, A: '0' } })
  expect(inherited.stdout.split('\n')).toEqual(expect.arrayContaining(['EXACTSPAWN_CANARY=host', 'A=1']))
  expect(inherited.stdout).not.toContain('A=0')
})

test('a bare name is found in the PATH that the program gets, absolute elements only [B026]', async () => {
  const folder = tmpFolder()
  const theirs = join(folder, 'theirs')
  mkdirSync(theirs)
  for (const [where, code] of [[folder, 3], [theirs, 4]] as const) {
    writeFileSync(join(where, 'tool'), `#!/bin/sh\nexit ${code}\n`, { mode: 0o755 })
  }
  const host = { env: { PATH: `${folder}:${process.env['PATH']}` }, cwd: folder }
  const code = async (...options: string[]) => (await cli(['run', ...options, '--', 'tool'], host)).code
  expect(await code('--env', `PATH=${theirs}`)).toBe(4)
  expect(await code('--env-inherit')).toBe(3)
  expect(await code('--env', `PATH=:.:theirs:${theirs}`)).toBe(4)
  expect(await code('--env', 'PATH=:.')).toBe(125)
})

test('a relative program is taken from where the command was given, not from its own folder [B026]', async () => {
  const folder = tmpFolder()
  writeFileSync(join(folder, 'tool'), '#!/bin/sh\necho "$0"; pwd\n', { mode: 0o755 })
  const { stdout } = await run(['--cwd', '/'], ['./tool'], { cwd: folder })
  expect(stdout).toBe(`${folder}/tool\n/\n`)
})

test('arguments and inherited variables that are no UTF-8 arrive byte by byte [B085]', async () => {
  const raw = '"$(printf "a\\377b")"'
  const args = await run([], [fixtureChild(), 'exit', '0'], { through: `exec "$@" ${raw}` })
  expect(args.code).toBe(0)
  const echoed = await run([], ['/usr/bin/printf', '%s'], { through: `exec "$@" ${raw}` })
  expect(echoed).toMatchObject({ code: 0, stdout: 'a\u00ffb' })
  const env = ['run', '--env-inherit', '--', fixtureChild(), 'env']
  const inherited = await cli(env, { through: `RAW=${raw} exec "$@"` })
  expect(inherited.stdout).toContain('RAW=a\u00ffb\n')
  const option = await cli(['run', '--env-empty'], { through: `exec "$@" --cwd ${raw} -- /bin/true` })
  expect(option).toMatchObject({ code: 125, stderr: expect.stringMatching(complaint('UTF-8')) })
})
