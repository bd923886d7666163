// The code between clone and exec shares its memory with every thread of the host, so it may call nothing:
// one libc function there can wait for a lock that no thread will ever release. A file that calls nothing has
// no undefined symbol, which `nm -u` shows [I-1, N-18]. usage: check-child-symbols.mjs [object…]; without
// one, each object of native/core/child.cpp below build/.
import { existsSync, readdirSync } from 'node:fs'
import { findings, outputOf } from './repo-files.mjs'

const objectsFolder = 'build/Release/obj.target'
const source = 'native/core/child.cpp'

const report = findings('check-child-symbols')
const given = process.argv.slice(2)
const objects = given.length > 0 ? given : builtObjects()
if (objects.length === 0) report.add(objectsFolder, `no object of ${source}`, 'run npm run build:native')
for (const object of objects) checkObject(object)
report.finish(`${objects.length} objects`)

function builtObjects() {
  if (!existsSync(objectsFolder)) return []
  return readdirSync(objectsFolder, { recursive: true })
    .filter((path) => /(?:^|\/)native\/core\/child\.o$/.test(path))
    .map((path) => `${objectsFolder}/${path}`)
}

function checkObject(object) {
  const { text, failure } = outputOf('nm', ['-u', object])
  if (failure !== undefined) {
    report.add(object, `nm cannot read it: ${failure}`, 'build it, and install binutils')
    return
  }
  const symbols = [...text.matchAll(/(\S+)$/gm)].map((match) => match[1])
  if (symbols.length > 0) {
    report.add(object, `needs ${symbols.join(', ')}`, `keep ${source} to raw system calls`)
  }
}
