import { growsBelow } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { CHILD_PROCESS, cpuPerGb, gbPerSecond, withGoals } from './metrics.mjs'

const MiB = 1024 * 1024
const crowds = [10, 100, 1000, 2000]

const phase = (name, label) =>
  crowds.map((alive) => {
    const goals = alive === 10 ? [] : [growsBelow(2, { metric: `${name}10` })]
    return [`${name}${alive}`, { unit: 'µs', better: 'less', label: `${label}, beside ${alive}`, goals }]
  })

// 256 MiB in all, whatever the number: what changes is how many pipes they come through.
const drains = (children) => ({
  name: `${children} at once`,
  measure: 'drain',
  parameters: { program: nothing, target, bytes: Math.floor((256 * MiB) / children), children },
  rounds: 2,
  longRun: true,
  notQuick: children === 10 || children === 500,
  rivals: ['C limit', CHILD_PROCESS, 'Bun.spawn'],
  metrics: {
    gbPerSecond,
    cpuPerGb: withGoals(cpuPerGb, ...(children === 1 ? [] : [growsBelow(10, { name: '1 at once', metric: 'cpuPerGb' })])),
  },
})

export default {
  id: 'W12',
  title: 'Growth: children that live, and drains at once',
  cases: [
    {
      name: 'children that live',
      measure: 'phases',
      parameters: { program: nothing, target, alive: crowds.join('+'), count: 40 },
      quick: { count: 25 },
      rounds: 2,
      longRun: true,
      rivals: [CHILD_PROCESS],
      why: 'they do not tell a start and an end apart',
      metrics: Object.fromEntries([...phase('startUs', 'start'), ...phase('endUs', 'end')]),
    },
    ...[1, 10, 100, 500].map(drains),
  ],
}
