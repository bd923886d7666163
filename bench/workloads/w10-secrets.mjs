import { beats } from '../goals.mjs'
import { nothing, target } from '../programs.mjs'
import { tokens } from '../rivals/secrets.mjs'
import { cpuPerGb, gbPerSecond, withGoals } from './metrics.mjs'

const MiB = 1024 * 1024
const NAME = 'without secrets'

const filtered = (name, parameters) => ({
  name,
  measure: 'drain',
  place: 'one CPU',
  parameters: { program: nothing, target, bytes: 256 * MiB, text: 1, tail: 1, secrets: 8, ...parameters },
  quick: { bytes: 64 * MiB },
  rounds: 4,
  rivals: [],
  why: 'they filter nothing',
  variants: [{ of: 'exactspawn', name: NAME, parameters: { secrets: 0 } }],
  metrics: { gbPerSecond: withGoals(gbPerSecond, beats(NAME, 0.5)), cpuPerGb },
})

export default {
  id: 'W10',
  title: 'Lines as logs have them, eight secrets taken out, 64 KiB of head and tail kept',
  cases: [filtered('none occurs', {}), filtered('one in each 64 KiB', { needle: tokens(1)[0] })],
}
