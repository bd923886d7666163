import { beats, growsBelow, nearLimit } from '../goals.mjs'
import { nothing } from '../programs.mjs'
import { blockedUs, CHILD_PROCESS, wallUs, withGoals } from './metrics.mjs'

const rivals = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python']
const small = 'small host'

export default {
  id: 'W2',
  title: 'The same beside memory that the host has touched',
  cases: [
    {
      name: small,
      measure: 'start',
      parameters: { program: nothing, pipes: 0, count: 60 },
      quick: { count: 40 },
      rounds: 3,
      rivals,
      metrics: { wallUs, blockedUs },
    },
    {
      name: '+1 GiB',
      longRun: true,
      measure: 'start',
      parameters: { program: nothing, pipes: 0, count: 30, memoryGiB: 1 },
      quick: { count: 10 },
      rounds: 3,
      rivals,
      metrics: {
        wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 50), nearLimit(3), growsBelow(3, { name: small, metric: 'wallUs' })),
        blockedUs: withGoals(blockedUs, beats(CHILD_PROCESS, 20)),
      },
    },
    {
      name: '+4 GiB',
      measure: 'start',
      parameters: { program: nothing, pipes: 0, count: 20, memoryGiB: 4 },
      rounds: 2,
      notQuick: true,
      rivals,
      metrics: {
        wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 100), nearLimit(3), growsBelow(2.5, { name: small, metric: 'wallUs' })),
        blockedUs: withGoals(blockedUs, beats(CHILD_PROCESS, 20)),
      },
    },
  ],
}
