// docs/limits.md says what lib/base/limits.ts says: every exported constant with its value and its reason, in
// order, a table for each `// Heading`. `--update` writes the document.
import { writeFileSync } from 'node:fs'
import ts from 'typescript'
import { findings, readText } from './repo-files.mjs'

const source = 'lib/base/limits.ts'
const document = 'docs/limits.md'
const units = new Map([
  ['MS', 'ms'],
  ['BYTES', 'bytes'],
  ['CHARS', 'UTF-16 units'],
  ['LEVELS', 'levels'],
])

const report = findings('check-limits-docs')
const text = readText(source)
const limits = await readLimits()
if (process.argv.includes('--update')) writeFileSync(document, render())
if (readText(document) !== render()) {
  report.add(document, `is not what ${source} says`, 'run node scripts/check-limits-docs.mjs --update')
}
report.finish(`${limits.length} limits`)

async function readLimits() {
  const { outputText } = ts.transpileModule(text, { compilerOptions: { module: ts.ModuleKind.ESNext } })
  const values = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
  let heading = 'Units'
  return ts.createSourceFile(source, text, ts.ScriptTarget.Latest, true).statements.map((statement) => {
    const before = text.slice(statement.pos, statement.getStart())
    heading = /^\/\/ (.+)$/m.exec(before)?.[1] ?? heading
    const name = statement.declarationList.declarations[0].name.text
    const reason = ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(statement).at(-1)?.comment)
    if (reason === undefined) report.add(source, `${name} has no reason`, 'say in a docstring why this value')
    return { heading, name, value: values[name], reason }
  })
}

function render() {
  const head = '| limit | value | reason |\n|---|---|---|\n'
  const headings = [...new Set(limits.map(({ heading }) => heading))]
  const sections = headings.map((heading) => {
    const rows = limits.filter((limit) => limit.heading === heading).map(row)
    return `## ${heading}\n\n${head}${rows.join('')}`
  })
  return `# Limits\n\nGenerated from \`${source}\`; change that file.\n\n${sections.join('\n')}`
}

function row({ name, value, reason }) {
  const unit = [...units].find(([word]) => name.split('_').includes(word))?.[1]
  const inKiB = unit === 'bytes' && value >= 1024 ? ` (${value / 1024} KiB)` : ''
  return `| \`${name}\` | ${value}${unit === undefined ? '' : ` ${unit}`}${inKiB} | ${reason} |\n`
}
