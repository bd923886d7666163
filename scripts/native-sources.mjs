// Lists the native sources of one build target for this platform, one path a line: the folder is the list, so that a new
// file needs no entry in binding.gyp and native/CMakeLists.txt. child.cpp is left out; it has a target of its own.
import { readdirSync } from 'node:fs'

const folders = {
  core: { folder: 'native/core', extension: '.cpp' },
  binding: { folder: 'native/binding', extension: '.cpp' },
  test: { folder: 'native/test', extension: '.cpp' },
  'fixture-child': { folder: 'fixtures', extension: '.c', only: /^child/ },
}

// A file that ends in _linux, _epoll, _darwin or _kqueue belongs to that platform; clone-based ones to Linux.
const linuxOnly = new Set(['capabilities', 'cgroup', 'clone_call', 'guard_program', 'pidfd', 'spawn', 'spawn_plan'])
const platformOf = (file) => {
  const name = file.replace(/\.cpp$/, '')
  if (/_(darwin|kqueue)$/.test(name)) return 'darwin'
  if (/_(linux|epoll)$/.test(name) || linuxOnly.has(name)) return 'linux'
  return 'any'
}

const target = folders[process.argv[2]]
if (target === undefined) {
  console.error(`native-sources: expected one of ${Object.keys(folders).join(', ')}`)
  process.exit(2)
}
const platform = process.platform === 'darwin' ? 'darwin' : 'linux'
for (const file of readdirSync(target.folder).sort()) {
  if (!file.endsWith(target.extension) || file === 'child.cpp') continue
  if (target.only !== undefined && !target.only.test(file)) continue
  const wanted = platformOf(file)
  if (target.folder === 'native/core' && wanted !== 'any' && wanted !== platform) continue
  console.log(`${target.folder}/${file}`)
}
