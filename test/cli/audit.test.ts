import { expect, test } from 'vitest'
import { cli } from './cli.js'

interface Row {
  name: string
  childProcess: { value: string; verdict: string }
  exactspawn: { value: string; verdict: string }
}

test('exactspawn gives what was declared, and node:child_process what the host has [P-1, B004]', async () => {
  const { code, stdout, stderr } = await cli(['audit', '--json'], { env: { EXACTSPAWN_SECRET: 'x' } })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { host, rows } = JSON.parse(stdout) as { host: { strays: number[] }; rows: Row[] }
  expect(host.strays).toEqual([17, 40, 251])
  const verdicts = Object.fromEntries(rows.map(({ name, childProcess }) => [name, childProcess.verdict]))
  expect(verdicts).toMatchObject({
    descriptors: 'leaks',
    '0, 1 and 2': 'differs',
    environment: 'inherits',
    umask: 'inherits',
    'ignored signals': 'inherits',
    'process group': 'inherits',
    'missing working directory': 'misleads',
  })
  const declared = rows.filter(({ name }) => !name.startsWith('a start'))
  expect(declared.map(({ exactspawn }) => exactspawn.verdict)).toEqual(declared.map(() => 'exact'))
  const [descriptors] = rows as [Row]
  expect(descriptors.childProcess.value).toBe('0 1 2 17 40 251')
  expect(descriptors.exactspawn.value).toBe('0 1 2')
})

test('people get a table with a row for each difference, in plain lines [P-1]', async () => {
  const { code, stdout } = await cli(['audit'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ +node:child_process +exactspawn$/m)
  expect(stdout).toMatch(/^descriptors +leaks +0 1 2 17 40 251 +exact +0 1 2$/m)
  expect(stdout).toMatch(/^umask +inherits +0002 +exact +0077$/m)
  expect(stdout).not.toContain('\x1b')
})
