import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'

/** The addon as a release has it. */
function stripped(): string {
  const path = join(tmpFolder(), 'exactspawn.glibc.node')
  execFileSync('strip', ['-o', path, join(root, 'build', 'Release', 'exactspawn.node')])
  return path
}

const check = (...args: string[]) => {
  return spawnSync(process.execPath, ['scripts/check-binary.mjs', ...args], { cwd: root, encoding: 'utf8' })
}

test('the addon loads with glibc 2.17 and needs no C++ runtime, libuv or engine [B102, B103, N-18]', () => {
  const { status, stdout, stderr } = check('--glibc', '2.17', stripped())
  expect([stderr, stdout.trim(), status]).toEqual(['', 'check-binary: ok, 1 files', 0])
})

test('the floor is kept by the symbols, not by the check: of a lower one they are refused [B102]', () => {
  const { status, stderr } = check('--glibc', '2.2', stripped())
  expect(stderr).toMatch(/needs glibc 2\.[\d.]+, over 2\.2\./)
  expect(status).toBe(1)
})
