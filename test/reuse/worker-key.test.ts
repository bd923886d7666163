import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LocalProcessExecutor } from '../../lib/executor.js'
import { CACHE_POLICIES } from '../../lib/reuse/execution-policy.js'
import type { WorkerParts } from '../../lib/reuse/worker-key.js'
import { WORKER_PARTS, workerKey } from '../../lib/reuse/worker-key.js'
import { EXECUTION_SEMANTICS_VERSION, WIRE_PROTOCOL_VERSION } from '../../lib/worker.js'
import { privateRoot, reused, timeouts } from '../support/worker.js'

const policy = {
  workerReuse: true,
  cachePolicy: 'no_persistent_caches',
  timing: 'steady_state',
  warmUps: 2,
  timeouts,
} as const

const parts: WorkerParts = {
  role: 'implementation',
  definition: { name: 'sort', tags: ['a', 'b'] },
  sourceBundle: { files: { 'sort.py': 'sha256:1' } },
  environment: { packages: [['numpy', '2.1']] },
  launch: { program: '/usr/bin/python3', args: ['sort.py'], environment: { A: '1', B: '2' }, secretChannels: [] },
  policy,
}

const withPolicy = (changes: object): WorkerParts => ({ ...parts, policy: { ...policy, ...changes } })

function refusal(value: unknown): unknown {
  try {
    workerKey(value as WorkerParts)
  } catch (error) {
    return error
  }
  return undefined
}

test('a part that is missing, unknown or no JSON is refused by its name [R-05]', () => {
  const cases: [value: unknown, field: string][] = [
    [null, 'worker'],
    [{ ...parts, cwd: '/tmp' }, 'worker.cwd'],
    [{ ...parts, role: 'owner' }, 'worker.role'],
    [{ ...parts, definition: { a: [1, NaN] } }, 'worker.definition.a[1]'],
    [{ ...parts, sourceBundle: new Map() }, 'worker.sourceBundle'],
    [{ ...parts, environment: () => 1 }, 'worker.environment'],
    [withPolicy({ workerReuse: 'yes' }), 'worker.policy.workerReuse'],
    [withPolicy({ cachePolicy: 1 }), 'worker.policy.cachePolicy'],
    [withPolicy({ timing: 'hot' }), 'worker.policy.timing'],
    [withPolicy({ warmUps: 1.5 }), 'worker.policy.warmUps'],
    [withPolicy({ warmUps: -1 }), 'worker.policy.warmUps'],
    [withPolicy({ retries: 1 }), 'worker.policy.retries'],
    [withPolicy({ settings: [] }), 'worker.policy.settings'],
    [withPolicy({ settings: { a: undefined } }), 'worker.policy.settings.a'],
    ...WORKER_PARTS.map((part): [unknown, string] => [{ ...parts, [part]: undefined }, `worker.${part}`]),
  ]
  for (const [value, field] of cases) {
    expect(refusal(value), field).toMatchObject({ code: 'ERR_INVALID_SPEC', details: { field } })
  }
  const record = { ...parts, launch: { program: 'python3' } }
  expect(refusal(record)).toMatchObject({ code: 'ERR_INVALID_LAUNCH_RECORD', details: { field: 'program' } })
  const { hello: _hello, ...lacking } = timeouts
  expect(refusal(withPolicy({ timeouts: lacking }))).toMatchObject({
    code: 'ERR_INVALID_PHASE_TIMEOUTS',
    details: { field: 'hello' },
  })
})

const changes: Record<string, WorkerParts> = {
  'role': { ...withPolicy({ workerReuse: false, warmUps: 0 }), role: 'problem_evaluator' },
  'definition': { ...parts, definition: { name: 'sort', tags: ['b', 'a'] } },
  'sourceBundle': { ...parts, sourceBundle: { files: { 'sort.py': 'sha256:2' } } },
  'environment': { ...parts, environment: { packages: [['numpy', '2.2']] } },
  'launch: program': { ...parts, launch: { ...parts.launch, program: '/usr/bin/python' } },
  'launch: argument': { ...parts, launch: { ...parts.launch, args: ['sort.py', ''] } },
  'launch: variable': { ...parts, launch: { ...parts.launch, environment: { A: '1', B: '3' } } },
  'launch: channel': {
    ...parts,
    launch: { ...parts.launch, secretChannels: [{ name: 'token', by: 'variable', variable: 'TOKEN' }] },
  },
  'policy: reuse': withPolicy({ workerReuse: false, warmUps: 0 }),
  'policy: timing': withPolicy({ workerReuse: false, warmUps: 0, timing: 'cold_end_to_end' }),
  'policy: warm-ups': withPolicy({ warmUps: 3 }),
  'policy: timeout': withPolicy({ timeouts: { ...timeouts, reset: 1 } }),
  'policy: requirement': withPolicy({ requirements: { processGroups: 'required' } }),
  'policy: control': withPolicy({ controls: { nice: 1 } }),
  'policy: limit': withPolicy({ controls: { limits: { core: Infinity } } }),
  'policy: setting': withPolicy({ settings: { repetitions: 3 } }),
}

test.each(Object.entries(changes))('a change of %s is another key [R-05, R-44]', (what, changed) => {
  const [one, other] = [workerKey(parts), workerKey(changed)]
  expect(one.equals(other)).toBe(false)
  expect(other.equals(one)).toBe(false)
  expect(one.digest).not.toBe(other.digest)
  expect(one.differences(other)).toContain(what.split(':')[0])
  // The role alone can only change together with the policy.
  expect(one.differences(other)).toHaveLength(what === 'role' ? 2 : 1)
})

test('no two of the changes are one key [R-05]', () => {
  const texts = [parts, ...Object.values(changes)].map((value) => workerKey(value).toString())
  expect(new Set(texts).size).toBe(texts.length)
})

test('order, white space and what is said by leaving it out make no other key [R-05]', () => {
  const shuffle = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffle)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).reverse().map(([key, item]) => [key, shuffle(item)]))
  }
  const key = workerKey(parts)
  const same: unknown[] = [
    shuffle(parts),
    JSON.parse(JSON.stringify(parts, null, 7)),
    withPolicy({ requirements: {}, controls: {}, settings: {} }),
    withPolicy({ requirements: { processGroups: 'not-required' }, controls: { nice: undefined } }),
  ]
  for (const value of same) {
    expect(workerKey(value as WorkerParts).equals(key)).toBe(true)
    expect(workerKey(value as WorkerParts).digest).toBe(key.digest)
  }
})

test('two keys are equal exactly when their parts say the same [R-05]', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const keyOf = (definition: unknown) => workerKey({ ...parts, definition } as WorkerParts)
      const canonical = (value: unknown): string => JSON.stringify(value, (_, item: unknown) => {
        if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
        return Object.fromEntries(Object.entries(item).sort(([x], [y]) => (x < y ? -1 : 1)))
      })
      expect(keyOf(one).equals(keyOf(other))).toBe(canonical(one) === canonical(other))
      expect(keyOf(one).equals(keyOf(structuredClone(one)))).toBe(true)
    }),
    { numRuns: 200 },
  )
})

test('a key tells the policy of caches by its name, and no place or number of a launch [R-05, R-44]', async () => {
  const root = privateRoot()
  const executor = new LocalProcessExecutor({ privateRoot: root, logs: { stdoutBytes: 0, stderrBytes: 0 } })
  const launched = workerKey({ ...parts, launch: reused() })
  await using worker = await executor.spawn(launched.parts.launch, { protocolFds: { read: 123, write: 99 } })
  expect(worker.workingDirectory?.startsWith(root)).toBe(true)
  expect(workerKey({ ...parts, launch: reused() }).toString()).toBe(launched.toString())
  expect(launched.toString()).toContain('"cachePolicy":"no_persistent_caches"')
  expect(launched.toString()).not.toMatch(/123|99|_FD|exactspawn-root|worker-/)
  expect(launched.toString()).not.toContain(root)
})

test('a key keeps what it was made of, whatever becomes of that [R-05]', () => {
  const definition = { tags: ['a'] }
  const key = workerKey({ ...parts, definition })
  const text = key.toString()
  definition.tags.push('b')
  expect(key.toString()).toBe(text)
  expect(key.parts.definition).toEqual({ tags: ['a'] })
  expect(() => ((key.parts.definition as { tags: string[] }).tags[0] = 'c')).toThrow(TypeError)
  expect(Object.isFrozen(key) && Object.isFrozen(key.parts) && Object.isFrozen(key.parts.policy)).toBe(true)
})

test('controls are copied and frozen all through: what a key says is what its worker gets [R-05, R-44]', () => {
  const limits = { core: 0 as number | { soft: number; hard: number }, nofile: { soft: 64, hard: 64 } }
  const affinity = [0]
  const key = workerKey(withPolicy({ controls: { limits, affinity } }))
  const text = key.toString()
  limits.core = 1_024
  limits.nofile.soft = 7
  affinity.push(1)
  const { controls } = key.parts.policy
  expect(controls).toEqual({ limits: { core: 0, nofile: { soft: 64, hard: 64 } }, affinity: [0] })
  expect(key.toString()).toBe(text)
  for (const part of [controls, controls.limits, controls.limits?.nofile, controls.affinity, key.parts.policy.requirements]) {
    expect(Object.isFrozen(part)).toBe(true)
  }
})

test('a cache policy that there is not is refused with those that there are [R-45]', () => {
  expect(CACHE_POLICIES).toEqual(['no_persistent_caches'])
  for (const name of ['persistent_pip_cache', '', 'No_Persistent_Caches']) {
    expect(refusal(withPolicy({ cachePolicy: name }))).toMatchObject({
      name: 'ReuseError',
      code: 'ERR_UNKNOWN_CACHE_POLICY',
      details: { field: 'worker.policy.cachePolicy', policy: name, known: ['no_persistent_caches'] },
    })
  }
})

test.each([
  ['workerReuse', { timing: 'cold_end_to_end', workerReuse: true, warmUps: 0 }],
  ['warmUps', { timing: 'cold_end_to_end', workerReuse: false, warmUps: 1 }],
  ['warmUps', { timing: 'steady_state', workerReuse: false, warmUps: 1 }],
])('a policy that contradicts itself by %s, %o, is refused [R-47]', (name, contradiction) => {
  expect(refusal(withPolicy(contradiction))).toMatchObject({
    code: 'ERR_INCOMPATIBLE_TIMING_POLICY',
    details: { field: `worker.policy.${name}`, timing: contradiction.timing },
  })
})

test.each([
  { timing: 'cold_end_to_end', workerReuse: false, warmUps: 0 },
  { timing: 'steady_state', workerReuse: false, warmUps: 0 },
  { timing: 'steady_state', workerReuse: true, warmUps: 0 },
  { timing: 'steady_state', workerReuse: true, warmUps: 9 },
])('a policy that is of one piece, %o, is taken [R-47]', (changed) => {
  expect(workerKey(withPolicy(changed)).parts.policy).toMatchObject(changed)
})

test('only an implementation can be used again: no other role has a reset [R-01, R-08]', () => {
  for (const role of ['dataset_materializer', 'problem_evaluator'] as const) {
    expect(refusal({ ...parts, role })).toMatchObject({
      code: 'ERR_INVALID_SPEC',
      details: { field: 'worker.policy.workerReuse' },
    })
    const fresh = { ...withPolicy({ workerReuse: false, warmUps: 0 }), role }
    expect(workerKey(fresh).parts.role).toBe(role)
  }
})

test('execution semantics have a version of their own, beside the wire\'s [R-46]', () => {
  expect([EXECUTION_SEMANTICS_VERSION, WIRE_PROTOCOL_VERSION]).toEqual([2, 1])
})
