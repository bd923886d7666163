/** As much of JSON Schema as docs/launch-record.schema.json uses; a keyword that is none of it is an error. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../support/fixture.js'

type Schema = Readonly<Record<string, unknown>>

const document = JSON.parse(readFileSync(join(root, 'docs', 'launch-record.schema.json'), 'utf8')) as Schema
const definitions = document['$defs'] as Readonly<Record<string, Schema>>

export const schemaAccepts = (value: unknown): boolean => accepts(document, value)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
}

function accepts(schema: Schema, value: unknown): boolean {
  return Object.entries(schema).every(([keyword, said]) => check(schema, keyword, said, value))
}

function check(schema: Schema, keyword: string, said: unknown, value: unknown): boolean {
  switch (keyword) {
    case '$schema':
    case '$defs':
    case 'title':
    case 'description':
      return true
    case '$ref':
      return accepts(definitions[(said as string).replace('#/$defs/', '')] as Schema, value)
    case 'type':
      return (types[said as string] as (value: unknown) => boolean)(value)
    case 'enum':
      return (said as unknown[]).includes(value)
    case 'not':
      return !accepts(said as Schema, value)
    case 'allOf':
      return (said as Schema[]).every((part) => accepts(part, value))
    case 'pattern':
      return typeof value !== 'string' || new RegExp(said as string, 'u').test(value)
    case 'items':
      return !Array.isArray(value) || value.every((item) => accepts(said as Schema, item))
    case 'required':
      return !isObject(value) || (said as string[]).every((name) => Object.hasOwn(value, name))
    case 'propertyNames':
      return !isObject(value) || Object.keys(value).every((name) => accepts(said as Schema, name))
    case 'properties':
      return !isObject(value) || Object.entries(said as Record<string, Schema>).every(([name, part]) => {
        return !Object.hasOwn(value, name) || accepts(part, value[name])
      })
    case 'additionalProperties':
      return !isObject(value) || Object.keys(value).every((name) => {
        if (Object.hasOwn((schema['properties'] as object | undefined) ?? {}, name)) return true
        return said !== false && accepts(said as Schema, value[name])
      })
    default:
      throw new Error(`no keyword ${keyword}`)
  }
}
