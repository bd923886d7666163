import { atMost, beats, nearLimit } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { CHILD_PROCESS, withGoals } from './metrics.mjs'

const childMs = { unit: 'ms', better: 'less', label: 'time of the child' }

export default {
  id: 'W7',
  title: 'A child writes 10 MB while the JavaScript thread computes for 500 ms',
  cases: [
    {
      name: '10 MB, 500 ms',
      measure: 'busy',
      parameters: { program: nothing, target, bytes: 10 * 1024 * 1024, busyMs: 500 },
      rounds: 3,
      rivals: ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command'],
      metrics: { childMs: withGoals(childMs, beats(CHILD_PROCESS, 30), atMost(20), nearLimit(5)) },
    },
  ],
}
