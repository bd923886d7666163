// A reading of source files that is good enough for the checks: which characters are code, which are comments
// and which are strings. It knows TypeScript's and C++'s comments and quotes, templates with their nested
// code, and regular expressions where one may begin; it is no parser. On top of it: the titles of tests and
// the imports of a file.
import { lineAt } from './repo-files.mjs'

const titleCall = /(?<![\w.$])(?:test|it)((?:\s*\.\s*\w+)*)\s*(?:<[^()]*?>)?\s*(?=[(`])/g
const takesTwoCalls = /\.\s*(?:each|for|skipIf|runIf)$/
const cppTitle = /^[ \t]*TEST\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)\)/gm
const moduleName = /\b(?:from|import|(?:require|import)\s*\()\s*$/

/**
 * Splits a source into `code`, as long as the source but with comments and the inside of strings blanked, and
 * `strings`, each with the offset of its opening quote, the offset behind its closing quote, and its text.
 */
export function scan(source) {
  const code = source.split('')
  const strings = []
  const blank = (from, to) => {
    for (let i = from; i < to; i++) if (code[i] !== '\n') code[i] = ' '
  }
  readCode(0, false)
  return { code: code.join(''), strings: strings.sort((a, b) => a.start - b.start) }

  function readCode(at, inTemplate) {
    let depth = 0
    let before = ''
    while (at < source.length) {
      const here = source[at]
      const pair = source.slice(at, at + 2)
      if (pair === '//') {
        at = blankTo(at, source.indexOf('\n', at))
      } else if (pair === '/*') {
        const close = source.indexOf('*/', at + 2)
        at = blankTo(at, close === -1 ? -1 : close + 2)
      } else if (here === "'" || here === '"') {
        // C++ writes 1'000, where the mark is no quote.
        at = here === "'" && /[0-9A-Fa-f]/.test(source[at - 1] ?? '') ? at + 1 : readString(at, here)
        before = here
      } else if (here === '`') {
        at = readTemplate(at)
        before = here
      } else if (here === '/' && mayBeginRegExp(before, at)) {
        at = readRegExp(at)
        before = '/'
      } else {
        if (here === '{') depth++
        if (here === '}' && depth-- === 0 && inTemplate) return at
        if (!/\s/.test(here)) before = here
        at++
      }
    }
    return at
  }

  function blankTo(from, to) {
    const stop = to === -1 ? source.length : to
    blank(from, stop)
    return stop
  }

  function readString(start, quote) {
    let at = start + 1
    while (at < source.length && source[at] !== quote && source[at] !== '\n') {
      at += source[at] === '\\' ? 2 : 1
    }
    strings.push({ start, end: at + 1, text: source.slice(start + 1, at) })
    blank(start + 1, at)
    return at + 1
  }

  function readTemplate(start) {
    let at = start + 1
    let text = ''
    while (at < source.length && source[at] !== '`') {
      if (source.startsWith('${', at)) {
        const close = readCode(at + 2, true)
        text += source.slice(at, close + 1)
        at = close + 1
      } else {
        const width = source[at] === '\\' ? 2 : 1
        text += source.slice(at, at + width)
        blank(at, at + width)
        at += width
      }
    }
    strings.push({ start, end: at + 1, text })
    return at + 1
  }

  // A slash divides after a value and begins an expression after anything else.
  function mayBeginRegExp(last, at) {
    if (!/[\w$)\]}'"`]/.test(last)) return true
    return /(?:^|[^\w$.])(?:return|typeof|case|in|of)\s*$/.test(source.slice(Math.max(0, at - 12), at))
  }

  function readRegExp(start) {
    let at = start + 1
    let inClass = false
    while (at < source.length && source[at] !== '\n' && (inClass || source[at] !== '/')) {
      if (source[at] === '[') inClass = true
      if (source[at] === ']') inClass = false
      at += source[at] === '\\' ? 2 : 1
    }
    blank(start + 1, Math.min(at, source.length))
    return at + 1
  }
}

/** Whether a file holds tests. The conformance suite does: adapters' test files only run it. */
export function isTestFile(path) {
  return /^test\/.*\.test\.ts$|^native\/test\/.*\.cpp$|^lib\/backend\/conformance.*\.ts$/.test(path)
}

/** The tests of a TypeScript or C++ file as `{ line, title }`. The title is null where it is computed. */
export function titlesOf(path, source) {
  return path.endsWith('.cpp') ? cppTitles(source) : scriptTitles(source)
}

function cppTitles(source) {
  return [...source.matchAll(cppTitle)].map((match) => ({
    line: lineAt(source, match.index),
    title: [...match[1].matchAll(/"((?:[^"\\\n]|\\.)*)"/g)].map((part) => part[1]).join(''),
  }))
}

function scriptTitles(source) {
  const { code, strings } = scan(source)
  const stringAt = new Map(strings.map((string) => [string.start, string]))
  const skipSpace = (at) => at + /^\s*/.exec(code.slice(at))[0].length
  const found = []
  for (const match of code.matchAll(titleCall)) {
    let at = match.index + match[0].length
    if (takesTwoCalls.test(match[1])) {
      at = skipSpace(code[at] === '`' ? stringAt.get(at).end : closeOf(code, at))
    }
    if (code[at] !== '(') continue
    const first = skipSpace(at + 1)
    found.push({ line: lineAt(source, match.index), title: stringAt.get(first)?.text ?? null })
  }
  return found
}

// The offset behind the parenthesis that closes the one at `open`.
function closeOf(code, open) {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++
    if (code[at] === ')' && --depth === 0) return at + 1
  }
  return code.length
}

/** The ids behind a title, as written between its last brackets; null where a title has none. */
export function idsOf(title) {
  const brackets = / \[([^[\]]+)\]$/.exec(title)
  return brackets === null ? null : brackets[1].split(', ')
}

/** What a TypeScript file imports, by whichever form, as `{ line, name }`. */
export function importsOf(source) {
  const { code, strings } = scan(source)
  return strings
    .filter(({ start }) => moduleName.test(code.slice(Math.max(0, start - 40), start)))
    .map(({ start, text }) => ({ line: lineAt(source, start), name: text }))
}
