/** What the built binary asks of its host. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { addonFile } from '../../lib/addon/addon.js'

interface HeaderSymbols {
  symbols: Record<string, { js_native_api_symbols: string[]; node_api_symbols: string[] }>
}

const imports = execFileSync('nm', ['-D', '--undefined-only', addonFile()], { encoding: 'utf8' })
  .split('\n')
  .map((line) => line.trim().replace(/^\w /, '').replace(/@.*$/, ''))

// External buffers are refused where the engine has a memory cage.
test('the binary lends no memory to the engine [B103]', () => {
  expect(imports).toContain('napi_create_arraybuffer')
  expect(imports.filter((name) => name.includes('external'))).toEqual([])
})

test('the binary asks for nothing beyond Node-API 8, which the oldest supported host has [B103]', () => {
  const { symbols } = require('node-api-headers') as HeaderSymbols
  const known = Object.entries(symbols)
    .filter(([version]) => Number(version.slice(1)) <= 8)
    .flatMap(([, names]) => [...names.js_native_api_symbols, ...names.node_api_symbols])
  expect(imports.filter((name) => /^(?:napi|node_api|uv)_|^_ZN2v8/.test(name) && !known.includes(name))).toEqual([])
})
