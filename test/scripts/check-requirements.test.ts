import { expect, test } from 'vitest'
import { Tree } from './tree'

const rows = '| id | what |\n|---|---|\n| M-01 | one |\n| M-10 [U] | ten |\n| B104 | split |\n'

function tree(titles: string[], uncovered: string[], document = rows): Tree {
  return new Tree({
    'docs/requirements.md': document,
    'docs/requirements-uncovered.txt': uncovered.map((id) => `${id}\n`).join(''),
    'test/a.test.ts': titles.map((title) => `test('${title}', () => {})\n`).join(''),
    'native/test/b.cpp': 'TEST("native [B104]") {}\n',
  })
}

test('a row that has no test and is not listed is found [I-10]', () => {
  const { code, found } = tree([], ['M-01']).check('check-requirements')

  expect(found).toEqual([expect.stringContaining('M-10 has no test')])
  expect(code).toBe(1)
})

test('a listed row that has a test by now is found with its line [I-10]', () => {
  const { code, found } = tree(['one [M-01]'], ['M-01', 'M-10']).check('check-requirements')

  expect(found).toEqual([expect.stringContaining('docs/requirements-uncovered.txt:1: M-01 has a test now')])
  expect(code).toBe(1)
})

test.each(['M-02', 'M-01…M-10', 'M-01,M-10', 'b104'])('a title that cites "%s" is found [I-10]', (id) => {
  const { code, found } = tree(['x [M-01, M-10]', `y [${id}]`], []).check('check-requirements')

  expect(found).toEqual([expect.stringContaining(`test/a.test.ts:2: "${id}" is no row`)])
  expect(code).toBe(1)
})

test('an id given to two rows is found [I-10]', () => {
  const twice = tree(['x [M-01, M-10]'], [], `${rows}| M-01 | again |\n`)
  const { code, found } = twice.check('check-requirements')

  expect(found).toEqual([expect.stringContaining('docs/requirements.md:6: M-01 is there twice')])
  expect(code).toBe(1)
})

test('--update shortens the list and never adds to it [I-10]', () => {
  const shorter = tree(['one [M-01]'], ['M-01', 'M-10'])
  expect(shorter.check('check-requirements', '--update').code).toBe(0)
  expect(shorter.read('docs/requirements-uncovered.txt')).toBe('M-10\n')

  const longer = tree([], ['M-01'])
  expect(longer.check('check-requirements', '--update').code).toBe(1)
  expect(longer.read('docs/requirements-uncovered.txt')).toBe('M-01\n')
})

test('--init lists every row without a test, and the next run agrees and counts by family [I-10]', () => {
  const fresh = tree(['one [M-01]'], [])
  expect(fresh.check('check-requirements', '--init').code).toBe(0)
  expect(fresh.read('docs/requirements-uncovered.txt')).toBe('M-10\n')

  const { code, printed } = fresh.check('check-requirements')
  expect(printed).toContain('M  1/2  without a test: M-10\nB  1/1\n')
  expect(code).toBe(0)
})
