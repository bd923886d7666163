import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/fixture.js'
import { tmpFolder } from '../support/tmp.js'
import { userProject } from './compile.js'

const user = `
  const requests = pipe('childReads')
  export const start = async (): Promise<number | null> => {
    await using directory = await createPrivateDirectory('/srv/private')
    await using child = await spawn({ program: '/bin/true', env: {}, cwd: directory.path, fds: { 3: requests.child } })
    const exit: Exit = await child.wait({ timeoutMs: 1_000 })
    return exit.code
  }
  export const why = (error: unknown): number | undefined => {
    if (ExactSpawnError.is(error, 'ERR_SPAWN_FAILED')) return error.details.errno
    return error instanceof SpawnError && error.code === 'ERR_COMMAND_CONSUMED' ? error.field.length : undefined
  }`
const names = '{ createPrivateDirectory, ExactSpawnError, pipe, spawn, SpawnError }'

test('the types serve import and require alike, with no check of a library left out [B098]', () => {
  const found = userProject(tmpFolder())({
    'a.mts': `import ${names} from 'exactspawn'\nimport type { Exit } from 'exactspawn'\n${user}`,
    'b.cts': `import ${names} from 'exactspawn'\nimport type { Exit } from 'exactspawn'\n${user}`,
  })
  expect(found).toEqual([])
})

test('a file below the package cannot be imported: its exports are the whole surface [B098]', () => {
  const found = userProject(tmpFolder())({ 'deep.mts': "import 'exactspawn/dist/addon/addon.js'\nexport {}\n" })
  expect(found).toEqual([expect.stringMatching(/^deep\.mts:1 Cannot find module/)])
})

const documents = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
const examples = documents
  .filter((path) => path.endsWith('.md'))
  .flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return [...text.matchAll(/^```(?:js|ts)\n(.*?)^```$/gms)].map(([, code]) => ({ path, code: code as string }))
  })
  .filter(({ code }) => code.includes("from 'exactspawn") || code.includes("require('exactspawn"))

test('there are examples to compile [I-13]', () => {
  expect(examples.map(({ path }) => path)).toContain('README.md')
})

test.each(examples)('an example of $path compiles against the package as it is [I-13]', ({ code }) => {
  const compile = userProject(tmpFolder())
  // An example may read a variable of the environment without asking whether it is there.
  const loose = { strict: false, exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false, skipLibCheck: true }
  const found = code.includes("from 'exactspawn")
    ? compile({ 'example.mts': code }, loose)
    : compile({ 'example.cjs': `void (async () => {\n${code}})` }, { ...loose, allowJs: true, checkJs: true })
  expect(found).toEqual([])
})
