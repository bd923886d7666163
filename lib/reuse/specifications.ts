/**
 * What is the same for all of a specification: its seed, over every worker, warm-up and measurement, and its planned
 * warm-ups, over every worker of one key. Kept for as long as attempts are run: a worker that was replaced
 * meanwhile, or a specification that came between, makes no other seed right.
 */
import { createHash } from 'node:crypto'
import { invalid } from '../process/strings.js'
import { canonicalJson } from '../protocol/canonical-json.js'
import type { ReadAttempt } from './attempt.js'

interface Fact {
  /** What it is a fact of. */
  readonly of: string
  readonly value: string | number
  readonly field: string
  readonly otherwise: (known: string | number) => string
}

export class Specifications {
  readonly #known = new Map<string, string | number>()

  /**
   * Checks attempts against what is known, and against each other.
   *
   * @throws {SpecError} ERR_INVALID_SPEC {field: 'implementationSeed' | 'warmUps.slots'}
   */
  check(attempts: readonly ReadAttempt<unknown>[]): void {
    const added = new Map<string, string | number>()
    for (const { of, value, field, otherwise } of attempts.flatMap(factsOf)) {
      const known = added.get(of) ?? this.#known.get(of)
      if (known !== undefined && known !== value) throw invalid(field, otherwise(known))
      added.set(of, value)
    }
  }

  /** Remembers what an attempt says of its specification, once it begins. */
  keep(attempt: ReadAttempt<unknown>): void {
    for (const { of, value } of factsOf(attempt)) this.#known.set(of, value)
  }
}

function factsOf({ specification, implementationSeed, warmUps, key }: ReadAttempt<unknown>): Fact[] {
  const seed: Fact = {
    of: JSON.stringify([specification]),
    value: implementationSeed,
    field: 'implementationSeed',
    otherwise: (known) => `is ${known} for this specification`,
  }
  const plan: Fact = {
    of: JSON.stringify([specification, key.digest]),
    value: createHash('sha256').update(canonicalJson(warmUps?.slots ?? [])).digest('base64'),
    field: 'warmUps.slots',
    otherwise: () => 'are others than this specification has had on such a worker',
  }
  return [seed, plan]
}
