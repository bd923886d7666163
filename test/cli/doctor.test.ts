import { release } from 'node:os'
import { join } from 'node:path'
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DoctorReport } from '../../lib/cli/doctor-facts.js'
import { denysys, root } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'
import { cli } from './cli.js'

interface Examined {
  code: number | null
  report: DoctorReport
}

async function examined(through?: string, env: Record<string, string> = {}): Promise<Examined> {
  const how = { env: { DENYSYS: denysys(), ...env }, ...(through === undefined ? {} : { through }) }
  const { code, stdout, stderr } = await cli(['doctor', '--json'], how)
  expect(stderr).toBe('')
  return { code, report: JSON.parse(stdout) as DoctorReport }
}

const offered = ({ mechanisms }: DoctorReport): Record<string, boolean> =>
  Object.fromEntries(mechanisms.map((mechanism) => [mechanism.name, mechanism.offered]))

test('a machine on which the addon does not load is told as that, with 125 [B098]', async () => {
  const { code, report } = await examined(undefined, { EXACTSPAWN_PREBUILD: tmpFolder() })
  expect(code).toBe(125)
  expect(report.addon).toMatchObject({ file: null, bytes: null, error: expect.stringContaining('load') })
  expect(report.start).toMatchObject({ mechanism: null, exitWatchedBy: null })
  expect(report.degraded).toEqual([expect.stringContaining('nothing works')])
})

test('the document has stable keys and says what is so [N-8]', async () => {
  const { code, report } = await examined()
  expect(code).toBe(0)
  expect(Object.keys(report)).toEqual([
    ...['exactspawn', 'host', 'addon', 'start', 'mechanisms', 'proc', 'cgroup', 'limits', 'degraded'],
  ])
  const { host, addon, start, limits } = report
  expect(host).toMatchObject({ platform: 'linux', arch: process.arch, kernel: release(), node: process.versions.node })
  expect(addon).toMatchObject({ error: null, file: join(root, 'build', 'Release', 'exactspawn.node') })
  expect(addon.bytes).toBe(statSync(addon.file as string).size)
  expect(start).toMatchObject({ error: null, mechanism: expect.stringMatching(/^(clone3|clone|fork)$/) })
  expect(limits?.nofileChild).toBeLessThanOrEqual(1_024)
  for (const { purpose, instead, cost } of report.mechanisms) expect([purpose, instead, cost]).not.toContain('')
})

test('what is denied is told, with what is used instead and what that costs [N-8]', async () => {
  const open = await examined()
  for (const [rule, name, mechanism] of [
    ['ENOSYS clone3', 'clone3', 'clone'],
    ['EPERM close_range', 'closeRange', open.report.start.mechanism],
    ['ENOSYS pidfd_send_signal', 'pidfd', open.report.start.mechanism],
  ] as const) {
    const { code, report } = await examined(`exec "$DENYSYS" ${rule} -- "$@"`)
    expect(code).toBe(0)
    expect(offered(report)[name]).toBe(false)
    expect(report.start.mechanism).toBe(mechanism)
    expect(report.degraded.join('\n')).toMatch(new RegExp(`^${name} is not to be had; instead: .+\\. .+\\.$`, 'm'))
    if (name === 'pidfd') expect(report.start.exitWatchedBy).toBe('thread')
  }
})

test('people get each fact and each mechanism in a line of its own [N-8]', async () => {
  const { code, stdout, stderr } = await cli(['doctor'], {
    through: 'exec "$DENYSYS" ENOSYS close_range -- "$@"',
    env: { DENYSYS: denysys() },
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const name of ['kernel', 'libc', 'node', 'addon', 'a start', 'cgroup v2', 'open files', 'pipe pages']) {
    expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'))
  }
  expect(stdout).toMatch(/^ {2}clone3 +in use {3}\S/m)
  expect(stdout).toMatch(/^ {2}closeRange +missing {2}\S.*instead: a walk/m)
  expect(stdout).toContain('Not at its best:\n  - closeRange')
})

test('a reader that goes away ends it without a word, with 141 [B055]', async () => {
  // It begins when nobody has the reading end any more: a file says that the reader has closed it.
  const gone = join(tmpFolder(), 'gone')
  const through = `{ until [ -e "$GONE" ]; do sleep 0.01; done; "$@"; echo "code $?" >&2; } | { exec <&-; : >"$GONE"; }`
  const { stderr } = await cli(['doctor'], { through, env: { GONE: gone } })
  expect(stderr).toBe('code 141\n')
})

test('output that cannot be written is a failure, and its reason is said [B055]', async () => {
  const { code, stderr } = await cli(['doctor'], { through: '"$@" >/dev/full' })
  expect(stderr).toMatch(/^exactspawn: ENOSPC: .*\n$/)
  expect(code).toBe(125)
})
