import { beats, nearLimit } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { CHILD_PROCESS, cpuPerGb, gbPerSecond, withGoals } from './metrics.mjs'

const rivals = ['C limit', CHILD_PROCESS, 'Bun.spawn', 'Deno.Command', 'Python']
const MiB = 1024 * 1024

const measured = (name, more, rate, cpu) => ({
  name,
  measure: 'drain',
  rounds: 3,
  rivals,
  metrics: { gbPerSecond: withGoals(gbPerSecond, ...rate), cpuPerGb: withGoals(cpuPerGb, ...cpu) },
  ...more,
  parameters: { program: nothing, target, ...more.parameters },
})

export default {
  id: 'W5',
  title: 'Output of 64 KiB blocks, of which 64 KiB are kept',
  cases: [
    measured(
      'one child, placed by the kernel',
      { parameters: { bytes: 1024 * MiB }, quick: { bytes: 256 * MiB }, rounds: 3, rivals: [...rivals, 'execa'] },
      [],
      [],
    ),
    measured(
      'one CPU',
      { parameters: { bytes: 512 * MiB }, quick: { bytes: 256 * MiB }, place: 'one CPU' },
      [beats(CHILD_PROCESS, 2.5), nearLimit(0.85)],
      [beats(CHILD_PROCESS, 4), nearLimit(1.25)],
    ),
    measured(
      'two CPUs',
      { parameters: { bytes: 512 * MiB }, quick: { bytes: 256 * MiB }, place: 'two CPUs' },
      [beats(CHILD_PROCESS, 1.8), nearLimit(0.85)],
      [beats(CHILD_PROCESS, 2.5), nearLimit(1.25)],
    ),
    measured(
      '16 children',
      { parameters: { bytes: 64 * MiB, children: 16 }, quick: { bytes: 16 * MiB } },
      [beats(CHILD_PROCESS, 2.5), nearLimit(0.85)],
      [beats(CHILD_PROCESS, 3), nearLimit(1.25)],
    ),
    measured(
      'lines of 128 bytes',
      { parameters: { bytes: 32 * MiB, block: 128, coalesceUs: 100 }, quick: { bytes: 16 * MiB } },
      [beats(CHILD_PROCESS, 2.5), nearLimit(0.75)],
      [beats(CHILD_PROCESS, 5), nearLimit(2)],
    ),
  ],
}
