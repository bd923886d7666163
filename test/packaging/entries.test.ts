/** The entries of the package, by its own name, as require and import find them. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from '../support/fixture.js'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'))

test.each(entries)('entry %s is the same objects for import as for require, by the same names [I-5, B096]', async (entry) => {
  const name = join('exactspawn', entry)
  const script = `
    const required = require(${JSON.stringify(name)})
    import(${JSON.stringify(name)}).then((imported) => {
      const names = (module) => Object.keys(module).sort()
      const same = names(required).every((key) => required[key] === imported[key])
      console.log(JSON.stringify({ required: names(required), imported: names(imported), same }))
    })`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: root })
  const { required, imported, same } = JSON.parse(stdout) as { required: string[]; imported: string[]; same: boolean }
  expect(imported).toEqual(required)
  expect(same).toBe(true)
  expect(required.length).toBeGreaterThan(0)
})

test('the entry for reuse has the names that its document tells [R-01, R-02, R-05]', async () => {
  const script = `console.log(JSON.stringify(Object.keys(require('exactspawn/reuse')).sort()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: root })
  const names = ['AttemptJournal', 'EVIDENCE_VERSION', 'WorkerLanes', 'WorkerOwner', 'readAttemptJournal', 'workerKey']
  expect(JSON.parse(stdout)).toEqual(names)
})
