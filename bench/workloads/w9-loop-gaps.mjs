import { atMost, beats } from '../goals.mjs'
import { nothing } from '../programs.mjs'
import { CHILD_PROCESS, withGoals } from './metrics.mjs'

const maxGapMs = { unit: 'ms', better: 'less', label: 'longest gap' }
const gapMs = { unit: 'ms', better: 'less', label: 'gap, median' }
const totalMs = { unit: 'ms', better: 'less', label: 'all of it' }
const cpuMs = { unit: 'ms', better: 'less', label: "host's CPU" }

const starts = (name, inFlight, times) => ({
  name,
  measure: 'gaps',
  parameters: { program: nothing, pipes: 2, total: 500, inFlight },
  rounds: 3,
  rivals: [CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'execa'],
  why: 'no event loop to look at, or no pipes',
  metrics: { maxGapMs: withGoals(maxGapMs, beats(CHILD_PROCESS, times), atMost(10)), gapMs, totalMs, cpuMs },
})

export default {
  id: 'W9',
  title: 'What the event loop has left while 500 children start',
  cases: [starts('16 in flight', 16, 5), starts('all at once', 500, 50)],
}
