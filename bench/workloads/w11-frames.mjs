import { atMost } from '../goals.mjs'
import { withGoals } from './metrics.mjs'

const strictUs = { unit: 'µs', better: 'less', label: 'strict frame reader' }
const plainUs = { unit: 'µs', better: 'less', label: 'JSON.parse(buffer.toString())' }
const ofPlain = { unit: 'x', better: 'less', label: 'the first of the second' }

const frames = (name, kind, most) => ({
  name,
  measure: 'frames',
  parameters: { kind },
  rounds: 3,
  longRun: true,
  rivals: [],
  why: 'they have no such reader',
  metrics: { strictUs, plainUs, ofPlain: withGoals(ofPlain, atMost(most)) },
})

export default {
  id: 'W11',
  title: 'The frame reader of the protocol: UTF-8 and duplicate keys are looked for',
  cases: [
    frames('a small message', 'small', 2),
    frames('1 MiB of small objects', 'objects', 3),
    frames('1 MiB in one string', 'string', 3),
  ],
}
