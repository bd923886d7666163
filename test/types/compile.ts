/** Compiles a text as a user would write it, and gives what the compiler finds. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from '../support/fixture.js'

const strict: ts.CompilerOptions = {
  module: ts.ModuleKind.Node20,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules', '@types')],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
}

// What no test writes is read once for all: the compiler's own library and Node's types.
const host = ts.createCompilerHost(strict)
const { getSourceFile } = host
const shared = new Map<string, ts.SourceFile | undefined>()
host.getSourceFile = (path, ...rest) => {
  if (!path.includes('/node_modules/')) return getSourceFile(path, ...rest)
  if (!shared.has(path)) shared.set(path, getSourceFile(path, ...rest))
  return shared.get(path)
}

/** Makes a project in a folder in which `exactspawn` is this package, by its exports. */
export function userProject(folder: string): (files: Record<string, string>, options?: ts.CompilerOptions) => string[] {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'exactspawn'))
  return (files, options = {}) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const names = Object.keys(files).map((name) => join(folder, name))
    const program = ts.createProgram(names, { ...strict, ...options }, host)
    return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line + 1
      const name = file === undefined ? '' : file.fileName.slice(folder.length + 1)
      return `${name}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  }
}
