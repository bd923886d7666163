// Holds tests to their form: a title is a sentence that ends with the rows or cases it proves, a fact and not
// a wish; no test is left out or run alone; none sleeps instead of waiting for a fact, because a sleep is too
// short on a busy machine and too long on every other; none draws numbers that a second run cannot repeat.
import { findings, lineAt, listFiles, readText } from './repo-files.mjs'
import { idsOf, isTestFile, scan, titlesOf } from './source-text.mjs'

const forbidden = [
  {
    pattern: /(?<![\w.$])(?:test|it|describe|suite)(?:\s*\.\s*\w+)*\s*\.\s*(?:only|skip|todo)\b/g,
    what: 'a test that is run alone or left out',
    mend: 'remove the modifier',
  },
  {
    pattern: /(?<![\w$])setTimeout\s*\(/g,
    excuse: /\/\/ waits: \S/,
    what: 'a bare setTimeout',
    mend: 'wait for a fact, or say on the same line `// waits: reason`',
  },
  {
    pattern: /\bMath\s*\.\s*random\s*\(/g,
    what: 'numbers that no second run can repeat',
    mend: 'draw them from a seeded generator and print the seed',
  },
]

const report = findings('check-tests')
const paths = listFiles(isTestFile)
let tests = 0
for (const path of paths) {
  const source = readText(path)
  for (const { line, title } of titlesOf(path, source)) {
    tests++
    checkTitle(`${path}:${line}`, title)
  }
  if (path.endsWith('.ts')) checkCode(path, source)
}
report.finish(`${tests} tests in ${paths.length} files`)

function checkTitle(where, title) {
  if (title === null) {
    report.add(where, 'the title is not written in place, so nobody can look it up', 'write it as a literal')
    return
  }
  if (idsOf(title) === null) {
    report.add(where, `"${title}" does not say what it proves`, 'end it with a row or case, such as [M-23]')
  }
  if (/\bshould\b/i.test(title)) {
    report.add(where, `"${title}" is a wish`, 'state what is so, without "should"')
  }
}

function checkCode(path, source) {
  const lines = source.split('\n')
  const { code } = scan(source)
  for (const { pattern, excuse, what, mend } of forbidden) {
    for (const match of code.matchAll(pattern)) {
      const line = lineAt(source, match.index)
      if (!excuse?.test(lines[line - 1])) report.add(`${path}:${line}`, what, mend)
    }
  }
}
