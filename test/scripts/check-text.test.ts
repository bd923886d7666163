import { expect, test } from 'vitest'
import { Tree } from './tree'

// Put together here, so that this file holds none of what a repository must not hold.
const [work, root, farm] = ['work', 'root', 'farm'].map((name) => `/${name}`)
const registry = ['registry', 'npmjs', 'org'].join('.')

test.each([
  ["a machine's folder", 'docs/a.md', `see ${work}/main`, 'a folder of one machine'],
  ["another user's home", 'lib/a.ts', `const home = '${root}/.cache'`, 'a folder of one machine'],
  ["a lock file's host", 'package-lock.json', '"resolved": "https://a.org/a.tgz",', 'the host of a registry'],
  ['a registry', 'README.md', `from ${registry}`, 'the host of a registry'],
  ['unfinished work', 'lib/a.ts', '// TODO: later', 'unfinished'],
  ['how it was made', 'README.md', 'written by a language model', 'tells how it was made'],
  ['a plan that is not here', 'native/core/a.h', '// as in native.md 2.4', 'names a text that is not here'],
  ['white space at the end', 'lib/a.ts', 'const a = 1 ', 'white space at the end'],
])('%s is found with its line [I-13]', (_, path, line, what) => {
  const { code, found } = new Tree({ [path]: `first\n${line}\n` }).check('check-text')

  expect(found).toEqual([expect.stringContaining(what)])
  expect(found[0]).toMatch(new RegExp(`^${path}:2: `))
  expect(code).toBe(1)
})

test.each([
  [400, 'lib/a.ts', []],
  [401, 'lib/a.ts', [expect.stringContaining('lib/a.ts:401: 401 lines')]],
  [401, 'native/core/a.cpp', [expect.stringContaining('401 lines')]],
  [401, 'test/a.test.ts', []],
])('a file of %i lines at %s is judged by the limit [I-13]', (lines, path, expected) => {
  expect(new Tree({ [path]: 'x\n'.repeat(lines) }).check('check-text').found).toEqual(expected)
})

test('relative folders, a plan that is here, golden bytes and binaries pass [I-13]', () => {
  const { code, found } = new Tree({
    'lib/a.ts': `join(base, 'a${work}/b', \`\${dir}${root}/c\`, dir + '${farm}/d')\nregistry.ensure.all()\n`,
    'docs/native.md': 'native.md tells the order\n',
    'fixtures/frames/space.in': '{} \n',
    'docs/picture.png': 'TODO \0 \n',
  }).check('check-text')

  expect(found).toEqual([])
  expect(code).toBe(0)
})
