// Lists the native sources of one build target for this platform, one path a line: the folder is the list, so that a
// new file needs no entry in binding.gyp and native/CMakeLists.txt. child.cpp is left out; it has a target of its own.
//
// Two files with the same stem stand behind one header, one for each platform: x_epoll.cpp and x_kqueue.cpp, or x.cpp
// and x_darwin.cpp, of which the plain one is Linux's.
import { readdirSync } from 'node:fs'

const folders = {
  core: { folder: 'native/core', extension: '.cpp' },
  binding: { folder: 'native/binding', extension: '.cpp' },
  test: { folder: 'native/test', extension: '.cpp' },
  'fixture-child': { folder: 'fixtures', extension: '.c', only: /^child/ },
}

const target = folders[process.argv[2]]
if (target === undefined) {
  console.error(`native-sources: expected one of ${Object.keys(folders).join(', ')}`)
  process.exit(2)
}
const files = readdirSync(target.folder).sort()
const platform = process.platform === 'darwin' ? 'darwin' : 'linux'

function platformOf(file) {
  const stem = file.slice(0, -target.extension.length)
  if (/_(?:darwin|kqueue)$/.test(stem)) return 'darwin'
  if (stem.endsWith('_epoll') || files.includes(`${stem}_darwin${target.extension}`)) return 'linux'
  return platform
}

for (const file of files) {
  if (!file.endsWith(target.extension) || file === 'child.cpp') continue
  if (target.only !== undefined && !target.only.test(file)) continue
  if (platformOf(file) === platform) console.log(`${target.folder}/${file}`)
}
