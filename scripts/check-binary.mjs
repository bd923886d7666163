// The gate for release binaries. One .node file serves every Node from 20 on, Bun and Deno, on old and new
// systems; what would break that is invisible where it is built, because Node itself exports a C++ runtime
// and libuv, and a new libc has every symbol [B102]. So the file must need only libc, with no symbol
// younger than the floor; no C++ runtime, libuv or V8; no Node-API function beyond version 8 [B103]; it
// must stay mapped when a worker thread ends (NODELETE), since our threads still run in it [N-18]; and
// export nothing but the two functions that load it. readelf reads every architecture.
// usage: check-binary.mjs [--glibc 2.17] file.node…
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { findings, outputOf } from './repo-files.mjs'

const napiVersion = 8
const largestBytes = 400 * 1024
const entryPoints = ['napi_register_module_v1', 'node_api_module_get_api_version_v1']
const libraries = /^(?:libc\.so\.6|libpthread\.so\.0|ld-linux[\w-]*\.so\.\d|libc\.so|libc\.musl-\w+\.so\.1)$/

// Of a row of readelf's table, behind number, value and size: type, binding, section, name, version.
const symbolRow = /^ *\d+: +[0-9a-f]+ +\S+ +(\S+) +(\S+) +\S+ +(\S+) +([^\s@]+)(?:@+(\S+))?/gm

const { values, positionals: files } = parseArgs({
  options: { glibc: { type: 'string', default: '2.17' } },
  allowPositionals: true,
})
const napi = napiFunctions()
const report = findings('check-binary')
if (files.length === 0) report.add('usage', 'no file given', 'name the .node files of prebuilds/')
for (const file of files) checkFile(file)
report.finish(`${files.length} files`)

function napiFunctions() {
  const { symbols } = createRequire(import.meta.url)('node-api-headers')
  return new Set(Object.entries(symbols)
    .filter(([version]) => Number(version.slice(1)) <= napiVersion)
    .flatMap(([, names]) => [...names.js_native_api_symbols, ...names.node_api_symbols]))
}

function checkFile(file) {
  const elf = readElf(file)
  if (elf === null) return
  for (const name of elf.needed) {
    if (!libraries.test(name)) report.add(file, `needs ${name}`, 'link with -nodefaultlibs -lc -lgcc')
  }
  if (!elf.nodelete) report.add(file, 'may be unmapped', 'link with -z nodelete')
  if (elf.textrel) report.add(file, 'has text relocations', 'compile with -fPIC')
  if (elf.rpath) report.add(file, 'has an rpath', 'link without -rpath')
  for (const name of elf.exports.filter((name) => !entryPoints.includes(name))) {
    report.add(file, `exports ${name}`, 'keep it out of the version script')
  }
  for (const name of entryPoints.filter((name) => !elf.exports.includes(name))) {
    report.add(file, `does not export ${name}`, 'name it in the version script')
  }
  for (const symbol of elf.imports) checkImport(file, symbol)
  const { size } = statSync(file)
  if (size > largestBytes) report.add(file, `${size} bytes, over ${largestBytes}`, 'strip it')
}

function readElf(file) {
  const { text, failure } = outputOf('readelf', ['-W', '-d', '--dyn-syms', file])
  if (failure !== undefined) {
    report.add(file, `readelf cannot read it: ${failure}`, 'give an ELF file, and install binutils')
    return null
  }
  const symbols = [...text.matchAll(symbolRow)]
    .map(([, type, binding, section, name, version]) => ({ type, binding, section, name, version }))
  const isExport = ({ type, section }) => section !== 'UND' && type !== 'SECTION'
  return {
    needed: [...text.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((match) => match[1]),
    nodelete: /\(FLAGS_1\).*\bNODELETE\b/.test(text),
    textrel: /\(TEXTREL\)|\(FLAGS\).*\bTEXTREL\b/.test(text),
    rpath: /\((?:RPATH|RUNPATH)\)/.test(text),
    exports: symbols.filter(isExport).map(({ name }) => name),
    imports: symbols.filter(({ section }) => section === 'UND'),
  }
}

function checkImport(file, { name, version, binding }) {
  const glibc = /^GLIBC_([\d.]+)$/.exec(version ?? '')?.[1]
  if (glibc !== undefined && isNewer(glibc, values.glibc)) {
    report.add(file, `${name} needs glibc ${glibc}, over ${values.glibc}`, 'bind its older version')
  }
  if (/^(?:napi_|node_api_)/.test(name)) {
    if (!napi.has(name)) report.add(file, `${name} is beyond Node-API ${napiVersion}`, 'use an older one')
  } else if (/^(?:_Z|__cxa_|__gxx_)/.test(name) && name !== '__cxa_finalize') {
    report.add(file, `${name} is of the C++ runtime`, 'see which forbidden header brought it in')
  } else if (/^uv_|^v8|^node_module_register$/.test(name)) {
    report.add(file, `${name} is not Node-API`, 'look it up at run time, or do without it')
  } else if (version === undefined && binding !== 'WEAK' && !/\.musl\./.test(file)) {
    report.add(file, `nobody named provides ${name}`, 'define it, or do without it')
  }
}

function isNewer(version, floor) {
  const [a, b] = [version, floor].map((text) => text.split('.').map(Number))
  const at = [0, 1, 2].find((part) => (a[part] ?? 0) !== (b[part] ?? 0))
  return at !== undefined && (a[at] ?? 0) > (b[at] ?? 0)
}
