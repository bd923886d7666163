import { expect, test } from 'vitest'
import { Tree } from './tree'

const built = 'build/Release/obj.target/exactspawn/native/core/child.o'

function treeWith(source: string): Tree {
  const tree = new Tree({ 'child.c': source, [built]: '' })
  tree.compile('-c', '-O2', 'child.c', '-o', built)
  return tree
}

test('a libc function between clone and exec is found by its name [I-1]', () => {
  const tree = treeWith('#include <unistd.h>\nint child(void) { return chdir("/") + (int)getpid(); }\n')
  const { code, found } = tree.check('check-child-symbols')

  expect(found).toEqual([expect.stringContaining(`${built}: needs chdir, getpid`)])
  expect(code).toBe(1)
})

test('an object that calls nothing passes, also when it is named [I-1]', () => {
  const tree = treeWith('int child(int a) { return a + 1; }\n')

  expect(tree.check('check-child-symbols').code).toBe(0)
  expect(tree.check('check-child-symbols', built).code).toBe(0)
})

test('no object, or one that nm cannot read, is never taken for a clean one [I-1]', () => {
  const tree = new Tree({ 'child.o': 'no object' })

  const missing = tree.check('check-child-symbols')
  const unreadable = tree.check('check-child-symbols', 'child.o')

  expect(missing.found).toEqual([expect.stringContaining('no object of native/core/child.cpp')])
  expect(unreadable.found).toEqual([expect.stringContaining('child.o: nm cannot read it')])
  expect([missing.code, unreadable.code]).toEqual([1, 1])
})
