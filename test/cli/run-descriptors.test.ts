import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Audit } from '../support/audit.js'
import { auditedNumbers } from '../support/audit.js'
import { fixtureChild } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'
import type { CliOptions } from './cli.js'
import { run } from './cli.js'

const MiB = 1024 * 1024
// Bytes that nothing could have in a table.
const bytes = randomBytes(MiB)
const digest = (data: Buffer): string => createHash('sha256').update(data).digest('hex')

async function born(options: readonly string[], how: CliOptions = {}): Promise<Audit> {
  const { code, stdout, stderr } = await run(options, [fixtureChild(), 'audit'], how)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Audit
}

test('a program has the standard streams and what is named, whatever the caller has open [P-1, B004]', async () => {
  const through = 'exec 7</dev/null 8>/dev/null; exec "$@"'
  expect(auditedNumbers(await born([], { through }))).toEqual([0, 1, 2])
  expect(auditedNumbers(await born(['--fd', '5=null', '--fd', '40=same:5'], { through }))).toEqual([0, 1, 2, 5, 40])
  expect(auditedNumbers(await born(['--fd', '0=closed', '--fd', '9=inherit:7'], { through }))).toEqual([1, 2, 9])
})

test('each source of --fd is what it says [P-1]', async () => {
  const folder = tmpFolder()
  const path = (name: string) => join(folder, name)
  writeFileSync(path('in:put'), 'input')
  writeFileSync(path('log'), 'before\n')
  writeFileSync(path('out'), 'longer than what is written')
  const options = [
    ...['--fd', `0=file:${path('in:put')}:read`, '--fd', `3=file:${path('log')}:append`],
    ...['--fd', `4=file:${path('out')}:write`, '--fd', '2=same:1', '--fd', '6=inherit:1', '--fd', '7=null'],
  ]
  const script = 'cat; echo log >&3; echo out >&4; echo two >&2; echo six >&6; echo gone >&7'
  const { code, stdout, stderr } = await run([...options, '--env', 'PATH=/usr/bin:/bin'], ['sh', '-c', script])
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'inputtwo\nsix\n', stderr: '' })
  expect(readFileSync(path('log'), 'utf8')).toBe('before\nlog\n')
  expect(readFileSync(path('out'), 'utf8')).toBe('out\n')
})

test('umask, folder, limits and ids are those declared; the umask is otherwise the caller\'s [P-1, C-03]', async () => {
  const through = 'umask 031; exec "$@"'
  expect((await born([], { through })).umask).toBe(0o031)
  const folder = tmpFolder()
  const limits = ['--limit', 'core=0', '--limit', 'nofile=99:200']
  const declared = ['--umask', '027', '--cwd', folder, '--no-new-privs', ...limits]
  const report = await born(declared, { through })
  expect(report).toMatchObject({ umask: 0o027, cwd: folder, no_new_privs: 1, sigmask: '0'.repeat(16), ignored: [] })
  expect(report.rlimits).toMatchObject({ core: [0, 0], nofile: [99, 200] })
  const [uid, gid] = [process.getuid?.() as number, process.getgid?.() as number]
  const own = await born(['--uid', String(uid), '--gid', String(gid)])
  expect(own).toMatchObject({ uids: [uid, uid, uid], gids: [gid, gid, gid] })
})

test('a program leads a group of its own, or a session, or stays in the caller\'s group [X-01]', async () => {
  const own = await born([])
  expect(own.pgid).toBe(own.pid)
  expect(own.sid).not.toBe(own.pid)
  const session = await born(['--group', 'session'])
  expect(session).toMatchObject({ pgid: session.pid, sid: session.pid })
  const inherited = await born(['--group', 'inherit'])
  expect(inherited.pgid).not.toBe(inherited.pid)
})

test('1 MiB goes in and comes out unchanged [B039]', async () => {
  const { code, stdout, stderr } = await run([], ['/bin/cat'], { stdin: bytes })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(digest(Buffer.from(stdout, 'latin1'))).toBe(digest(bytes))
})

test('non-blocking streams of the caller are carried, and the program has blocking ones [B036]', async () => {
  const through = `"$FIXTURE" nonblock 0 -- nonblock 1 -- nonblock 2; exec "$@"`
  const how = { through, env: { FIXTURE: fixtureChild() } }
  const report = await born([], how)
  expect(auditedNumbers(report)).toEqual([0, 1, 2])
  for (const { statusflags } of report.fds) expect(statusflags & constants.O_NONBLOCK).toBe(0)

  const carried = await run([], ['/bin/cat'], { ...how, stdin: bytes })
  expect({ code: carried.code, stderr: carried.stderr }).toEqual({ code: 0, stderr: '' })
  expect(digest(Buffer.from(carried.stdout, 'latin1'))).toBe(digest(bytes))
})

test('a non-blocking file is given away as it is, for the flag means nothing there [B036]', async () => {
  const file = join(tmpFolder(), 'output')
  const through = `exec >>'${file}'; "$FIXTURE" nonblock 1; exec "$@"`
  const { code } = await run([], ['/bin/echo', 'text'], { through, env: { FIXTURE: fixtureChild() } })
  expect(code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe('text\n')
})

test('a reader that goes away ends the program by SIGPIPE and is no error to tell of [B055]', async () => {
  const report = (before: string) => ({
    through: `${before} { "$@"; echo "code $?" >&2; } | head -n 1`,
    env: { FIXTURE: fixtureChild() },
  })
  expect(await run([], ['/usr/bin/yes'], report(''))).toMatchObject({ stdout: 'y\n', stderr: 'code 141\n' })
  const carried = await run([], ['/usr/bin/yes'], {
    ...report(''),
    through: '{ "$FIXTURE" nonblock 1; "$@"; echo "code $?" >&2; } | head -n 1',
  })
  expect(carried).toMatchObject({ stdout: 'y\n', stderr: 'code 141\n' })
})

test('a descriptor of this command\'s own is not given away for one of the caller\'s [P-1]', async () => {
  const { code, stdout, stderr } = await run(['--fd', '7=inherit:3'], ['/bin/echo', 'ran'])
  expect({ code, stdout }).toEqual({ code: 125, stdout: '' })
  expect(stderr).toMatch(/^exactspawn: --fd 7=inherit:3: .*\n$/)
})
