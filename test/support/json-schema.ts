/** As much of JSON Schema as the schemas of docs/ use; a keyword that is none of it is an error. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './fixture.js'

type Schema = Readonly<Record<string, unknown>>

/** Reads a schema of docs/ and gives what tells whether it accepts a value. */
export function schemaOf(name: string): (value: unknown) => boolean {
  const document = JSON.parse(readFileSync(join(root, 'docs', name), 'utf8')) as Schema
  const definitions = document['$defs'] as Readonly<Record<string, Schema>>
  return (value) => accepts(definitions, document, value)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

type Definitions = Readonly<Record<string, Schema>>

function accepts(definitions: Definitions, schema: Schema, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, said]) => check(definitions, schema, [keyword, said], value))
}

function check(
  definitions: Definitions,
  schema: Schema,
  [keyword, said]: [keyword: string, said: unknown],
  value: unknown,
): boolean {
  const fits = (part: unknown, item: unknown) => accepts(definitions, part as Schema, item)
  switch (keyword) {
    case '$schema':
    case '$defs':
    case 'title':
    case 'description':
      return true
    case '$ref':
      return fits(definitions[(said as string).replace('#/$defs/', '')], value)
    case 'type':
      return [said].flat().some((type) => (types[type as string] as (value: unknown) => boolean)(value))
    case 'enum':
      return (said as unknown[]).includes(value)
    case 'not':
      return !fits(said, value)
    case 'const':
      return value === said
    case 'minLength':
      return typeof value !== 'string' || [...value].length >= (said as number)
    case 'minimum':
      return typeof value !== 'number' || value >= (said as number)
    case 'anyOf':
      return (said as Schema[]).some((part) => fits(part, value))
    case 'oneOf':
      return (said as Schema[]).filter((part) => fits(part, value)).length === 1
    case 'allOf':
      return (said as Schema[]).every((part) => fits(part, value))
    case 'pattern':
      return typeof value !== 'string' || new RegExp(said as string, 'u').test(value)
    case 'items':
      return !Array.isArray(value) || value.every((item) => fits(said, item))
    case 'required':
      return !isObject(value) || (said as string[]).every((name) => Object.hasOwn(value, name))
    case 'propertyNames':
      return !isObject(value) || Object.keys(value).every((name) => fits(said, name))
    case 'properties':
      return !isObject(value) || Object.entries(said as Record<string, Schema>).every(([name, part]) => {
        return !Object.hasOwn(value, name) || fits(part, value[name])
      })
    case 'additionalProperties':
      return !isObject(value) || Object.keys(value).every((name) => {
        if (Object.hasOwn((schema['properties'] as object | undefined) ?? {}, name)) return true
        return said !== false && fits(said, value[name])
      })
    default:
      throw new Error(`no keyword ${keyword}`)
  }
}
