/** Many starts at once: they share the event loop with everything else. */
import { expect, test } from 'vitest'
import { capture, spawn } from 'exactspawn'
import { TURN_STARTS_MAX } from '../../../lib/base/limits.js'
import { startTurn } from '../../../lib/process/start-turn.js'
import { rejection } from '../../support/worker.js'

const shell = (script: string) => ({ program: '/bin/sh', args: ['-c', script], env: {} })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Asks for turns, and says of each how far it is. */
function ask(count: number): string[] {
  const asked = Array.from({ length: count }, () => 'waits')
  asked.forEach((_, index) => {
    const wait = startTurn()
    if (wait === null) asked[index] = 'begun'
    else void wait.then(() => (asked[index] = 'begun'))
  })
  return asked
}

const firsts = (begun: number, of: number) => Array.from({ length: of }, (_, index) => (index < begun ? 'begun' : 'waits'))

test('one turn of the loop begins so many starts, and the next ones the others in their order [P-3, B075]', async () => {
  // Its events have the next call count anew.
  await (await spawn(shell('exit 0'))).wait()
  const early = ask(2 * TURN_STARTS_MAX + 1)
  expect(early).toEqual(firsts(TURN_STARTS_MAX, early.length))
  await turn()
  expect(early).toEqual(firsts(2 * TURN_STARTS_MAX, early.length))
  // Asked for later: behind the one that is left, and in its turn with it.
  const late = ask(TURN_STARTS_MAX)
  expect(late).toEqual(firsts(0, late.length))
  await turn()
  expect(early).toEqual(firsts(early.length, early.length))
  expect(late).toEqual(firsts(TURN_STARTS_MAX - 1, late.length))
  await turn()
  expect(late).toEqual(firsts(late.length, late.length))
})

test('a start that is within the bound waits for no turn [P-3]', async () => {
  for (let round = 0; round < 2 * TURN_STARTS_MAX; round++) {
    expect(ask(1)).toEqual(['begun'])
    await (await spawn(shell('exit 0'))).wait()
  }
})

test('more starts than a turn begins all run, each with what it was given at its call [P-3, B017]', async () => {
  const texts = Array.from({ length: 2 * TURN_STARTS_MAX + 5 }, (_, index) => `number ${index}`)
  const ended = texts.map(async (text) => {
    const bytes = Buffer.from(text)
    const fds = { 0: { bytes }, 1: capture({ headBytes: 99 }) }
    const started = spawn({ ...shell('read line || echo "$line"'), fds })
    bytes.fill(0)
    return (await (await started).wait()).logs[1]?.text()
  })
  expect(await Promise.all(ended)).toEqual(texts.map((text) => `${text}\n`))
})

test('an abort reaches starts that wait for their turn, and nothing of them is left [B086, P-2]', async () => {
  const abort = new AbortController()
  const fds = { 3: { hostFd: 2, nonblock: 'keep' } } as const
  const starts = Array.from({ length: 3 * TURN_STARTS_MAX }, () => {
    return rejection(spawn({ ...shell('exit 0'), fds }, { signal: abort.signal }))
  })
  abort.abort('enough')
  for (const error of await Promise.all(starts)) expect(error).toMatchObject({ code: 'ERR_ABORTED', cause: 'enough' })
})
