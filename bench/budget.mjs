// Holds what a start costs to a budget, by counting and not by timing: the same numbers come out on a busy machine.
// bench/budget.json has the budget and how far a number may be above it.
//
//   budget.mjs            compares; the last line is `N passed, N failed`
//   budget.mjs --update   writes what is counted now as the budget
import { readFileSync, writeFileSync } from 'node:fs'
import { countAllocation } from './counts/allocation.mjs'
import { countInstructions, whyNoInstructions } from './counts/instructions.mjs'
import { countSyscalls, whyNoSyscalls } from './counts/syscalls.mjs'
import { compare } from './counts/compare.mjs'
import { buildPrograms } from './programs.mjs'

const file = new URL('budget.json', import.meta.url)
const budget = JSON.parse(readFileSync(file, 'utf8'))

buildPrograms()
const counted = {}
if (told('system calls', whyNoSyscalls())) counted.syscalls = countSyscalls()
if (told('instructions', whyNoInstructions())) counted.instructions = countInstructions()
counted.allocatedBytes = countAllocation()

if (process.argv.includes('--update')) {
  writeFileSync(file, `${JSON.stringify({ ...budget, ...counted }, null, 2)}\n`)
  console.log('budget: written')
} else {
  report(compare(budget, counted))
}

// What this machine has no counter for is said, and is no failure.
function told(what, why) {
  if (why !== undefined) console.log(`budget: ${what} are not counted: ${why}`)
  return why === undefined
}

function report(lines) {
  for (const { name, counted, budget, verdict } of lines) {
    if (verdict === 'over') console.log(`over    ${name}: ${counted}, and the budget is ${budget}`)
    if (verdict === 'under') console.log(`under   ${name}: ${counted} of ${budget}; --update keeps the gain`)
  }
  const failed = lines.filter(({ verdict }) => verdict === 'over').length
  console.log(`${lines.length - failed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
