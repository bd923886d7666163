import { atMost, beats } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { CHILD_PROCESS, withGoals } from './metrics.mjs'

const residentKiB = { unit: 'KiB', better: 'less', label: "host's memory for each" }
const descriptors = { unit: '', better: 'less', label: "host's descriptors for each" }

const alive = (pipes, metrics) => ({
  name: pipes === 0 ? 'no pipes' : '2 pipes',
  measure: 'burst',
  parameters: { program: nothing, target, count: 500, pipes },
  quick: { count: 250 },
  rounds: 2,
  longRun: true,
  rivals: ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python', 'execa'],
  metrics,
})

export default {
  id: 'W8',
  title: '500 children that live',
  cases: [
    alive(0, { residentKiB, descriptors: withGoals(descriptors, atMost(1)) }),
    alive(2, {
      residentKiB: withGoals(residentKiB, beats(CHILD_PROCESS, 3), atMost(6)),
      descriptors: withGoals(descriptors, atMost(3)),
    }),
  ],
}
