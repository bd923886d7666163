import { expect, test } from 'vitest'
import { Tree, checkRepository } from './tree'

const good = {
  'lib/index.ts': "// names\nexport { a } from './process/spawn'\nexport type {\n  B,\n} from './base/b'\n",
  'lib/esm/index.mts': "export { spawn } from '../index.js'\n",
  'lib/base/b.ts': 'export const codes = []\n',
  'lib/addon/addon.ts': "import load = require('node-gyp-build')\nexport const addon = load('x.node')\n",
  'lib/process/spawn.ts': "import { codes } from '../base/b'\nimport { fdMap } from './fd-map'\n",
  'lib/process/fd-map.ts': "import { addon } from '../addon/addon.js'\n",
  'lib/protocol/frame.ts': "import { codes } from '../base/b'\n",
  'lib/backend/contract.ts': 'export interface Handle {}\n',
  'lib/backend/local/a.ts': "import { spawn } from 'node:child_process'\n",
  'lib/cli/audit.ts': "import { spawn } from 'node:child_process'\nimport { addon } from '../addon/addon'\n",
  'native/core/fd.h': '#include "sys_error.h"\n// uv_spawn and napi_value are not for here\n',
  'native/core/sys_error.h': '#include <cstdint>\n',
  'native/binding/module.cpp': '#include <node_api.h>\n#include "core/fd.h"\ndlsym(me, "uv_run");\n',
}

test.each([
  ['an upward import', 'lib/base/a.ts', "import { spawn } from '../process/spawn'", 'base imports process'],
  ['a sideways import', 'lib/protocol/a.ts', "import '../process/spawn'", 'protocol imports process'],
  ['a type from above', 'lib/io/a.ts', "import type { Spec } from '../process/spawn'", 'io imports process'],
  ['an import in the code', 'lib/io/a.ts', "const a = await import('../addon/addon.js')", 'io imports addon'],
  ['a backend behind a handle', 'lib/rpc/a.ts', "export * from '../backend/local/a'", 'rpc imports'],
  ['an import of the entry', 'lib/process/a.ts', "import { spawn } from '../index'", 'imports the entry'],
  ['a missing file', 'lib/base/a.ts', "import './gone'", "'./gone' is no file"],
  ['a folder without a row', 'lib/util/a.ts', 'export {}', 'belongs to no layer'],
  ['a file beside the entries', 'lib/process.ts', 'export {}', 'belongs to no layer'],
  ['an entry with code', 'lib/worker.ts', 'console.log(1)', 'an entry that does more than name'],
  ['node:child_process', 'lib/process/a.ts', "import cp = require('child_process')", 'node:child_process'],
  ['a second loader', 'lib/process/a.ts', "const load = require('node-gyp-build')", 'loads the addon'],
  ['an addon by its path', 'lib/process/a.ts', 'process.dlopen(module, path)', 'loads the addon'],
  ['Node-API in the core', 'native/core/a.cpp', '#include <node_api.h>', 'Node-API in the core'],
  ['a Node-API type in the core', 'native/core/a.cpp', 'napi_value value;', 'napi_value in the core'],
  ['the core above the binding', 'native/core/a.h', '#include "binding/module.cpp"', 'includes the binding'],
  ['libuv', 'native/binding/a.cpp', 'uv_loop_t* loop;', "uv_loop_t is libuv's"],
  ["libuv's header", 'native/binding/a.cpp', '#include <uv.h>', 'includes libuv'],
])('%s is found with its line [I-5, I-3]', (_, path, line, what) => {
  const { code, found } = new Tree({ ...good, [path]: `// first\n${line}\n` }).check('check-imports')

  expect(found).toEqual([expect.stringContaining(what)])
  expect(found[0]).toMatch(new RegExp(`^${path}:[12]: `))
  expect(code).toBe(1)
})

test('two files that import each other are found, in TypeScript and in C++ [I-5]', () => {
  const { code, found } = new Tree({
    ...good,
    'lib/io/x.ts': "import './y'\n",
    'lib/io/y.ts': "import './x'\n",
    'native/core/x.h': '#include "y.h"\n',
    'native/core/y.h': '#include "x.h"\n',
  }).check('check-imports')

  expect(found).toEqual([
    expect.stringContaining('a circle, lib/io/x.ts → lib/io/y.ts → lib/io/x.ts'),
    expect.stringContaining('a circle, native/core/x.h → native/core/y.h → native/core/x.h'),
  ])
  expect(code).toBe(1)
})

test('a core file that leads to a later one over a third is found [I-5]', () => {
  const { code, found } = new Tree({
    ...good,
    'native/core/fd_plan.cpp': '#include "other.h"\n',
    'native/core/other.h': '#include "spawn.h"\n',
    'native/core/spawn.h': '\n',
  }).check('check-imports')

  expect(found).toEqual([expect.stringContaining('fd_plan leads to spawn')])
  expect(code).toBe(1)
})

test('imports by the table pass [I-5]', () => {
  const { code, found } = new Tree(good).check('check-imports')

  expect(found).toEqual([])
  expect(code).toBe(0)
})

test('the files of this package import by the table [I-5, L-38]', () => {
  expect(checkRepository('check-imports')).toEqual([])
})
