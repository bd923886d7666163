import { beats, nearLimit } from '../goals.mjs'
import { nothing } from '../programs.mjs'
import { blockedUs, CHILD_PROCESS, cpuUs, wallUs, withGoals } from './metrics.mjs'

const rivals = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python']

export default {
  id: 'W3',
  title: 'The same beside open descriptors of the host',
  cases: [
    {
      name: '10,000 open, 2 pipes',
      measure: 'start',
      parameters: { program: nothing, pipes: 2, count: 40, descriptors: 10_000 },
      quick: { count: 25 },
      rounds: 3,
      rivals,
      metrics: {
        wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 1.5), nearLimit(1.5)),
        blockedUs: withGoals(blockedUs, beats(CHILD_PROCESS, 30)),
        cpuUs,
      },
    },
  ],
}
