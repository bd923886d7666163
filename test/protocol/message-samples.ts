/** A request and a successful response of every method. */
import type { Method, Request, Success } from '../../lib/protocol/messages.js'

export const workerId = `mw1-resolved-worker-${'0123456789abcdef'.repeat(4)}`

export const requests: { [M in Method]: Request<M> } = {
  hello: { id: '0', method: 'hello', protocols: [1], role: 'implementation', worker_id: workerId },
  materialize: {
    id: '1',
    method: 'materialize',
    source_dir: '/private/source',
    dataset_parameters: { rows: 100 },
    dataset_seed: 17,
    output_dir: '/private/dataset',
  },
  prepare: {
    id: '1',
    method: 'prepare',
    dataset_dir: '/private/dataset',
    problem_contract_id: 'contract-abc',
    problem_parameters: { lambda: 0.1 },
    implementation_parameters: { solver: 'fast', names: ['é', '😀', '\u2028'] },
    implementation_seed: 23,
  },
  execute: { id: '2', method: 'execute', result_dir: '/private/result' },
  reset: { id: '3', method: 'reset' },
  evaluate: {
    id: '1',
    method: 'evaluate',
    dataset_dir: '/private/dataset',
    result_dir: '/private/result',
    problem_contract_id: 'contract-abc',
    problem_parameters: { lambda: 0.1 },
    metrics_path: '/private/metrics.json',
  },
  shutdown: { id: '4', method: 'shutdown' },
}

export const successes: { [M in Method]: Success<M> } = {
  hello: {
    id: '0',
    ok: true,
    protocol: 1,
    worker_id: workerId,
    sdk: { name: 'sdk-of-a-language', version: '0.1.0' },
    capabilities: ['one_shot'],
  },
  materialize: { id: '1', ok: true, dataset: { manifest: 'dataset-manifest.json' } },
  prepare: { id: '1', ok: true },
  execute: {
    id: '2',
    ok: true,
    result: { manifest: 'result.json' },
    statistics: { iterations: 37 },
    implementation_time_ns: 18_342_011,
  },
  reset: { id: '3', ok: true },
  evaluate: { id: '1', ok: true },
  shutdown: { id: '4', ok: true },
}
