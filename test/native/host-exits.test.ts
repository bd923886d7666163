/** The end of a host in the middle of everything it has begun. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runHost } from '../support/host.js'
import { alive, allProcesses } from '../support/process-table.js'
import { until } from '../support/until.js'
import { rounds } from './worker-host.js'

// By a word in their arguments: a child whose start was under way has told nobody its number.
function processesWith(word: string): number[] {
  return allProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => pid !== process.pid && alive(pid) && argumentsOf(pid).includes(word))
}

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

// The word comes by the environment, so that the host's own arguments do not hold it.
const busy = `
  const never = () => {};
  const go = (index) => {
    const verb = index % 2 ? ['pause'] : ['flood', '30'];
    const args = ['--ready-fd', 'none', ...verb, '--', 'argv', process.env.WORD];
    const pipes = Array.from({ length: 4 }, () => pipe('childWrites'));
    for (const { host } of pipes) host.read().catch(never);
    const fds = { 1: capture({ headBytes: 1024, tailBytes: 1024 }) };
    pipes.forEach(({ child }, at) => (fds[3 + at] = child));
    return spawn({ program: fixture, args, env: {}, fds });
  };
  for (let index = 0; index < 10; index++) go(index).then((child) => child.wait()).catch(never);
`

test('a host that exits in mid-flight keeps its exit code and leaves no child [B094, M-45]', async () => {
  const codes = Array.from({ length: rounds(10) }, (_, round) => 40 + (round % 10))
  const ended = []
  for (const [round, code] of codes.entries()) {
    const WORD = `exits-${process.pid}-${round}`
    // 0 to 60 ms after the first start was asked for: from before the first exec to after the last.
    const leave = `setTimeout(() => process.exit(${code}), ${(round * 60) / codes.length});`
    const host = await runHost(`${busy} ${leave} await new Promise(never)`, { env: { WORD } })
    ended.push(host.code ?? host.signal)
    await until('no child is left', () => processesWith(WORD).length === 0)
  }
  expect(ended).toEqual(codes)
})

test.each([
  ['exits in a continuation', 'process.exit(5)', 5],
  ['throws in a callback', "process.nextTick(() => { throw new Error('of the user') })", 1],
  ['rejects without a handler', "Promise.reject(new Error('of the user'))", 1],
])('a host that %s ends its children with it [N-17, P-7]', async (how, ending, expected) => {
  const WORD = `ends-${process.pid}-${how.replaceAll(' ', '-')}`
  const { code, signal } = await runHost(
    `const args = ['--ready-fd', 'none', 'pause', '--', 'argv', process.env.WORD];
    const first = await spawn({ program: fixture, args, env: {} });
    spawn({ program: '/bin/true', env: {} }).then((child) => child.wait()).then(() => { ${ending} });
    await first.wait();`,
    { env: { WORD } },
  )
  expect(code ?? signal).toBe(expected)
  await until('no child is left', () => processesWith(WORD).length === 0)
})

test('what a listener of a stream throws reaches the host as its own [N-17]', async () => {
  const { code, stdout } = await runHost(`
    const thrown = new Promise((resolve) => process.on('uncaughtException', (error) => resolve(say(error.message))));
    const args = ['text', 'a', '--', 'sleep', '50', '--', 'text', 'b'];
    const child = await spawn({ program: fixture, args, env: {}, fds: { 1: 'pipe' } });
    child.stdout.once('data', () => { throw new Error('of the user') });
    const { code } = await child.wait();
    // Its bytes are read in turns of their own.
    await thrown;
    say(code);
  `)
  expect({ code, said: stdout.trim().split('\n') }).toEqual({ code: 0, said: ['"of the user"', '0'] })
})
