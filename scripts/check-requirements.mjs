// Every row of docs/requirements.md has a test. Rows are the ids in the first column of its tables; a test
// covers the ids at the end of its title. docs/requirements-uncovered.txt is a ratchet: it lists the rows
// that have no test yet, and it may only shrink. `--update` removes rows that are covered by now; `--init`
// also adds, for a new document.
import { existsSync, writeFileSync } from 'node:fs'
import { findings, lineAt, listFiles, readText } from './repo-files.mjs'
import { idsOf, isTestFile, titlesOf } from './source-text.mjs'

const document = 'docs/requirements.md'
const ratchet = 'docs/requirements-uncovered.txt'

const report = findings('check-requirements')
const rows = readRows()
const covered = readTitles()
const uncovered = [...rows].filter((id) => !covered.has(id))
printFamilies()

const listed = existsSync(ratchet) ? readText(ratchet).split('\n').filter((line) => line !== '') : []
const added = uncovered.filter((id) => !listed.includes(id))
const init = process.argv.includes('--init')
if (init || (process.argv.includes('--update') && added.length === 0)) {
  writeFileSync(ratchet, uncovered.map((id) => `${id}\n`).join(''))
} else {
  compareWithRatchet()
}
report.finish(`${rows.size - uncovered.length} of ${rows.size} rows covered`)

function readRows() {
  const text = readText(document)
  const ids = new Set()
  for (const match of text.matchAll(/^\| ((?:[A-Z]{1,2}-|B)\d+)(?: \[[UD]\])? \|/gm)) {
    const where = `${document}:${lineAt(text, match.index)}`
    if (ids.has(match[1])) report.add(where, `${match[1]} is there twice`, 'give one of them its own id')
    ids.add(match[1])
  }
  return ids
}

function readTitles() {
  const ids = new Set()
  for (const path of listFiles(isTestFile)) {
    for (const { line, title } of titlesOf(path, readText(path))) {
      for (const id of idsOf(title ?? '') ?? []) {
        if (rows.has(id)) ids.add(id)
        else report.add(`${path}:${line}`, `"${id}" is no row`, `cite rows of ${document}, as [M-23, B104]`)
      }
    }
  }
  return ids
}

function printFamilies() {
  const families = new Map()
  for (const id of rows) {
    const name = /^[A-Z]+/.exec(id)[0]
    families.set(name, [...(families.get(name) ?? []), id])
  }
  for (const [name, ids] of families) {
    const missing = ids.filter((id) => !covered.has(id))
    const list = missing.length === 0 ? '' : `  without a test: ${missing.join(' ')}`
    console.log(`${name.padEnd(2)} ${ids.length - missing.length}/${ids.length}${list}`)
  }
}

function compareWithRatchet() {
  for (const id of added) report.add(document, `${id} has no test`, `write one; ${ratchet} only shrinks`)
  listed.forEach((id, index) => {
    if (uncovered.includes(id)) return
    const what = rows.has(id) ? `${id} has a test now` : `${id} is no row`
    report.add(`${ratchet}:${index + 1}`, what, 'run node scripts/check-requirements.mjs --update')
  })
}
