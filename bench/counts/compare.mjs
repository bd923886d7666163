// What is counted against what is budgeted, number by number.

/**
 * Gives { name, counted, budget, verdict } for each number, the verdict being ok, over or under. A call that the budget
 * does not know is over it: its budget is 0. What was not counted here is left out. Tolerances are shares of the budget;
 * one for a single name goes before the one for its kind.
 */
export function compare({ tolerance, ...budget }, counted) {
  const lines = []
  const add = (name, found = 0, allowed = 0, share) => {
    lines.push({ name, counted: found, budget: allowed, verdict: verdictOf(found, allowed, share) })
  }
  const addAll = (prefix, found, allowed, share) => {
    for (const name of union(found, allowed)) {
      add(`${prefix}, ${name}`, found[name], allowed[name], tolerance.single?.[name] ?? share)
    }
  }
  if (counted.syscalls !== undefined) {
    addAll('in the child before exec', counted.syscalls.child, budget.syscalls.child, tolerance.syscalls)
    addAll('in the host', counted.syscalls.host, budget.syscalls.host, tolerance.syscalls)
    add('in the host, sleeping and waking', counted.syscalls.waking, budget.syscalls.waking, tolerance.waking)
  }
  if (counted.instructions !== undefined) {
    addAll('instructions', counted.instructions, budget.instructions, tolerance.instructions)
  }
  if (counted.allocatedBytes !== undefined) {
    add('bytes of JavaScript objects', counted.allocatedBytes, budget.allocatedBytes, tolerance.allocatedBytes)
  }
  return lines
}

// Counts are means over starts: one stray call in four starts is the machine's, one in each is ours.
const EPSILON = 0.25

function verdictOf(found, allowed, share) {
  if (found > allowed * (1 + share) + EPSILON) return 'over'
  return found < allowed * (1 - share) - EPSILON ? 'under' : 'ok'
}

const union = (a, b) => [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
