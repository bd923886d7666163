import type { ChildProcess } from 'node:child_process'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Interface } from 'node:readline'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { startHost } from '../../support/host.js'
import { childrenOf, openFds } from '../../support/process-table.js'
import { tmpFolder } from '../../support/tmp.js'
import { until, within } from '../../support/until.js'

const EMFILE = -24
const STEPS = 26

interface Outcome {
  /** Of the exit, when it started. */
  exit?: number
  code?: string
  stage?: string
  errno?: number
  /** Whether the endpoint in the spec went with the attempt; absent when there was no room for its pipe. */
  consumed?: boolean
  ms: number
}

/** A host that makes one attempt at a start for each SIGUSR2, and says what came of it. */
class Host {
  readonly #process: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly pid: number

  constructor(spec: string, prepare = '') {
    this.#process = startHost(`
      ${prepare}
      process.on('SIGUSR2', async () => {
        const start = performance.now();
        const outcome = {};
        let made;
        try {
          made = pipe('childWrites');
          const child = await spawn(${spec});
          child.stdin?.end('through');
          for (const stream of [child.stdout, child.stderr]) stream?.resume();
          outcome.exit = (await child.wait()).code;
        } catch ({ code, stage, errno }) {
          Object.assign(outcome, { code, stage, errno });
        }
        made?.host.close();
        say({ ...outcome, consumed: made?.child.consumed, ms: performance.now() - start });
      });
      setInterval(() => {}, 1e6);
      say('ready');`)
    this.pid = this.#process.pid as number
    expect(this.pid).toBeGreaterThan(1)
    const lines: Interface = createInterface(this.#process.stdout as Readable)
    this.#lines = lines[Symbol.asyncIterator]()
  }

  async line(): Promise<unknown> {
    return JSON.parse((await this.#lines.next()).value as string)
  }

  limit(soft: number): void {
    execFileSync('prlimit', ['--pid', String(this.pid), `--nofile=${soft}:`])
  }

  /** One attempt under a limit of so many descriptors, which is lifted again. */
  async attempt(limit: number): Promise<Outcome> {
    this.limit(limit)
    this.#process.kill('SIGUSR2')
    const outcome = (await this.line()) as Outcome
    this.limit(10_000)
    await until('no child', () => childrenOf(this.pid).length === 0)
    return outcome
  }

  fds(): number[] {
    return [...openFds(this.pid).keys()].sort((a, b) => a - b)
  }

  async end(): Promise<void> {
    this.#process.kill('SIGKILL')
    await once(this.#process, 'close')
  }
}

function expectTyped({ exit, code, stage, errno, consumed, ms }: Outcome, limit: number): void {
  expect(ms, `under ${limit}`).toBeLessThan(within(1_000))
  expect(consumed, `under ${limit}`).not.toBe(false)
  if (code === undefined) return expect(exit, `under ${limit}`).toBe(0)
  expect(['ERR_SPAWN_FAILED', 'ERR_PIPE_CREATE_FAILED', 'ERR_LOG_DRAIN_START_FAILED']).toContain(code)
  expect(errno).toBe(EMFILE)
  if (code === 'ERR_SPAWN_FAILED') expect(['pipe', 'file', 'clone']).toContain(stage)
}

test('a host at its descriptor limit starts or says EMFILE and a stage, and leaves nothing [B079]', async () => {
  const log = join(tmpFolder(), 'log')
  const host = new Host(
    `{ program: '/bin/cat', env: {}, guard: true, fds: {
      0: 'pipe', 1: 'pipe', 2: 'pipe', 3: { file: ${JSON.stringify(log)}, mode: 'append' },
      4: capture({ headBytes: 1 }), 5: { bytes: Buffer.from('bytes') }, 6: 'null', 7: made.child } }`,
    "await (await spawn({ program: '/bin/true', env: {}, fds: { 3: { file: '/etc/hosts', mode: 'read' } } })).wait()",
  )
  await host.line()
  // The end of a start is told before its last descriptors are closed.
  const ofFirst = (target: string) => target.includes('pidfd') || target === '/etc/hosts'
  await until('those of the first start closed', () => ![...openFds(host.pid).values()].some(ofFirst))
  const base = host.fds()
  const outcomes: Outcome[] = []
  for (let more = 0; more < STEPS; more++) {
    const outcome = await host.attempt(base.length + more)
    expectTyped(outcome, base.length + more)
    await until(`the descriptors as before ${more} more`, () => String(host.fds()) === String(base))
    outcomes.push(outcome)
  }
  expect(outcomes[0]?.errno).toBe(EMFILE)
  expect(outcomes.at(-1)?.exit).toBe(0)
  // It is not always the same call that has no room.
  expect(new Set(outcomes.map(({ code, stage }) => `${code} ${stage}`)).size).toBeGreaterThan(3)
  await host.end()
})

test('a host whose first start has no room for the descriptors of the package can start later [B079]', async () => {
  const host = new Host(`{ program: '/bin/true', env: {}, fds: { 1: capture({ headBytes: 1 }), 7: made.child } }`)
  await host.line()
  const base = host.fds().length
  const outcomes: Outcome[] = []
  for (let more = 0; more < STEPS; more++) outcomes.push(await host.attempt(base + more))
  for (const outcome of outcomes) {
    if (outcome.code !== 'ERR_ADDON_LOAD_FAILED') expectTyped(outcome, base)
    expect(outcome.ms).toBeLessThan(within(1_000))
  }
  expect(outcomes[0]?.code).toBeDefined()
  expect(outcomes.at(-1)?.exit).toBe(0)
  await host.end()
})
