/** The three roles from a seed to metrics, with workers in three languages. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tmpFolder } from '../../support/tmp.js'
import type { Language } from '../../support/worker.js'
import { connect, expectGone, sortingWorker } from '../../support/worker.js'

const COUNT = 1_000
const contract = { problem_contract_id: 'sorting', problem_parameters: { descending: true } }

interface Places {
  dataset: string
  result: string
  metrics: string
}

function places(): Places {
  const folder = tmpFolder()
  const [dataset, result] = ['dataset', 'result'].map((name) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }) as [string, string]
  return { dataset, result, metrics: join(folder, 'metrics.json') }
}

async function materialize(language: Language, { dataset }: Places): Promise<void> {
  const { session, process } = await connect(sortingWorker(language), { role: 'dataset_materializer' })
  const fields = { source_dir: '/', dataset_parameters: { count: COUNT }, dataset_seed: 42, output_dir: dataset }
  expect(await session.materialize(fields)).toEqual({ dataset: { manifest: 'dataset.json' } })
  await session.shutdown()
  expectGone(process)
}

async function implement(language: Language, { dataset, result }: Places): Promise<number> {
  const { session, process } = await connect(sortingWorker(language))
  const implementation = { implementation_parameters: { descending: true }, implementation_seed: 7 }
  expect(await session.prepare({ dataset_dir: dataset, ...contract, ...implementation })).toEqual({})
  const executed = await session.execute({ result_dir: result })
  expect(executed.result).toEqual({ manifest: 'result.json' })
  expect(executed.implementation_time_ns).toBeGreaterThan(0)
  await session.reset()
  await session.shutdown()
  expectGone(process)
  return executed.statistics['sum'] as number
}

async function evaluate(language: Language, { dataset, result, metrics }: Places): Promise<void> {
  const { session, process } = await connect(sortingWorker(language), { role: 'problem_evaluator' })
  const fields = { dataset_dir: dataset, result_dir: result, ...contract, metrics_path: metrics }
  expect(await session.evaluate(fields)).toEqual({})
  await session.shutdown()
  expectGone(process)
}

function expected(): number[] {
  const numbers = []
  for (let number = 43n; numbers.length < COUNT; ) numbers.push(Number((number = (number * 48271n) % 2147483647n)))
  return numbers
}

async function expectChain(languages: readonly [Language, Language, Language]): Promise<void> {
  const here = places()
  const numbers = expected()
  const sum = numbers.reduce((total, number) => total + number, 0)
  await materialize(languages[0], here)
  expect(readNumbers(here.dataset, 'numbers.txt')).toEqual(numbers)
  expect(await implement(languages[1], here)).toBe(sum)
  expect(readNumbers(here.result, 'sorted.txt')).toEqual(numbers.toSorted((a, b) => b - a))
  await evaluate(languages[2], here)
  expect(JSON.parse(readFileSync(here.metrics, 'utf8'))).toEqual({ correct: true, sum })
}

function readNumbers(folder: string, name: string): number[] {
  return readFileSync(join(folder, name), 'utf8').trimEnd().split('\n').map(Number)
}

test('three workers in Python take a seed to metrics, over descriptors they inherit [MP-01, MP-11, M-68]', () =>
  expectChain(['python', 'python', 'python']))

test('three workers in Node take a seed to metrics [MP-01, MP-11]', () => expectChain(['node', 'node', 'node']))

test('three workers in Perl take a seed to metrics [MP-01, MP-11]', () => expectChain(['perl', 'perl', 'perl']))

test('workers in three languages go on from one another [MP-01]', () => expectChain(['perl', 'node', 'python']))

test('a worker that reports a failure goes on, and says of which file [MP-12]', async () => {
  for (const language of ['python', 'node', 'perl'] as const) {
    const { session } = await connect(sortingWorker(language))
    const missing = join(tmpFolder(), 'none')
    const implementation = { implementation_parameters: {}, implementation_seed: 0 }
    await expect(session.execute({ result_dir: missing })).rejects.toMatchObject({
      code: 'ERR_WORKER_FAILURE',
      details: { phase: 'execute', workerCode: 'invalid_request', workerMessage: 'nothing is prepared' },
    })
    await expect(session.prepare({ dataset_dir: missing, ...contract, ...implementation })).rejects.toMatchObject({
      code: 'ERR_WORKER_FAILURE',
      details: { phase: 'prepare', workerCode: 'operation_failed', workerDetails: { file: `${missing}/dataset.json` } },
    })
    expect(session.usable).toBe(true)
    expect((await session.shutdown()).exit).toMatchObject({ code: 0, endedBy: 'self' })
  }
})
