/** `exactspawn lanes`: a plan of slots on workers that are used again. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readAttemptJournal } from '../../lib/reuse/journal-reading.js'
import { schemaOf } from '../support/json-schema.js'
import { alive } from '../support/process-table.js'
import { tmpFolder } from '../support/tmp.js'
import { until } from '../support/until.js'
import { partsOf } from '../support/owner.js'
import { cli, startCli } from './cli.js'

const accepts = schemaOf('attempt-evidence.schema.json')
const acting = (...execute: unknown[]) => ({ prepare: { implementation_parameters: { execute } } })

function planIn(folder: string, changes: object = {}): string {
  const path = join(folder, 'plan.json')
  const specifications = [
    { name: 'one', implementationSeed: 7, warmUps: [{}], slots: [{}, acting('member'), {}] },
    { name: 'two', implementationSeed: 8, warmUps: [{}], slots: [{}, {}, {}, {}] },
  ]
  writeFileSync(path, JSON.stringify({ lanes: 3, worker: partsOf({ warmUps: 1 }), specifications, ...changes }))
  return path
}

function rootIn(folder: string): string {
  const root = join(folder, 'root')
  mkdirSync(root, { mode: 0o700 })
  return root
}

const twice = { name: 'one', warmUps: [{}], slots: [{}] }

test.each<[changes: object, word: string]>([
  [{ lanes: 0 }, 'lanes must be an integer from 1 to 1024'],
  [{ lanes: 1025 }, 'lanes must be an integer from 1 to 1024'],
  [{ timeoutMs: 'x' }, 'timeoutMs must be a number of milliseconds'],
  [{ specifications: [twice, { ...twice, implementationSeed: 8 }] }, 'specifications[1]: name must be one that no other has'],
  [{ specifications: [twice, { ...twice, name: 'other', implementationSeed: -3 }] }, "'implementationSeed'"],
  [{ retries: 1 }, 'retries is no field'],
  [{ specifications: {} }, 'specifications must be an array'],
  [{ specifications: [{ name: '', slots: [] }] }, 'specifications[0]: name must be'],
  [{ specifications: [{ name: 'one' }] }, 'specifications[0]: slots must be an array'],
  [{ specifications: [{ name: 'one', slots: [{ prepare: { implementation_seed: 1 } }] }] }, 'implementation_seed must be absent'],
  [{ specifications: [{ name: 'one', slots: [{ execute: { result: 1 } }] }] }, "slots[0]: execute: check message field 'result'"],
  [{ worker: { ...partsOf(), role: 'owner' } }, "'worker.role'"],
])('a plan that cannot be meant, %j, is refused before anything starts [R-02]', async (changes, word) => {
  const folder = tmpFolder()
  const root = rootIn(folder)
  const journal = join(folder, 'journal')
  const { code, stdout, stderr } = await cli(['lanes', planIn(folder, changes), '--private-root', root, '--journal', journal])
  expect({ code, stdout }).toEqual({ code: 125, stdout: '' })
  expect(stderr).toContain(word)
  expect(readdirSync(folder).toSorted()).toEqual(['plan.json', 'root'])
})

test('into a pipe goes a line for each event: slot, phase, warm-up or measured, and replacements [R-02, R-04]', async () => {
  const folder = tmpFolder()
  const root = rootIn(folder)
  const journal = join(folder, 'journal')
  const { code, stdout, stderr } = await cli(['lanes', planIn(folder), '--private-root', root, '--journal', journal])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('\u001b')
  const lines = stdout.trimEnd().split('\n')
  expect(lines.pop()).toBe('attempts 7, completed 7, failed 0')
  const of = (lane: number) => lines.filter((line) => line.startsWith(`lane ${lane} `)).map((line) => line.split('  ').slice(1))
  const cleaning = ['reset', 'directory', 'check']
  const words = (lane: number) => of(lane).map(([, word]) => (word as string).replace(/ \d{2,}$/, ''))
  const begin = ['begun', 'launching', 'launched', 'warm-up 0', ...cleaning, 'measuring', 'completed']
  const warmAgain = ['begun', ...cleaning, 'kept', 'warm-up 0', ...cleaning, 'measuring', 'completed']
  const again = ['begun', ...cleaning, 'kept', 'measuring', 'completed']
  expect(words(1)).toEqual([...begin, ...warmAgain, ...again])
  expect(words(2).slice(begin.length)).toEqual([
    'begun',
    ...cleaning,
    'replaced: processes_left',
    ...begin.slice(1),
  ])
  expect(of(1).at(-1)).toEqual(['two/3', 'completed'])
  const { attempts, torn } = await readAttemptJournal(journal)
  expect(torn).toEqual([])
  expect(attempts.map(({ attempt }) => attempt).toSorted()).toEqual(['one/0', 'one/1', 'one/2', 'two/0', 'two/1', 'two/2', 'two/3'])
  expect(readdirSync(root)).toEqual([])
})

test('as one document it is the evidence, and a failed attempt is told by the exit code [R-33, R-36]', async () => {
  const folder = tmpFolder()
  const specifications = [{ name: 'one', warmUps: [{}], slots: [{}, acting('crash')] }]
  const { code, stdout, stderr } = await cli(['lanes', planIn(folder, { specifications, lanes: 1 }), '--json'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  const { attempts } = JSON.parse(stdout) as { attempts: { outcome: string; observation?: { statistics: object } }[] }
  expect(attempts.every(accepts)).toBe(true)
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['completed', 'failed'])
  expect(attempts[0]?.observation).toMatchObject({ statistics: { executes: 2, found: [] } })
})

test('a run that is interrupted leaves no worker and no directory [R-43]', async () => {
  const folder = tmpFolder()
  const root = rootIn(folder)
  const specifications = [{ name: 'one', warmUps: [{}], slots: [acting(['sleep', 30]), acting(['sleep', 30])] }]
  const started = startCli(['lanes', planIn(folder, { specifications, lanes: 2 }), '--private-root', root], { stdin: '' })
  await until('both at work', () => started.stdout().split('measuring').length === 3)
  const pids = [...started.stdout().matchAll(/launched (\d+)/g)].map(([, pid]) => Number(pid))
  started.process.kill('SIGTERM')
  const { code } = await started.end
  expect(code).toBe(143)
  expect(pids).toHaveLength(2)
  await until('the end of both', () => !pids.some(alive))
  expect(readdirSync(root)).toEqual([])
})

test('on a terminal each lane has its line, drawn over as it goes on [R-02]', async () => {
  const folder = tmpFolder()
  const plan = planIn(folder, {
    specifications: [
      { name: 'one', warmUps: [acting(['sleep', 0.5])], slots: [{}, acting('member'), {}] },
      { name: 'two', warmUps: [{}], slots: [{}, {}, {}, {}] },
    ],
  })
  const through = `exec python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@"`
  const { code, stdout } = await cli(['lanes', plan], { through, env: { TERM: 'xterm' } })
  expect(code).toBe(0)
  const last = stdout.slice(stdout.lastIndexOf('\u001b[3A')).split('\r\n')
  expect(last[0]).toMatch(/lane 1 {2}two\/3 +completed +\d+\.\d s {2}measured +done 3 {2}failed 0 {2}replaced 0/)
  expect(last[1]).toMatch(/lane 2 {2}two\/1 +completed +\d+\.\d s {2}measured +done 2 {2}failed 0 {2}replaced 1 \(processes_left\)/)
  expect(last[2]).toMatch(/lane 3 {2}two\/2 +completed/)
  expect(last[3]).toBe('\u001b[?7hattempts 7, completed 7, failed 0')
  expect(stdout).toMatch(/lane \d {2}\S+ +warm-up 0 +\d+\.\d s {2}warm-up/)
})

test('a reader that goes away ends the run: 141, and nothing is left [R-02]', async () => {
  const folder = tmpFolder()
  const root = rootIn(folder)
  const words = ['lanes', planIn(folder), '--private-root', root]
  const { stdout, stderr } = await cli(words, { through: 'exec 3>&1; { "$@"; echo "code $?" >&3; } | head -n 1' })
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^lane \d {2}one\/\d {2}begun\ncode 141\n$/)
  expect(readdirSync(root)).toEqual([])
})

test('output that cannot be written ends the run: 125 with the reason, and nothing is left [R-02]', async () => {
  const folder = tmpFolder()
  const root = rootIn(folder)
  const { code, stderr } = await cli(['lanes', planIn(folder), '--private-root', root], { through: '"$@" >/dev/full' })
  expect(stderr).toMatch(/^exactspawn: ENOSPC: .*\n$/)
  expect(code).toBe(125)
  expect(readdirSync(root)).toEqual([])
})

test('what was not done is named with its reason, and what was not begun is counted [R-02, R-37]', async () => {
  const folder = tmpFolder()
  const journal = join(folder, 'journal')
  // The journal's own end is at one block of 512 bytes: no evidence fits.
  const through = 'trap "" XFSZ; ulimit -f 1; "$@"'
  const { code, stdout } = await cli(['lanes', planIn(folder), '--journal', journal], { through })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^one\/0: .*publish/m)
  expect(stdout).toMatch(/attempts 7, completed 0, failed 7\n$/)

  const slow = [{ name: 'one', warmUps: [{}], slots: [acting(['sleep', 30]), {}, {}] }, { ...twice, name: 'two' }]
  const started = startCli(['lanes', planIn(folder, { specifications: slow, lanes: 1 })], { stdin: '' })
  await until('the measuring', () => started.stdout().includes('measuring'))
  started.process.kill('SIGINT')
  expect((await started.end).code).toBe(130)
  expect(started.stdout()).toMatch(/attempts 4, completed 0, failed 1, not begun 3\n$/)
})

test('more lanes than the terminal has rows are told in one line, and nothing scrolls [R-02]', async () => {
  const plan = planIn(tmpFolder(), { lanes: 9, specifications: [{ name: 'a-name-of-twenty-one', warmUps: [{}], slots: [{}, {}] }] })
  const through = `exec python3 -c 'import fcntl, pty, struct, sys, termios; sys.exit(pty.spawn(["sh", "-c", "stty rows 6; exec \\"$@\\"", "sh", *sys.argv[1:]]) >> 8)' "$@"`
  const { code, stdout } = await cli(['lanes', plan], { through, env: { TERM: 'xterm' } })
  expect(code).toBe(0)
  const last = stdout.slice(stdout.lastIndexOf('\u001b[4A')).split('\r\n')
  expect(last[0]).toMatch(/lane 1 {2}a-name-of-twent\S+ +completed/)
  expect(last[3]).toContain('and 6 more lanes')
  expect(last[4]).toContain('attempts 2, completed 2, failed 0')
})

test('lanes tells its options, and what is missing [R-02]', async () => {
  expect((await cli(['lanes', '--help'])).stdout).toContain('--journal FILE')
  const { code, stderr } = await cli(['lanes'])
  expect([code, stderr]).toEqual([125, 'exactspawn: lanes: the file of the plan comes first\n'])
  expect((await cli(['--help'])).stdout).toContain('exactspawn lanes PLAN.json')
})
