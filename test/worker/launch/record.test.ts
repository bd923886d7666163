/** What a launch record may say, and what it identifies. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FIXED_VALUES, PRIVATE_PLACES } from '../../../lib/worker/worker-environment.js'
import type { LaunchRecord } from '../../../lib/worker.js'
import { EXECUTION_SEMANTICS_VERSION, WIRE_PROTOCOL_VERSION } from '../../../lib/worker.js'
import { launchIdentity, readLaunchRecord } from '../../../lib/worker.js'
import { schemaOf } from '../../support/json-schema.js'

const schemaAccepts = schemaOf('launch-record.schema.json')
const plain = { program: '/bin/true', args: ['a'], environment: { A: '1' }, secretChannels: [] }
const channel = { name: 'token', by: 'variable', variable: 'TOKEN' }
const withChannels = (...secretChannels: unknown[]) => ({ ...plain, secretChannels })
const withVariable = (name: string, value: unknown = '1') => ({ ...plain, environment: { [name]: value } })

function refusal(record: unknown): { code?: string; details?: object } {
  try {
    readLaunchRecord(record)
  } catch (error) {
    const { code, details } = error as { code: string; details: object }
    return { code, details }
  }
  return {}
}

test('a field that is none, of another type or not resolved is refused by its name [M-48]', () => {
  const fields: [unknown, string][] = [
    [null, 'record'],
    [[], 'record'],
    ['/bin/true', 'record'],
    [{ args: [] }, 'program'],
    [{ ...plain, program: 'true' }, 'program'],
    [{ ...plain, program: './true' }, 'program'],
    [{ ...plain, program: '/bin/\0true' }, 'program'],
    [{ ...plain, program: '/\ud800' }, 'program'],
    [{ ...plain, args: 'a' }, 'args'],
    [{ ...plain, args: ['a', 1] }, 'args[1]'],
    [{ ...plain, args: ['\0'] }, 'args[0]'],
    [{ ...plain, environment: [] }, 'environment'],
    [{ ...plain, args: null }, 'args'],
    [{ ...plain, cwd: '/' }, 'cwd'],
    [{ ...plain, env: {} }, 'env'],
    [withChannels({ ...channel, value: 'x' }), 'secretChannels[0].value'],
    [withChannels({ ...channel, by: 'file' }), 'secretChannels[0].by'],
    [withChannels({ ...channel, name: 'Token' }), 'secretChannels[0].name'],
    [withChannels(channel, { ...channel, variable: 'OTHER' }), 'secretChannels[1].name'],
    [withChannels(channel, { ...channel, name: 'other' }), 'secretChannels[1].variable'],
    [withChannels({ ...channel, variable: 'A' }), 'secretChannels[0].variable'],
    [withChannels(null), 'secretChannels[0]'],
  ]
  for (const [record, field] of fields) {
    expect(refusal(record)).toMatchObject({ code: 'ERR_INVALID_LAUNCH_RECORD', details: { field } })
  }
})

test('what keeps its entries under no names is no object of a record [M-48]', () => {
  for (const wrong of [new Map([['API', 'x']]), new Date(), [], 'x', null]) {
    const read = () => readLaunchRecord({ program: '/bin/true', environment: wrong })
    expect(read).toThrow(expect.objectContaining({ code: 'ERR_INVALID_LAUNCH_RECORD', field: 'environment' }))
  }
})

test('a variable whose name is none or not the record\'s, or whose value is no bytes, is refused [M-52]', () => {
  const fixed = [...Object.keys(FIXED_VALUES), ...Object.keys(PRIVATE_PLACES)]
  const transport = ['METEWAND_PROTOCOL_READ_FD', 'METEWAND_PROTOCOL_WRITE_FD']
  expect(fixed).toHaveLength(18)
  const bad = ['', '1A', 'A=B', 'A B', 'A-B', 'A\0', 'A\n', 'ä', '\x1b[31m']
  for (const variable of [...bad, ...fixed, ...transport]) {
    const refused = { code: 'ERR_INVALID_ENVIRONMENT_VARIABLE', details: { variable } }
    expect(refusal(withVariable(variable))).toMatchObject(refused)
    expect(refusal(withChannels({ ...channel, variable }))).toMatchObject(
      variable.includes('\0') ? { code: 'ERR_INVALID_LAUNCH_RECORD' } : refused,
    )
  }
  for (const value of ['a\0b', '\udc00', 1, null]) {
    expect(refusal(withVariable('A', value))).toMatchObject({ code: 'ERR_INVALID_ENVIRONMENT_VARIABLE' })
  }
  expect(refusal(withVariable('A', 'LF \n, tab \t, \x1b and ä are bytes like others'))).toEqual({})
})

test('resource controls are the executor\'s and are refused in a record [M-66]', () => {
  const controls = ['limits', 'nice', 'affinity', 'cgroup', 'uid', 'gid', 'groups', 'timeoutMs', 'memory', 'cpu']
  for (const control of controls) {
    const details = { control, reason: "is the executor's: give it to spawn(record, { controls })" }
    expect(refusal({ ...plain, [control]: 1 })).toEqual({ code: 'ERR_UNSUPPORTED_CONTROL', details })
  }
})

test('a record is frozen to its depth, and a later change of what was given does not reach it [M-48]', () => {
  const given = structuredClone({ ...withChannels(channel) }) as { args: string[]; environment: Record<string, string> }
  const record = readLaunchRecord(given)
  given.args.push('later')
  given.environment['B'] = 'later'
  expect(record).toEqual(withChannels(channel))
  const parts = [record, record.args, record.environment, record.secretChannels, record.secretChannels[0]]
  expect(parts.every(Object.isFrozen)).toBe(true)
  expect(readLaunchRecord(record)).toBe(record)
  expect(readLaunchRecord({ program: '/bin/true' })).toEqual({
    program: '/bin/true',
    args: [],
    environment: {},
    secretChannels: [],
  })
})

test('an identity is the same bytes for the same launch, in whatever order it was written [M-53, M-91]', () => {
  const golden =
    '{"args":["a"],"environment":{"A":"1","b":"2"},"program":"/bin/true",' +
    '"secretChannels":[{"by":"variable","name":"token","variable":"TOKEN"}]}'
  const record = { ...withChannels(channel), environment: { A: '1', b: '2' } } as LaunchRecord
  expect(launchIdentity(record)).toBe(golden)
  const { variable, by, name } = channel
  const turned = { secretChannels: [{ variable, by, name }], environment: { b: '2', A: '1' }, args: ['a'] }
  expect(launchIdentity({ ...turned, program: '/bin/true' } as LaunchRecord)).toBe(golden)
  expect(launchIdentity(JSON.parse(golden) as LaunchRecord)).toBe(golden)
  const others = [{ args: ['b'] }, { program: '/bin/false' }, { environment: {} }, { secretChannels: [] }]
  for (const other of others) expect(launchIdentity({ ...record, ...other })).not.toBe(golden)
})

test('the versions of wire and of execution are two numbers [M-68, M-91]', () => {
  expect([WIRE_PROTOCOL_VERSION, EXECUTION_SEMANTICS_VERSION]).toEqual([1, 2])
})

const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('\0', '\ud800', 'é', '\n', '/'))
const junk = fc.constantFrom<unknown>(null, 1, '', [], {}, true)
const variable = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[A-Z_][A-Z0-9]{0,3}$/) },
  fc.constantFrom(...Object.keys(FIXED_VALUES), ...Object.keys(PRIVATE_PLACES)),
  fc.constantFrom('METEWAND_PROTOCOL_READ_FD', 'METEWAND_PROTOCOL_WRITE_FD', '__proto__'),
  text,
)
const mostly = <T>(arbitrary: fc.Arbitrary<T>) => fc.oneof({ weight: 19, arbitrary }, junk)
const record = fc.record(
  {
    program: mostly(fc.oneof({ weight: 6, arbitrary: fc.constant('/bin/true') }, text.map((rest) => `/${rest}`), text)),
    args: mostly(fc.array(mostly(text), { maxLength: 2 })),
    environment: mostly(fc.dictionary(variable, mostly(text), { maxKeys: 2 })),
    secretChannels: mostly(
      fc.array(
        mostly(
          fc.record(
            {
              name: mostly(fc.oneof(fc.stringMatching(/^[a-z][a-z0-9_-]{0,3}$/), text)),
              by: mostly(fc.constantFrom('variable', 'descriptor')),
              variable: mostly(variable),
            },
            { requiredKeys: ['name', 'by'] },
          ),
        ),
        { maxLength: 2 },
      ),
    ),
  },
  { requiredKeys: ['program', 'args'] },
)

/** What a schema cannot say: names and variables of channels are unique, and not the environment's. */
function distinct(value: unknown): boolean {
  const { environment = {}, secretChannels = [] } = value as LaunchRecord
  const variables = [...Object.keys(environment), ...secretChannels.map((one) => one.variable)]
  const names = secretChannels.map(({ name }) => name)
  return new Set(variables).size === variables.length && new Set(names).size === names.length
}

test('the published schema accepts what is read as a record, but for names given twice [M-48, M-52]', () => {
  expect(schemaAccepts({ ...plain, cwd: '/' })).toBe(false)
  const seen = { accepted: 0, refused: 0 }
  const property = fc.property(record, (value) => {
    const accepted = refusal(value).code === undefined
    seen[accepted ? 'accepted' : 'refused']++
    expect(schemaAccepts(value) && distinct(value)).toBe(accepted)
  })
  fc.assert(property, { numRuns: 2_000 })
  expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100)
})
