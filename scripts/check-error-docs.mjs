// Every code of lib/base/error-table.ts is in docs/errors.md with when it occurs, all its fields and what to
// do; the document names no other code; and a test beside the table's own names each code, because a code
// that nothing raises is a promise that nothing keeps.
import ts from 'typescript'
import { findings, lineAt, listFiles, readText } from './repo-files.mjs'
import { isTestFile } from './source-text.mjs'

const table = 'lib/base/error-table.ts'
const document = 'docs/errors.md'
// It makes one error of every code, whether or not anything else does.
const tableTest = 'test/base/errors.test.ts'

const report = findings('check-error-docs')
const codes = readCodes()
const text = readText(document)
const verdicts = [...text.matchAll(/^- \*\*([a-z ]+)\*\*: /gm)].map((match) => match[1])
const sections = readSections()
for (const [code, fields] of codes) checkDocs(code, fields)
for (const match of text.matchAll(/\bERR_[A-Z0-9_]+/g)) {
  if (codes.has(match[0])) continue
  report.add(`${document}:${lineAt(text, match.index)}`, `${match[0]} is no code`, `use one of ${table}`)
}
checkTests()
report.finish(`${codes.size} codes`)

// By the compiler: a code's fields are spread over intersections and Partial.
function readCodes() {
  const program = ts.createProgram([table], { strict: true, target: ts.ScriptTarget.ES2022, types: [] })
  const checker = program.getTypeChecker()
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(table)))
  const details = checker.getDeclaredTypeOfSymbol(exported.find(({ name }) => name === 'Details'))
  const fieldsOf = (code) => checker.getPropertiesOfType(checker.getTypeOfSymbol(code))
  const codes = checker.getPropertiesOfType(details)
  return new Map(codes.map((code) => [code.name, fieldsOf(code).map(({ name }) => name)]))
}

function readSections() {
  const found = new Map()
  for (const match of text.matchAll(/^### (ERR_[A-Z0-9_]+)\n([^#]*)/gm)) {
    const where = `${document}:${lineAt(text, match.index)}`
    if (found.has(match[1])) report.add(where, `${match[1]} is there twice`, 'keep one')
    found.set(match[1], { where, body: match[2] })
  }
  return found
}

function checkDocs(code, fields) {
  const section = sections.get(code)
  if (section === undefined) {
    report.add(document, `${code} is missing`, 'say when it occurs, its fields and what to do')
    return
  }
  const { where, body } = section
  if (!/^- When: \S/m.test(body)) report.add(where, `${code} does not say when`, 'add `- When: …`')
  const prose = /^- Fields: (.+)$/m.exec(body)?.[1] ?? ''
  const listed = [...prose.matchAll(/`(\w+)`/g)].map((match) => match[1])
  if ([...listed].sort().join() !== [...fields].sort().join()) {
    report.add(where, `${code} lists the fields ${listed.join(', ')}`, `list ${fields.join(', ')}`)
  }
  if (!verdicts.includes(/^- Do: \*\*([a-z ]+)\*\*/m.exec(body)?.[1])) {
    const choice = verdicts.join(', ')
    report.add(where, `${code} does not say what to do`, `add \`- Do: **…**\` with one of ${choice}`)
  }
}

function checkTests() {
  const paths = listFiles((path) => isTestFile(path) && path !== tableTest)
  const named = new Set(paths.flatMap((path) => readText(path).match(/\bERR_[A-Z0-9_]+/g) ?? []))
  for (const code of codes.keys()) {
    if (named.has(code)) continue
    report.add(table, `${code} is in no test`, 'test the operation that raises it, or remove it')
  }
}
