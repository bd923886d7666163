import { atMost, beats, nearLimit } from '../goals.mjs'
import { nothing } from '../programs.mjs'
import { blockedUs, CHILD_PROCESS, cpuUs, wallP99Us, wallUs, withGoals } from './metrics.mjs'

const near = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python']
// Built on child_process or forking as it does, and slower: once is enough.
const everybody = [...near, 'execa', 'node-pty']

export default {
  id: 'W1',
  title: 'One start and its end, one after the other',
  cases: [
    {
      name: 'static program, no pipes',
      measure: 'start',
      parameters: { program: nothing, pipes: 0, count: 100 },
      quick: { count: 60 },
      rounds: 4,
      rivals: near,
      metrics: { wallUs, wallP99Us, blockedUs, cpuUs },
    },
    {
      name: 'static program, 2 pipes',
      measure: 'start',
      parameters: { program: nothing, pipes: 2, count: 100 },
      quick: { count: 60 },
      rounds: 4,
      rivals: everybody,
      metrics: {
        wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 5), nearLimit(1.4)),
        wallP99Us,
        blockedUs: withGoals(blockedUs, beats(CHILD_PROCESS, 20), atMost(45)),
        cpuUs: withGoals(cpuUs, beats(CHILD_PROCESS, 5), nearLimit(3)),
      },
    },
    {
      name: '2 pipes, after 2,000 starts',
      measure: 'start',
      parameters: { program: nothing, pipes: 2, count: 200, warmUps: 2000 },
      notQuick: true,
      rounds: 3,
      rivals: near,
      metrics: { wallUs, wallP99Us, blockedUs, cpuUs },
    },
    {
      name: '/bin/true, 2 pipes',
      measure: 'start',
      parameters: { program: '/bin/true', pipes: 2, count: 60 },
      quick: { count: 40 },
      rounds: 4,
      rivals: near,
      metrics: { wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 1.6), nearLimit(1.4)), blockedUs, cpuUs },
    },
  ],
}
