import { expect, test } from 'vitest'
import { Tree } from './tree'

const good = `
test('a map with a cycle arrives [N-1]', () => {})
test.each([[1, (2)], [3, 4]])('number %i arrives [N-1, B003]', () => {})
it.each\`a | b\`('$a arrives [N-1]', () => {})
test(\`\${'any'} text arrives [N-1]\`, () => { /'/.test('it'); iterator.skip(1) })
// test.only('a comment', () => {})
await new Promise((done) => setTimeout(done, 5)) // waits: the clock itself is under test
`

test.each([
  ['a title without a row', "test('arrives', () => {})", 'does not say what it proves'],
  ['a title whose row is not last', "test('[N-1] arrives', () => {})", 'does not say what it proves'],
  ['a wish', "test('a map should arrive [N-1]', () => {})", 'is a wish'],
  ['a computed title', 'test(name, () => {})', 'is not written in place'],
  ['a test run alone', "test.only('arrives [N-1]', () => {})", 'run alone or left out'],
  ['a skipped group', "describe.skip('maps', () => {})", 'run alone or left out'],
  ['a test to be written', "test.todo('arrives [N-1]')", 'run alone or left out'],
  ['a sleep', 'await new Promise((done) => setTimeout(done, 5))', 'a bare setTimeout'],
  ['numbers of chance', 'const n = Math.random() // waits: no', 'no second run can repeat'],
])('%s in a test file is found with its line [I-14]', (_, line, what) => {
  const { code, found } = new Tree({ 'test/io/a.test.ts': `${good}${line}\n` }).check('check-tests')

  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`test/io/a.test.ts:${good.split('\n').length}: `)
  expect(found[0]).toContain(what)
  expect(code).toBe(1)
})

test('a native title is joined over its lines and held to the same form [I-14]', () => {
  const source = 'TEST("the first half "\n     "should arrive") {\n}\nTEST("arrives [N-1]") {}\n'
  const { code, found } = new Tree({ 'native/test/a.cpp': source }).check('check-tests')

  expect(found.map((line) => line.split(': ')[0])).toEqual(['native/test/a.cpp:1', 'native/test/a.cpp:1'])
  expect(found[0]).toContain('"the first half should arrive"')
  expect(code).toBe(1)
})

test('titles in all their forms pass, and files that hold no tests are left alone [I-14]', () => {
  const { code, printed } = new Tree({
    'test/io/a.test.ts': good,
    'test/support/wait-for.ts': 'setTimeout(done, 5)\n',
  }).check('check-tests')

  expect(printed).toContain('ok, 4 tests in 1 files')
  expect(code).toBe(0)
})
