/** The options of a call, as opposed to the fields of a spec. */
import { plainObject } from './plain-object.js'
import { wrongType } from './strings.js'

/**
 * Checks that options are an object with no names but the known ones: a bound that is misspelt would bound nothing.
 *
 * @throws {SpecTypeError} ERR_INVALID_SPEC, with `options` or `options.<name>` as the field
 */
export function checkOptions(options: unknown, known: readonly string[]): void {
  for (const name of Object.keys(plainObject(options, 'options'))) {
    if (!known.includes(name)) throw wrongType(`options.${name}`, `is no option of this call: ${known.join(', ')}`)
  }
}
