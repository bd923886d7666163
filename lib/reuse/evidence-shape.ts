/** Whether a value has the shape that evidence has at its top; the schema says the rest. */
import { isPlainObject } from '../process/plain-object.js'
import { EVIDENCE_VERSION } from './evidence.js'

type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === 'string' && value !== ''
const count: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const anything: Check = (value) => value !== undefined

const REQUIRED: Readonly<Record<string, Check>> = {
  wire_protocol: count,
  execution_semantics: count,
  attempt: text,
  lane: (value) => value === null || count(value),
  specification: text,
  slot: anything,
  implementation_seed: count,
  worker_key: text,
  context: (value) => isPlainObject(value) && isPlainObject(value['worker_reuse']),
}

/** Says why a value is no evidence that this package reads; undefined when it is. */
export function evidenceFault(value: unknown): string | undefined {
  if (!isPlainObject(value)) return 'is no object'
  if (!Object.hasOwn(value, 'evidence')) return 'is no evidence: it has no version'
  const { evidence, outcome } = value
  if (evidence !== EVIDENCE_VERSION) {
    return `is evidence of version ${JSON.stringify(evidence)}, and this package reads ${EVIDENCE_VERSION}`
  }
  const wrong = Object.entries(REQUIRED).find(([name, fits]) => !Object.hasOwn(value, name) || !fits(value[name]))
  if (wrong !== undefined) return `is no evidence: ${wrong[0]} is missing or wrong`
  const [own, other] = outcome === 'completed' ? ['observation', 'failure'] : ['failure', 'observation']
  if (outcome !== 'completed' && outcome !== 'failed') return 'is no evidence: outcome is missing or wrong'
  if (!Object.hasOwn(value, own as string) || Object.hasOwn(value, other as string)) return `is no evidence: ${outcome} has ${own}`
  return undefined
}
