import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Tree } from '../scripts/tree'

const names = ['x64/exactspawn.glibc', 'x64/exactspawn.musl', 'arm64/exactspawn.glibc', 'arm64/exactspawn.musl']
const binaries = names.map((name) => `prebuilds/linux-${name}.node`)
const files = { 'lib/index.ts': '', 'dist/index.js': '', ...Object.fromEntries(binaries.map((path) => [path, ''])) }
const manifest = {
  name: 'exactspawn',
  version: '1.0.0',
  main: './dist/index.js',
  files: ['dist', 'prebuilds'],
  gypfile: false,
}

function project(changed: object = {}, more: Record<string, string> = {}): Tree {
  const tree = new Tree({ 'package.json': JSON.stringify({ ...manifest, ...changed }), ...files, ...more })
  for (const path of binaries) chmodSync(join(tree.root, path), 0o755)
  return tree
}

test('a tarball is refused for all that runs, compiles, is missing, left over or too much [B098]', () => {
  const changed = {
    scripts: { postinstall: 'node x' },
    gypfile: true,
    types: './dist/index.d.ts',
    files: [...manifest.files, 'binding.gyp', 'test'],
  }
  const more = {
    'binding.gyp': '{}',
    'dist/gone.js': '',
    'dist/index.js': 'x'.repeat(3 * 1024 * 1024 + 1),
    'test/a.test.ts': '',
  }
  const tree = project(changed, more)
  chmodSync(join(tree.root, binaries[0] as string), 0o644)
  const { code, found } = tree.check('check-pack')
  expect(found).toEqual([
    expect.stringContaining('package.json: has a script postinstall'),
    expect.stringContaining('package.json: lacks "gypfile": false'),
    expect.stringContaining('package.json: names dist/index.d.ts, which is not packed'),
    expect.stringContaining(`${binaries[0]}: has mode 644`),
    expect.stringContaining('binding.gyp: makes package managers compile'),
    expect.stringContaining('dist/gone.js: has no source lib/gone.ts'),
    expect.stringContaining('test/a.test.ts: is not for users'),
    expect.stringMatching(/^tarball: \d+ bytes unpacked, over 3145728/),
  ])
  expect(code).toBe(1)
})

test('a tarball that lacks a binary is refused, unless only the others are asked for [B100]', () => {
  const tree = project({ files: ['dist', ...binaries.slice(0, 3)] })
  expect(tree.check('check-pack').found).toEqual([expect.stringContaining(`${binaries[3]}: is not packed`)])
  expect(tree.check('check-pack', 'x64-glibc', 'x64-musl', 'arm64-glibc')).toMatchObject({ code: 0, found: [] })
})

test('a tarball of what belongs there passes, with its sizes told [B098]', () => {
  const { code, found, printed } = project().check('check-pack')
  expect([code, found]).toEqual([0, []])
  expect(printed).toMatch(/^check-pack: ok, 6 files, \d+ bytes packed, \d+ unpacked$/m)
})
