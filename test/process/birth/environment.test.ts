/** The environment is what was given, and nothing else. */
import { readFileSync } from 'node:fs'
import type { EnvironmentSpec } from 'exactspawn'
import { spawn } from 'exactspawn'
import { afterEach, expect, test } from 'vitest'
import { audit } from '../../support/audit.js'
import { dist, fixtureChild } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'
import { until } from '../../support/until.js'
import { aftermath, onEachWay, output } from './starts.js'

const started = (env: unknown) => spawn({ program: '/bin/true', env: env as EnvironmentSpec })

afterEach(() => {
  delete process.env['SECRET_X']
})

test('a variable that is no variable is refused with its name, and its value is never told [B028]', async () => {
  const cases = [
    ['env.A', { A: undefined }],
    ['env.A', { A: null }],
    ['env.A', { A: 1 }],
    ['env.A', { A: true }],
    ['env.A', { A: ['hunter22'] }],
    ['env.A', { A: { toString: () => 'hunter22' } }],
    ['env', { '': 'hunter22' }],
    ['env.C', { 'C=hunter22': 'D' }],
    ['env.', { '=hunter22': 'D' }],
    ['env.A', { A: 'hunter22\0' }],
  ] as const
  for (const [field, env] of cases) {
    const { error, starts } = await aftermath(() => started(env))
    expect([error.code, error.details?.['field'], starts]).toEqual(['ERR_INVALID_SPEC', field, 0])
    expect(JSON.stringify(error) + String((error as unknown as Error).stack)).not.toContain('hunter22')
  }
  for (const env of [['A=1'], new Map([['A', '1']]), new Set(['A=1']), 'A=1', 5, null]) {
    const { error } = await aftermath(() => started(env))
    expect([error.name, error.code, error.details?.['field']]).toEqual(['TypeError', 'ERR_INVALID_SPEC', 'env'])
  }
})

test('an environment that is left out is refused, not taken from the host [B029, M-58, X-11]', async () => {
  const { error, starts } = await aftermath(() => started(undefined))
  expect([error.code, error.details?.['field'], starts]).toEqual(['ERR_INVALID_SPEC', 'env', 0])
})

test('a child has exactly the variables given, in order, and none of the host’s [B029, M-50, M-58]', async () => {
  process.env['SECRET_X'] = 's3'
  await onEachWay(async () => {
    expect((await audit({ env: {} })).env).toEqual([])
    expect((await audit({ env: { B: '2', A: '1', C: '' } })).env).toEqual(['B=2', 'A=1', 'C='])
  })
  expect(await output([], { program: '/usr/bin/env', env: { A: '' } })).toBe('A=\n')
  const child = await spawn({ program: fixtureChild(), args: ['pause'], env: { A: '1' } })
  // exec lets the host go on a moment before the kernel shows the new environment.
  const environ = () => readFileSync(`/proc/${child.pid}/environ`, 'latin1') || null
  expect(await until('its environment', environ)).toBe('A=1\0')
  await child[Symbol.asyncDispose]()
})

test('names and values of any kind arrive as they are, and inherited keys are none [B028]', async () => {
  const env = Object.assign(Object.create(null) as Record<string, string>, {
    'a b': 'x=y',
    '1': 'digit',
    __proto__x: 'p',
    'näme€': 'wört',
    NEWLINE: 'a\nb',
  })
  const report = await audit({ env })
  expect(report.env.map((text) => Buffer.from(text, 'latin1').toString())).toEqual(
    ['1=digit', 'a b=x=y', '__proto__x=p', 'näme€=wört', 'NEWLINE=a\nb'],
  )
  // The environment of a module that extends another: only what it has itself.
  const sandbox = { A: '1' }
  Object.defineProperty(sandbox, 'hidden', { value: 'x', enumerable: false })
  expect((await audit({ env: sandbox })).env).toEqual(['A=1'])
})

test('"inherit" is the environment of the moment of the call [X-11, C-06]', async () => {
  process.env['SECRET_X'] = 'before'
  const report = audit({ env: 'inherit' })
  process.env['SECRET_X'] = 'after'
  const names = (await report).env
  expect(names).toContain('SECRET_X=before')
  expect(names).toHaveLength(Object.keys(process.env).length)
  expect((await audit({ env: { ...process.env, SECRET_X: 'over' } })).env).toContain('SECRET_X=over')
  expect((await audit({ env: process.env as Record<string, string> })).env).toContain('SECRET_X=after')
})

test('in a worker thread "inherit" is that thread’s environment [X-11]', async () => {
  const script = `
    const { spawn, capture } = require(${JSON.stringify(dist)})
    process.env.ONLY_HERE = '1'
    ;(async () => {
      const program = ${JSON.stringify(fixtureChild())}
      const fds = { 1: capture({ headBytes: 1e6 }) }
      const child = await spawn({ program, args: ['env'], env: 'inherit', fds })
      const text = (await child.wait()).logs[1].text()
      require('node:worker_threads').parentPort.postMessage(text.trim().split('\\n').sort())
    })()`
  const body = `
    const { Worker } = require('node:worker_threads')
    process.env.ONLY_THERE = '1'
    const worker = new Worker(${JSON.stringify(script)}, { eval: true, env: { A: '1' } })
    say((await require('node:events').once(worker, 'message'))[0])`
  expect(await hostSays(body)).toEqual([['A=1', 'ONLY_HERE=1']])
})
