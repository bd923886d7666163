// The gate for the tarball. An install runs nothing and compiles nothing: no .gyp file and no script of an install, as
// package managers run, block or complain of them, each in its own way [B098]. All binaries are in one tarball, so that
// no lock file can leave one out [B100], and their modes survive. What package.json names is there, no file outlives
// its source, and the size stays what a dependency may cost.
// usage: check-pack.mjs [x64-glibc…]: the binaries that must be in; all of a release unless named.
import { readFileSync } from 'node:fs'
import { findings, listFiles, outputOf } from './repo-files.mjs'

const release = ['x64-glibc', 'x64-musl', 'arm64-glibc', 'arm64-musl']
const largestPacked = 1024 * 1024
const largestUnpacked = 3 * 1024 * 1024
const ours = /^(?:package\.json|README\.md|CHANGELOG\.md|LICENSE|dist\/|docs\/|prebuilds\/)/

const report = findings('check-pack')
const { text, failure } = outputOf('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'])
let summary = ''
if (failure === undefined) summary = checkTarball(JSON.parse(text)[0], JSON.parse(readFileSync('package.json', 'utf8')))
else report.add('npm pack', failure, 'run it by hand')
report.finish(summary)

function checkTarball({ files, size, unpackedSize }, manifest) {
  const modes = new Map(files.map(({ path, mode }) => [path, mode]))
  checkManifest(manifest, modes)
  checkBinaries(modes)
  checkFiles([...modes.keys()])
  for (const [what, bytes, most] of [['packed', size, largestPacked], ['unpacked', unpackedSize, largestUnpacked]]) {
    if (bytes > most) report.add('tarball', `${bytes} bytes ${what}, over ${most}`, 'see what is new in it')
  }
  return `${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked`
}

function checkManifest(manifest, modes) {
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'prebuild']) {
    if (manifest.scripts?.[name] !== undefined) report.add('package.json', `has a script ${name}`, 'rename it')
  }
  // Without it the registry's copy of the manifest gets an install script as soon as a .gyp file lies beside it.
  if (manifest.gypfile !== false) report.add('package.json', 'lacks "gypfile": false', 'add it')
  for (const target of targetsOf([manifest.main, manifest.module, manifest.types, manifest.bin, manifest.exports])) {
    if (!modes.has(target)) report.add('package.json', `names ${target}, which is not packed`, 'npm run build:ts')
  }
  for (const target of targetsOf(manifest.bin)) {
    if (modes.has(target) && modes.get(target) !== 0o755) report.add(target, 'is not executable', 'chmod 0755')
  }
}

function targetsOf(value) {
  if (typeof value === 'string') return [value.replace(/^\.\//, '')]
  return Object.values(value ?? {}).flatMap(targetsOf)
}

function checkBinaries(modes) {
  const named = process.argv.slice(2)
  for (const name of named.length > 0 ? named : release) {
    const [arch, libc] = name.split('-')
    const path = `prebuilds/linux-${arch}/exactspawn.${libc}.node`
    if (!modes.has(path)) report.add(path, 'is not packed', `npm run prebuild:linux -- ${name}`)
  }
  for (const [path, mode] of modes) {
    if (path.endsWith('.node') && mode !== 0o755) report.add(path, `has mode ${mode.toString(8)}`, 'chmod 0755')
  }
}

function checkFiles(paths) {
  const sources = new Set(listFiles((path) => path.startsWith('lib/')))
  for (const path of paths) {
    if (path.endsWith('.gyp')) report.add(path, 'makes package managers compile', 'leave it out of "files"')
    else if (!ours.test(path) || path.endsWith('.map')) report.add(path, 'is not for users', 'leave it out of "files"')
    const source = path.replace(/^dist\//, 'lib/').replace(/(?:\.d)?\.(m?)(?:js|ts)$/, '.$1ts')
    if (path.startsWith('dist/') && !sources.has(source)) report.add(path, `has no source ${source}`, 'remove it')
  }
}
