// The repository reads as finished and as ours alone: it names no machine's folders and no registry's hosts,
// which would also break an install elsewhere; it promises nothing for later and does not tell how it came
// about. Lines end where their text ends, and a file of lib/ or native/ that passes 400 lines has two
// concerns, unless it is a table.
import { basename } from 'node:path/posix'
import { findings, lineAt, listFiles, readText } from './repo-files.mjs'

const longestFile = 400

// This check and its test spell out what they look for; golden bytes are kept as they are.
const spellsItOut = new Set(['scripts/check-text.mjs', 'test/scripts/check-text.test.ts'])
const goldenBytes = /^fixtures\/frames\//

// Plans and studies that the repository outgrew: it explains itself.
const plans = ['decisions', 'design', 'native', 'style', 'cases', 'packaging', 'features', 'upstream']

const forbidden = [
  {
    pattern: /(?<![\w.\-)}\]/*]|\+ ["'`])\/(?:work|farm|root)\/[\w.+-]*/g,
    what: 'a folder of one machine',
    mend: 'make the path relative, or take it from the system',
  },
  {
    pattern: anyOf([
      '"resolved":\\s*"https?:[^"]*"',
      '\\b(?:registry|artifactory|verdaccio)[\\w-]*\\.(?:[\\w-]+\\.)+(?:org|com|net|io|dev)\\b',
    ]),
    what: 'the host of a registry',
    mend: 'leave it to the npm configuration (omit-lockfile-registry-resolved)',
  },
  {
    pattern: /\b(?:TODO|FIXME)\b/g,
    what: 'unfinished',
    mend: 'do it now, or leave it out',
  },
  {
    pattern: anyOf([
      '\\bco-authored-by\\b',
      '\\blanguage models?\\b',
      '\\bAI[- ](?:generated|written|assisted)\\b',
      '\\bsub-?agents?\\b',
      '\\b(?:the|my|your|this) brief\\b',
      '\\bseed 00\\d\\b',
      '\\b(?:other|fellow) engineers?\\b',
    ]),
    what: 'tells how it was made',
    mend: 'say what is so and why',
  },
]

const report = findings('check-text')
const paths = listFiles()
const names = new Set(paths.map((path) => basename(path)))
forbidden.push({
  pattern: anyOf(plans.filter((name) => !names.has(`${name}.md`)).map((name) => `\\b${name}\\.md\\b`)),
  what: 'names a text that is not here',
  mend: 'cite a row of docs/requirements.md, or give the reason itself',
})
for (const path of paths) checkFile(path, readText(path))
report.finish(`${paths.length} files`)

function checkFile(path, text) {
  if (text === null || goldenBytes.test(path)) return
  for (const match of text.matchAll(/[ \t]+$/gm)) {
    report.add(`${path}:${lineAt(text, match.index)}`, 'white space at the end of the line', 'remove it')
  }
  if (!spellsItOut.has(path)) checkWords(path, text)
  const lines = text.split('\n').length - 1
  if (/^(?:lib|native)\//.test(path) && lines > longestFile) {
    report.add(`${path}:${longestFile + 1}`, `${lines} lines`, 'split it by concern')
  }
}

function anyOf(patterns) {
  return new RegExp(patterns.join('|'), 'gi')
}

function checkWords(path, text) {
  for (const { pattern, what, mend } of forbidden) {
    for (const match of text.matchAll(pattern)) {
      report.add(`${path}:${lineAt(text, match.index)}`, `${match[0]}: ${what}`, mend)
    }
  }
}
