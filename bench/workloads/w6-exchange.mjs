import { fileURLToPath } from 'node:url'
import { beats, nearLimit } from '../goals.mjs'
import { target } from '../programs.mjs'
import { CHILD_PROCESS, withGoals } from './metrics.mjs'

const KiB = 1024
const rivals = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python']
const wallUs = { unit: 'µs', better: 'less', label: 'round trip, median' }
const wallP99Us = { unit: 'µs', better: 'less', label: 'round trip, 99 of 100' }
const cpuUs = { unit: 'µs', better: 'less', label: "host's CPU for one" }
const pipelinedPerSecond = { unit: '1/s', better: 'more', label: 'with 64 in flight' }

const measured = (name, place, parameters, metrics, more = {}) => ({
  name,
  measure: 'exchange',
  place,
  parameters: { target, ...parameters },
  quick: { count: Math.ceil(parameters.count / 2) },
  rounds: 3,
  rivals,
  metrics,
  ...more,
})

// The same worker in JavaScript for all; two further rivals are Node's own channel in its two codings.
const node = { node: process.execPath, worker: fileURLToPath(new URL('../rivals/echo-worker.mjs', import.meta.url)) }
const ipc = (channel) => ({ of: CHILD_PROCESS, name: `fork() ${channel}`, parameters: { channel } })

export default {
  id: 'W6',
  title: 'Requests to a worker and its answers over two pipes',
  cases: [
    measured('64 B, one CPU', 'one CPU', { bytes: 64, count: 2000, window: 64 }, {
      wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 1.2), nearLimit(4.5)),
      wallP99Us: withGoals(wallP99Us, beats(CHILD_PROCESS, 3)),
      cpuUs,
      pipelinedPerSecond: withGoals(pipelinedPerSecond, beats(CHILD_PROCESS, 1.4), nearLimit(0.3)),
    }),
    measured('64 B, two CPUs', 'two CPUs', { bytes: 64, count: 1500, window: 64 }, {
      wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 0.91), nearLimit(1.35)),
      wallP99Us: withGoals(wallP99Us, beats(CHILD_PROCESS, 2)),
      cpuUs,
      pipelinedPerSecond: withGoals(pipelinedPerSecond, beats(CHILD_PROCESS, 1.4), nearLimit(0.3)),
    }),
    measured('64 KiB, one CPU', 'one CPU', { bytes: 64 * KiB, count: 1000 }, {
      wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 0.87), nearLimit(3)),
      wallP99Us,
      cpuUs: withGoals(cpuUs, beats(CHILD_PROCESS, 1.2)),
    }),
    measured('64 KiB, two CPUs', 'two CPUs', { bytes: 64 * KiB, count: 800 }, {
      wallUs: withGoals(wallUs, beats(CHILD_PROCESS, 0.87), nearLimit(1.5)),
      wallP99Us,
      cpuUs: withGoals(cpuUs, beats(CHILD_PROCESS, 1.2)),
    }),
    measured(
      '64 KiB, worker in Node, one CPU',
      'one CPU',
      { bytes: 64 * KiB, count: 500, ...node },
      {
        wallUs: withGoals(wallUs, beats('fork() json', 4), beats('fork() advanced', 1.3), beats(CHILD_PROCESS, 0.87)),
        cpuUs,
      },
      { rivals: ['C limit', CHILD_PROCESS], variants: [ipc('json'), ipc('advanced')], longRun: true },
    ),
  ],
}
