/** The fixture workers keep the page that they were written from, also where no session of ours would lead them. */
import { expect, test } from 'vitest'
import { encodeFrame } from '../../../lib/protocol/frame.js'
import { FRAME_MAX_BYTES } from '../../../lib/base/limits.js'
import { AMPLE_MS, launch, sortingWorker, workerId, type Language } from '../../support/worker.js'

const bounds = { timeoutMs: AMPLE_MS }
const hello = { method: 'hello', protocols: [1], role: 'implementation', worker_id: workerId }
const evaluate = {
  method: 'evaluate',
  dataset_dir: '/',
  result_dir: '/',
  problem_contract_id: 'x',
  problem_parameters: {},
  metrics_path: '/dev/null',
}

test.each<Language>(['python', 'node', 'perl'])('a worker in %s says no as the page tells it to [MP-10, MP-11]', async (language) => {
  const process = await launch(sortingWorker(language))
  const [reader, writer] = [process.protocolReader(), process.protocolWriter()]
  let id = 0
  const ask = async (request: object) => {
    await writer.write(encodeFrame({ id: String(id++), ...request }, { limitBytes: FRAME_MAX_BYTES }), bounds)
    const answer = (await reader.read(bounds)) as { ok: boolean; error?: { code: string } }
    return answer.ok ? 'ok' : answer.error?.code
  }
  expect(await ask({ method: 'reset' })).toBe('invalid_request')
  expect(await ask({ ...hello, protocols: [2] })).toBe('unsupported_operation')
  expect(await ask({ ...hello, extra: 1 })).toBe('invalid_request')
  expect(await ask(hello)).toBe('ok')
  expect(await ask(evaluate)).toBe('invalid_request')
  expect(await ask({ method: 'reset', extra: 1 })).toBe('invalid_request')
  expect(await ask({ method: 'dance' })).toBe('invalid_request')
  expect(await ask({ method: 'execute', result_dir: '/' })).toBe('invalid_request')
  expect(await ask({ method: 'reset' })).toBe('ok')
  expect(await ask({ method: 'shutdown' })).toBe('ok')
  expect((await process.wait()).exit.code).toBe(0)
})
