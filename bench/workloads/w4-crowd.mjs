import { beats, growsBelow, nearLimit } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { CHILD_PROCESS, cpuUs, perSecond, withGoals } from './metrics.mjs'

const rivals = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command']
const burstMs = { unit: 'ms', better: 'less', label: 'all ends known' }
const burstCpuMs = { unit: 'ms', better: 'less', label: "host's CPU for all ends" }
const startCpuMs = { unit: 'ms', better: 'less', label: "host's CPU for all starts" }

const many = (inFlight) => ({
  name: `${inFlight} in flight, no pipes`,
  measure: 'throughput',
  parameters: { program: nothing, pipes: 0, total: 400, inFlight },
  quick: { total: 250 },
  rounds: 3,
  rivals,
  metrics: { perSecond: withGoals(perSecond, beats(CHILD_PROCESS, 6), nearLimit(0.7)), cpuUs },
})

const burst = (pipes, metrics) => ({
  name: pipes === 0 ? 'many end at once, no pipes' : 'many end at once, 2 pipes',
  measure: 'burst',
  parameters: { program: nothing, target, count: 1000, pipes },
  quick: { count: 500 },
  rounds: 3,
  longRun: true,
  rivals: [...rivals, 'Python'],
  metrics,
})

export default {
  id: 'W4',
  title: 'Many children at a time',
  cases: [
    many(16),
    many(64),
    burst(0, { wallMs: withGoals(burstMs, beats(CHILD_PROCESS, 0.87), nearLimit(1.2)), cpuMs: burstCpuMs, startCpuMs }),
    burst(2, {
      wallMs: withGoals(burstMs, beats(CHILD_PROCESS, 1.4), nearLimit(1.5)),
      cpuMs: withGoals(burstCpuMs, beats(CHILD_PROCESS, 2)),
      startCpuMs,
    }),
    {
      name: 'beside children that live',
      measure: 'crowd',
      parameters: { program: nothing, target, alive: '0+2000', count: 60 },
      quick: { count: 40 },
      rounds: 3,
      longRun: true,
      rivals,
      metrics: {
        cpuUs0: { ...cpuUs, label: `${cpuUs.label}, none` },
        cpuUs2000: {
          ...withGoals(cpuUs, beats(CHILD_PROCESS, 8), nearLimit(3), growsBelow(2, { metric: 'cpuUs0' })),
          label: `${cpuUs.label}, 2000`,
        },
      },
    },
  ],
}
