import { expect, test } from 'vitest'
import { Tree } from './tree'

const entryPoints = `
int napi_register_module_v1(void) { return 0; }
int node_api_module_get_api_version_v1(void) { return 8; }
`
const pinned = ['-nodefaultlibs', '-lc', '-Wl,-z,nodelete']

// Source that imports one function, whatever its type, and exports nothing.
function importing(name: string): string {
  return `int ${name}(void); __attribute__((visibility("hidden"))) int (*volatile kept)(void) = ${name};`
}

function findIn(source: string, flags = pinned, args: string[] = []): string[] {
  const tree = new Tree({ 'a.c': source })
  tree.compile('-shared', '-fPIC', 'a.c', '-o', 'a.node', ...flags)
  const { code, found } = tree.check('check-binary', ...args, 'a.node')
  expect(code).toBe(found.length === 0 ? 0 : 1)
  return found
}

test.each([
  ['an export of ours', 'int helper(void) { return 1; }', 'exports helper'],
  ['the C++ runtime', importing('_Znwm'), '_Znwm is of the C++ runtime'],
  ['libuv', importing('uv_run'), 'uv_run is not Node-API'],
  ['a newer Node-API', importing('node_api_get_module_file_name'), 'is beyond Node-API 8'],
  ['a symbol from nowhere', importing('elsewhere'), 'nobody named provides elsewhere'],
  ['too many bytes', 'static char fill[500000] __attribute__((used)) = { 1 };', 'bytes, over 409600'],
])('a binary with %s is refused [I-15]', (_, source, what) => {
  expect(findIn(`${entryPoints}${source}\n`)).toEqual([expect.stringContaining(what)])
})

test.each([
  ['that may be unmapped', ['-nodefaultlibs', '-lc'], 'may be unmapped'],
  ['with an rpath', [...pinned, '-Wl,-rpath,/usr/lib'], 'has an rpath'],
  ['that needs a further library', [...pinned, '-Wl,--no-as-needed', '-lm'], 'needs libm.so.6'],
])('a binary %s is refused [I-15]', (_, flags, what) => {
  expect(findIn(entryPoints, flags)).toEqual([expect.stringContaining(what)])
})

test('a binary whose code is relocated where it is loaded is refused [I-15]', () => {
  const source = `${entryPoints}__asm__(".text\\n.quad napi_register_module_v1\\n");\n`

  const found = findIn(source, [...pinned, '-Wl,-z,notext'])

  expect(found).toEqual([expect.stringContaining('has text relocations')])
})

test('a symbol of a libc above the floor is refused, and passes at the floor [I-15]', () => {
  const source = entryPoints + importing('close_range')

  expect(findIn(source)).toEqual([expect.stringContaining('close_range needs glibc 2.34, over 2.17')])
  expect(findIn(source, pinned, ['--glibc', '2.33'])).toHaveLength(1)
  expect(findIn(source, pinned, ['--glibc', '2.34'])).toEqual([])
})

test('a binary without entry points, a file that is no binary, and no file are refused [I-15]', () => {
  expect(findIn('static int nothing;\n')).toEqual([
    expect.stringContaining('does not export napi_register_module_v1'),
    expect.stringContaining('does not export node_api_module_get_api_version_v1'),
  ])
  const tree = new Tree({ 'a.node': 'no binary' })
  const [unreadable, missing] = [tree.check('check-binary', 'a.node'), tree.check('check-binary')]
  expect(unreadable.found[0]).toContain('a.node: readelf cannot read it')
  expect(missing.found[0]).toContain('no file given')
  expect([unreadable.code, missing.code]).toEqual([1, 1])
})

test('a binary that needs libc alone passes [I-15]', () => {
  expect(findIn(entryPoints + importing('napi_create_object'))).toEqual([])
})
