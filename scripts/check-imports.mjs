// Who may import whom. The table below is the architecture: a folder imports what its row names and nothing
// else, so that the transport never learns of the seam, a handle never leads to a backend, and each layer can
// be read without those above it. Beside the table: the entries are lists of names that nothing imports,
// `node:child_process` stays in the one adapter that is about it [L-38], only lib/addon loads the addon, no
// two files import each other in a circle, and native/core knows neither Node nor libuv.
import { dirname, join, normalize } from 'node:path/posix'
import { findings, lineAt, listFiles, readText } from './repo-files.mjs'
import { importsOf, scan } from './source-text.mjs'

const layers = {
  base: [],
  io: ['base'],
  addon: ['base'],
  process: ['base', 'io', 'addon'],
  directory: ['base', 'addon'],
  protocol: ['base', 'io'],
  worker: ['base', 'io', 'addon', 'process', 'directory', 'protocol'],
  executor: ['base', 'process', 'worker'],
  reuse: ['base', 'io', 'process', 'protocol', 'worker', 'executor'],
  'backend/contract': ['base'],
  'backend/handle-state': ['base', 'backend/contract'],
  'backend/conformance': ['base', 'backend/contract'],
  'backend/local': ['base', 'io', 'process', 'backend/contract', 'backend/handle-state'],
  'backend/oci': ['base', 'io', 'process', 'backend/contract', 'backend/handle-state'],
  'backend/supervised': ['base', 'io', 'process', 'backend/contract', 'backend/handle-state'],
  'backend/slurm': ['base', 'io', 'process', 'backend/contract', 'backend/handle-state'],
  supervisor: ['base', 'io', 'process'],
  rpc: ['base', 'io', 'backend/contract'],
  localprocess: ['base', 'io', 'process'],
}
const everyLayer = Object.keys(layers)
const entries = ['index', 'worker', 'executor', 'reuse', 'backend', 'rpc', 'localprocess', 'conformance']
  .map((name) => `lib/${name}.ts`)
const mayImport = { ...layers, cli: everyLayer, entry: everyLayer, esm: ['entry'] }

const childProcessUsers = /^lib\/backend\/local\/|^lib\/cli\/audit\.ts$/

// In native/core a file never leads, over however many includes, to one that comes later in its row.
const coreOrder = [
  ['sys_error', 'fd', 'fd_plan', 'child_plan', 'spawn_plan', 'spawn', 'process'],
  ['child_plan', 'child'],
  ['clock', 'reactor', 'drain'],
  ['reactor', 'pipe_io'],
]

const report = findings('check-imports')
const scripts = listFiles((path) => /^lib\/.*\.m?ts$/.test(path))
const natives = listFiles((path) => /^native\/.*\.(?:h|cpp)$/.test(path))
const known = new Set([...scripts, ...natives])
const graph = new Map([...known].map((path) => [path, []]))

for (const path of scripts) checkScript(path, readText(path))
for (const path of natives) checkNative(path, readText(path))
checkCircles()
checkCoreOrder()
report.finish(`${known.size} files`)

// 'lib/io/bytes.ts' belongs to 'io', 'lib/backend/contract.ts' to 'backend/contract'. Below lib/backend a
// unit may be a file, or several with its name and a dash.
function unitOf(path) {
  if (entries.includes(path)) return 'entry'
  const name = path.replace(/^lib\//, '').replace(/\.m?ts$/, '')
  return Object.keys(mayImport).find((unit) => {
    if (name.startsWith(`${unit}/`)) return true
    return unit.startsWith('backend/') && (name === unit || name.startsWith(`${unit}-`))
  })
}

function checkScript(path, source) {
  const unit = unitOf(path)
  if (unit === undefined) {
    report.add(`${path}:1`, 'the file belongs to no layer', 'move it, or give its folder a row in this check')
    return
  }
  for (const { line, name } of importsOf(source)) {
    const where = `${path}:${line}`
    if (name.startsWith('.')) checkRelative(path, unit, where, name)
    else checkPackage(path, where, name)
  }
  if (unit === 'entry') checkNamesOnly(path, source)
  if (unit !== 'addon') checkLoadsNothing(path, source)
}

function checkRelative(path, unit, where, name) {
  const target = resolve(path, name)
  if (target === undefined) {
    report.add(where, `'${name}' is no file`, 'correct the path')
    return
  }
  graph.get(path).push(target)
  const targetUnit = unitOf(target)
  if (targetUnit === unit && unit !== 'entry') return
  if (targetUnit === 'entry' && unit !== 'esm') {
    report.add(where, `imports the entry ${target}`, 'import from the file that defines the name')
  } else if (targetUnit !== undefined && !mayImport[unit].includes(targetUnit)) {
    const allowed = mayImport[unit].join(', ') || 'nothing of ours'
    report.add(where, `${unit} imports ${targetUnit}`, `it may import ${allowed}; move it down`)
  }
}

function resolve(path, name) {
  const target = normalize(join(dirname(path), name))
  const candidates = [target, target.replace(/\.(m?)js$/, '.$1ts'), `${target}.ts`, `${target}/index.ts`]
  return candidates.find((candidate) => known.has(candidate))
}

function checkPackage(path, where, name) {
  if (/^(?:node:)?child_process$/.test(name) && !childProcessUsers.test(path)) {
    report.add(where, 'node:child_process outside lib/backend/local', 'use lib/process')
  }
}

function checkNamesOnly(path, source) {
  const names = /export\s+(?:type\s+)?\{[^}]*\}\s+from\s+'\s*'/g
  const at = scan(source).code.replace(names, (text) => ' '.repeat(text.length)).search(/\S/)
  if (at === -1) return
  report.add(`${path}:${lineAt(source, at)}`, 'an entry that does more than name', 'write export { … } from')
}

function checkLoadsNothing(path, source) {
  const { code, strings } = scan(source)
  const loads = [
    ...strings.filter(({ text }) => text.endsWith('.node') || text === 'node-gyp-build'),
    ...[...code.matchAll(/\.\s*dlopen\b/g)].map((match) => ({ start: match.index })),
  ]
  for (const { start } of loads) {
    report.add(`${path}:${lineAt(source, start)}`, 'loads the addon', 'leave that to lib/addon')
  }
}

function checkNative(path, source) {
  const inCore = path.startsWith('native/core/')
  for (const match of source.matchAll(/^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]/gm)) {
    const where = `${path}:${lineAt(source, match.index)}`
    const target = [join(dirname(path), match[1]), `native/${match[1]}`, `native/core/${match[1]}`]
      .map((candidate) => normalize(candidate)).find((candidate) => known.has(candidate))
    if (target !== undefined) graph.get(path).push(target)
    if (/^uv(?:\.h$|\/)/.test(match[1])) report.add(where, 'includes libuv', 'use the reactor')
    if (inCore && /(?:^|\/)(?:node_api|js_native_api|napi)/.test(match[1])) {
      report.add(where, 'Node-API in the core', 'translate in native/binding')
    }
    if (inCore && target?.startsWith('native/binding/')) {
      report.add(where, 'the core includes the binding', 'turn the dependency round')
    }
  }
  // A name in a string is looked up at run time and may be absent; one in code is an import that Deno lacks.
  const { code } = scan(source)
  for (const match of code.matchAll(/\b(?:uv_\w+|napi_\w+|Napi\b)/g)) {
    const where = `${path}:${lineAt(source, match.index)}`
    if (match[0].startsWith('uv_')) report.add(where, `${match[0]} is libuv's`, 'use the reactor, or dlsym')
    else if (inCore) report.add(where, `${match[0]} in the core`, 'translate in native/binding')
  }
}

function checkCircles() {
  const done = new Set()
  for (const path of graph.keys()) visit(path, [])

  function visit(path, trail) {
    const start = trail.indexOf(path)
    if (start !== -1) {
      const circle = [...trail.slice(start), path].join(' → ')
      report.add(`${path}:1`, `a circle, ${circle}`, 'move what both need into a file below them')
    } else if (!done.has(path)) {
      for (const target of graph.get(path)) visit(target, [...trail, path])
      done.add(path)
    }
  }
}

function checkCoreOrder() {
  const below = new Map()
  for (const [path, targets] of graph) {
    if (!path.startsWith('native/core/')) continue
    const unit = coreUnit(path)
    below.set(unit, [...(below.get(unit) ?? []), ...targets.map(coreUnit)])
  }
  for (const row of coreOrder) {
    row.forEach((unit, index) => {
      const later = row.slice(index + 1).find((name) => leadsTo(unit, name, new Set()))
      if (later === undefined) return
      const order = row.join(' → ')
      report.add(`native/core/${unit}.h:1`, `${unit} leads to ${later}`, `keep the order ${order}`)
    })
  }

  function leadsTo(unit, goal, seen) {
    if (seen.has(unit)) return false
    seen.add(unit)
    return (below.get(unit) ?? []).some((next) => next === goal || leadsTo(next, goal, seen))
  }
}

function coreUnit(path) {
  return path.replace(/^native\/core\//, '').replace(/\.(?:h|cpp)$/, '')
}
