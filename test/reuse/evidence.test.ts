/** What is told of an attempt, and in which order. */
import { expect, test } from 'vitest'
import { errorJson } from '../../lib/base/errors.js'
import type { AttemptEvidence } from '../../lib/reuse/evidence.js'
import { failureEvidence } from '../../lib/reuse/failure-evidence.js'
import type { SlotSession } from '../../lib/reuse/slot-session.js'
import { schemaOf } from '../support/json-schema.js'
import { until } from '../support/until.js'
import { attemptOf, expectNothingRetained, heard, localExecutor, ownerOf, partsOf, told, warmedAttempt, warmUpsOf } from '../support/owner.js'
import { abuse, rejection, reused } from '../support/worker.js'

const accepts = schemaOf('attempt-evidence.schema.json')
const textOf = (log: { bytes: Uint8Array }) => Buffer.from(log.bytes).toString()
const reuseOf = ({ context }: AttemptEvidence) => context.worker_reuse

test('startup is measured for a new process only; those that share one tell the same [R-33, R-26]', async () => {
  await using held = ownerOf({ lane: 2 })
  const { owner, published } = held
  const fresh = (await owner.run(warmedAttempt([{}]))).evidence
  const kept = (await owner.run(warmedAttempt([{}]))).evidence
  const replaced = (await owner.run(attemptOf())).evidence
  for (const evidence of [fresh, kept, replaced]) expect(accepts(evidence)).toBe(true)
  expect(reuseOf(fresh)).toEqual({
    cache_policy: 'no_persistent_caches',
    worker: { instance: expect.any(String) as string, fresh: true, slot_ordinal: 2 },
    startup: { spawn_ns: expect.any(Number) as number, hello_ns: expect.any(Number) as number },
    warmups_on_this_attempt: [expect.objectContaining({ index: 0 })],
  })
  const { instance } = reuseOf(fresh).worker as { instance: string }
  expect(reuseOf(kept)).toEqual({
    cache_policy: 'no_persistent_caches',
    worker: { instance, fresh: false, slot_ordinal: 3 },
    warmups_on_this_attempt: [],
  })
  expect(reuseOf(replaced)).toMatchObject({ replaced: { instance, reasons: ['key_changed'], changed: ['policy'] } })
  expect(reuseOf(replaced).worker?.instance).not.toBe(instance)
  for (const ns of Object.values(reuseOf(fresh).startup as object)) expect(ns).toBeGreaterThan(0)
  expect(published).toEqual([fresh, kept, replaced])
  expect(fresh).toMatchObject({ evidence: 1, wire_protocol: 1, execution_semantics: 2, lane: 2, implementation_seed: 7 })
  expect(fresh.worker_key).not.toBe(replaced.worker_key)
})

test('a warm-up tells plan, seed, verdict, measurements, result and metrics, or its failure [R-34]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const { evidence } = await owner.run(warmedAttempt([{}, {}]))
  expect(reuseOf(evidence).warmups_on_this_attempt[1]).toEqual({
    slot: { dataset: 'warm-1' },
    index: 1,
    implementation_seed: 7,
    validation: 'valid',
    measurements: { executes: 2 },
    result: expect.objectContaining({ executes: 2, seed: 7 }) as object,
    metrics: { score: 1 },
  })
  await rejection(owner.run(warmedAttempt([{ execute: ['fail'] }], { specification: 'two' })))
  const [, failed] = published as [AttemptEvidence, AttemptEvidence]
  expect(accepts(failed)).toBe(true)
  expect(reuseOf(failed).warmups_on_this_attempt).toEqual([
    {
      slot: { dataset: 'warm-0' },
      index: 0,
      implementation_seed: 7,
      validation: 'not_validated',
      failure: expect.objectContaining({ code: 'ERR_WORKER_FAILURE', name: 'SessionError' }) as object,
    },
  ])
  expect(reuseOf(failed).worker?.slot_ordinal).toBe(0)
})

test('the schema refuses what no attempt tells [R-33, R-34, R-36]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const { evidence } = await owner.run(warmedAttempt([{}]))
  expect(accepts(evidence)).toBe(true)
  const reuse = reuseOf(evidence)
  const withReuse = (changes: object) => ({ ...evidence, context: { worker_reuse: { ...reuse, ...changes } } })
  const [warm] = reuse.warmups_on_this_attempt
  const without = (key: string) => Object.fromEntries(Object.entries(evidence).filter(([name]) => name !== key))
  const wrong: unknown[] = [
    ...Object.keys(evidence).filter((key) => key !== 'observation').map(without),
    without('observation'),
    { ...evidence, evidence: 2 },
    { ...evidence, extra: 1 },
    { ...evidence, outcome: 'failed' },
    { ...evidence, failure: { name: 'Error', message: 'x' } },
    { ...evidence, lane: -1 },
    { ...evidence, logs: { ...evidence.logs, complete: true } },
    { ...evidence, logs: { ...evidence.logs, exit: { code: 0 } } },
    withReuse({ cache_policy: 'everything' }),
    withReuse({ warmups_on_this_attempt: [{ ...warm, validation: 'not_validated' }] }),
    withReuse({ warmups_on_this_attempt: [{ ...warm, observation: 1 }] }),
    withReuse({ startup: { spawn_ns: 1 } }),
  ]
  for (const value of wrong) expect(accepts(value), JSON.stringify(value).slice(0, 120)).toBe(false)
})

test('one planned warm-up may be told by several attempts, and none of them counts as observed [R-35, R-36]', async () => {
  await using held = ownerOf()
  await using other = ownerOf({ lane: 1 })
  const { owner, published } = held
  const plan = () => warmedAttempt([{}, {}])
  await owner.run(plan())
  await rejection(owner.run({ ...plan(), measure: () => Promise.reject(new Error('lost')) }))
  await owner.run(plan())
  await other.owner.run(plan())
  const all = [...published, ...other.published]
  const slots = all.flatMap((evidence) => reuseOf(evidence).warmups_on_this_attempt.map(({ slot }) => JSON.stringify(slot)))
  expect(slots).toHaveLength(6)
  expect(new Set(slots).size).toBe(2)
  const observed = all.filter(({ outcome }) => outcome === 'completed')
  expect(observed).toHaveLength(3)
  expect(all.filter((evidence) => 'observation' in evidence)).toEqual(observed)
})

test('a worker that is not used again gives its logs drained to the end [R-38]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const { logs, evidence } = await owner.run(attemptOf({}, { worker: partsOf({ workerReuse: false }) }))
  expect(logs).toMatchObject({ scope: 'worker_lifetime', complete: true })
  expect([textOf(logs.stdout), textOf(logs.stderr)]).toEqual(['started\n', 'requests ended\n'])
  const stream = (text: string) => ({
    bytes_base64: Buffer.from(text).toString('base64'),
    total_bytes: text.length,
    truncated: false,
  })
  expect(evidence.logs).toEqual({
    scope: 'worker_lifetime',
    complete: true,
    stdout: stream('started\n'),
    stderr: stream('requests ended\n'),
  })
  expect(accepts(evidence)).toBe(true)
})

test('a worker that stays gives its life up to here, from its first word on [R-39, R-40, R-41, M-25]', async () => {
  await using held = ownerOf()
  const { owner } = held
  const say = (text: string) => ({ execute: [['say', text]] })
  await owner.run(warmedAttempt([say('warming')], { measure: attemptOf(say('first')).measure }))
  await owner.run(warmedAttempt([{}], { measure: attemptOf(say('second')).measure }))
  const measure = heard(say('third'), /third\n/)
  const { logs, evidence } = await owner.run(warmedAttempt([{}], { measure }))
  expect(textOf(logs.stdout)).toBe('started\nwarming\nfirst\nsecond\nthird\n')
  expect(evidence.logs).toMatchObject({ complete: false, scope: 'worker_lifetime_to_snapshot' })
  expect(Object.keys(logs).toSorted()).toEqual(['complete', 'scope', 'stderr', 'stdout'])
})

test('a snapshot keeps to the limit and tells no exit, also of a worker that has gone [R-39, R-42]', async () => {
  const executor = localExecutor({ stdoutBytes: 10, stderrBytes: 0 })
  await using held = ownerOf({ executor })
  const { owner, published } = held
  const { measure } = attemptOf({ execute: [['say', 'x'.repeat(100)]] })
  const drained = async (session: SlotSession) => {
    const facts = await measure(session)
    await until('the drain', () => session.logSnapshot().stdout.totalBytes === 109)
    return facts
  }
  const { logs } = await owner.run(attemptOf({}, { measure: drained }))
  expect(textOf(logs.stdout)).toBe('started\nxx')
  expect(logs.stdout).toMatchObject({ truncated: true, totalBytes: 109 })
  await rejection(owner.run(attemptOf({ execute: ['crash'] })))
  const failed = published[1] as AttemptEvidence
  expect(failed.logs).toMatchObject({ complete: false, scope: 'worker_lifetime_to_snapshot' })
  expect(JSON.stringify(failed.logs)).not.toMatch(/exit|code|signal/)
  expect(accepts(failed)).toBe(true)
})

test('no secret is in snapshots, evidence, failures or events, nor the half of one [R-42, P-9]', async () => {
  const token = 'sesame-open-0123456789'
  await using held = ownerOf()
  const { owner, published, events } = held
  const channel = { name: 'token', by: 'variable', variable: 'TOKEN' } as const
  const worker = partsOf({ warmUps: 1 }, { launch: { ...reused(), secretChannels: [channel] } })
  const acts = { execute: ['say-secret', 'half-secret'] }
  const betraying = warmUpsOf([{}], {
    run: async (session) => {
      const said = await attemptOf({ execute: ['say-secret'] }).measure(session)
      return { measurements: { [token]: token }, result: { said: said.pid, token: [`in ${token}`] } }
    },
    validate: async () => ({ valid: true, metrics: token }),
  })
  const secrets = { token }
  const measure = heard(acts, /\[redacted\]\n\[redacted\]\n/)
  const { logs } = await owner.run(attemptOf({}, { worker, secrets, warmUps: betraying, measure }))
  expect(textOf(logs.stdout)).toContain('[redacted]')
  expect(textOf(logs.stdout)).not.toContain(token.slice(0, 8))
  const told = attemptOf({}, { worker, secrets, warmUps: betraying, measure: async () => ({ [token]: [token] }) as never })
  expect((await owner.run(told)).evidence).toMatchObject({ observation: { '[redacted]': ['[redacted]'] } })
  const failing = attemptOf({ execute: ['fail-with-secret'] }, { worker, secrets, warmUps: betraying })
  await rejection(owner.run(failing))
  const thrown = attemptOf({}, { worker, secrets, warmUps: betraying, measure: () => Promise.reject(new Error(token)) })
  await rejection(owner.run(thrown))
  expect(published).toHaveLength(4)
  expect(published.every(accepts)).toBe(true)
  expect(JSON.stringify(published)).toContain('[redacted]')
  expect(JSON.stringify(published)).not.toContain(token)
  const said = events.filter(({ type }) => type !== 'failed')
  expect(JSON.stringify(said)).not.toContain(token)
})

const cyclic: Record<string, unknown> = {}
cyclic['itself'] = cyclic
const forged = { [Symbol.for('exactspawn.error')]: true, details: { n: 1n, cyclic, bytes: new Uint8Array(4) } }
const chain = (levels: number) => {
  let error = new Error('0')
  for (let level = 1; level < levels; level++) error = new Error(String(level), { cause: error })
  return error
}
const withFields = (fields: object) => Object.assign(new Error('x'), fields)

test.each<[what: string, thrown: unknown, said: object]>([
  ['a code that is a BigInt', withFields({ code: 1n, errno: 1n }), { name: 'Error', message: 'x' }],
  ['a code that is null', withFields({ code: null }), { name: 'Error', message: 'x' }],
  ['a code that is no integer', withFields({ code: 1.5 }), { name: 'Error', message: 'x' }],
  ['a code that is an object', withFields({ code: { a: 1 } }), { name: 'Error', message: 'x' }],
  ['a name that is a number', withFields({ name: 5 }), { name: 'Error', message: 'x' }],
  ['a message that is an object', withFields({ message: { a: 1 } }), { message: '[Object]' }],
  ['a system error', withFields({ code: 'EIO', errno: -5, syscall: 'read' }), { code: 'EIO', errno: -5, syscall: 'read' }],
  ['suppressed ones that are no errors', withFields({ suppressed: [1n, null, cyclic] }), { suppressed: ['1n', null, '[Object]'] }],
  ['details that no JSON says', withFields(forged), { details: { n: '1', cyclic: expect.any(Object) as object } }],
  ['a chain of 300 causes', chain(300), { message: '299', cause: { message: '298' } }],
  ['a message of five million characters', new Error('m'.repeat(5e6)), { message: `${'m'.repeat(65_535)}…` }],
  ['half a character', new Error('half \ud800', { cause: '\ud800' }), { message: 'half \ufffd', cause: '\ufffd' }],
  ['nothing', undefined, { message: 'something other than an error was thrown' }],
  ['a getter that throws', Object.defineProperty(new Error('loud'), 'code', { get: () => { throw new Error('no') } }), { message: 'loud' }],
  ['an observation that is nested too deeply', 'deep', { code: 'ERR_INVALID_SPEC', details: { reason: 'more than 100 levels of nesting' } }],
])('a slot that fails by %s is published as its schema says, and its end is told [R-33, R-37]', async (_, thrown, said) => {
  await using held = ownerOf()
  const { owner, events, published } = held
  const deep = Array.from({ length: 101 }).reduce((inner) => [inner], 1)
  const measure = () => (thrown === 'deep' ? Promise.resolve(deep as never) : Promise.reject(thrown as Error))
  const error = await rejection(owner.run(attemptOf({}, { id: '\n', measure })))
  if (thrown instanceof Error) expect(error).toBe(thrown)
  expect(published).toMatchObject([{ attempt: '\n', outcome: 'failed', failure: said }])
  expect(accepts(published[0])).toBe(true)
  expect(told(events).at(-1)).toBe('failed')
})

test('a warm-up that fails by a hostile error is told as its schema says [R-34]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const hostile = warmUpsOf([{}], { run: () => Promise.reject(Object.assign(chain(300), { code: 1n, suppressed: [cyclic] })) })
  expect(await rejection(owner.run(warmedAttempt([{}], {}, hostile)))).toMatchObject({ code: 'ERR_WARM_UP_FAILED' })
  expect(accepts(published[0])).toBe(true)
})

test('a secret at the cut of a long message leaves no beginning behind [R-42, P-9]', () => {
  const redact = (text: string | Uint8Array) => String(text).replaceAll('sesame', '[redacted]')
  const { message } = failureEvidence(new Error(`${'m'.repeat(65_533)}sesame`), redact)
  expect(message).not.toContain('ses')
})

test('evidence is frozen all through, and is what the publisher got [R-37]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const { evidence } = await owner.run(warmedAttempt([{}]))
  expect(published[0]).toBe(evidence)
  expect(() => ((reuseOf(evidence).warmups_on_this_attempt as unknown[])[0] = 1)).toThrow(TypeError)
  expect(JSON.parse(JSON.stringify(evidence))).toEqual(evidence)
})

test('evidence is durable before the end is told and before the promise settles [R-37]', async () => {
  const order: string[] = []
  let settled = false
  const publish = async ({ outcome }: AttemptEvidence) => {
    order.push(`publishing ${outcome}`)
    await new Promise((resolve) => setImmediate(resolve))
    expect(settled).toBe(false)
    order.push('durable')
  }
  await using held = ownerOf({ publish, onEvent: ({ type }) => void (type.endsWith('ed') && order.push(type)) })
  const { owner } = held
  await owner.run(attemptOf()).finally(() => (settled = true))
  settled = false
  await owner.run(attemptOf({ execute: ['fail'] })).catch(() => (settled = true))
  const completed = ['launched', 'publishing completed', 'durable', 'completed']
  expect(order).toEqual([...completed, 'publishing failed', 'durable', 'failed'])
})

test('an attempt whose evidence cannot be published is not accepted, and no end is told [R-37, R-24]', async () => {
  const full = new Error('no space left')
  await using held = ownerOf({ publish: () => Promise.reject(full) })
  const { owner, events } = held
  const error = await rejection(owner.run(attemptOf({}, { id: 'lost' })))
  expect(error).toMatchObject({ code: 'ERR_PUBLICATION_FAILED', details: { attempt: 'lost' } })
  expect(error.cause).toBe(full)
  expect(told(events)).toEqual(['begun', 'launching', 'launched', 'measuring'])
  await expectNothingRetained(owner)
  // A failure is told as what it was, and what failed later stands beside it.
  const failed = await rejection(owner.run(attemptOf({ execute: ['fail'] })))
  expect(failed).toMatchObject({ code: 'ERR_WORKER_FAILURE', suppressed: [{ code: 'ERR_PUBLICATION_FAILED' }] })
  expect(told(events)).not.toContain('failed')
})

test('a failure is told as JSON with its causes, without logs and without halves of characters [R-34]', () => {
  const error = new Error('half \ud800', { cause: Object.assign(new Error('inner'), { code: 'EPERM' }) })
  expect(failureEvidence(error)).toMatchObject({ message: 'half \ufffd', cause: { message: 'inner', code: 'EPERM' } })
  expect(errorJson(new TypeError('plain'))).toMatchObject({ name: 'TypeError', message: 'plain' })
})

test('an onlooker that throws decides nothing [R-37]', async () => {
  const thrown: unknown[] = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => thrown.push(error))
  try {
    await using held = ownerOf({
      onEvent: ({ type }) => {
        if (type === 'completed') throw new Error('of the onlooker')
      },
    })
    expect((await held.owner.run(attemptOf())).value.executes).toBe(1)
    await until('what it threw', () => thrown.length === 1)
    expect(held.owner.retained).not.toBe(null)
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
  }
})

test('a worker that said nothing before it failed has logs all the same [R-42]', async () => {
  await using held = ownerOf()
  const { owner, published } = held
  const worker = partsOf({}, { launch: abuse('crashes') })
  await rejection(owner.run(attemptOf({}, { worker })))
  expect(Buffer.from(published[0]?.logs?.stderr.bytes_base64 ?? '', 'base64').toString()).toBe('crashing\n')
})
