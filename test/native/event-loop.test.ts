/** What keeps a host's event loop alive, and what does not: each host here must end by itself, at the right time. */
import { expect, test } from 'vitest'
import { runHost } from '../support/host.js'
import { within } from '../support/until.js'

interface Lived {
  /** Milliseconds from the beginning of the body to the end of the loop. */
  fromBegin: number
  /** From the end of the body. */
  fromEnd: number
  signal: string | null
}

// The body begins after a start that has loaded all there is; `child`, if it sets one, is looked at in the end.
async function lived(body: string): Promise<Lived> {
  const { code, signal, stdout, stderr } = await runHost(`
    await (await spawn({ program: '/bin/true', env: {} })).wait();
    let child, ended;
    const begun = performance.now();
    process.on('exit', () => {
      const now = performance.now();
      say({ fromBegin: now - begun, fromEnd: now - ended, signal: child?.tryWait()?.signal ?? null });
    });
    ${body}
    ended = performance.now();
  `)
  if (code !== 0) throw new Error(`host ended with ${code ?? signal}: ${stderr}`)
  return JSON.parse(stdout) as Lived
}

const ran = 400

test.each([
  ['a package that is idle', ''],
  ['a pipe that nobody reads', "globalThis.kept = pipe('childWrites')"],
  ['a pipe that a read has waited for', `
    const { child: writes, host } = globalThis.kept = pipe('childWrites');
    const args = ['print-later', '20', 'x', '3', '--', 'sleep', '30000'];
    (await spawn({ program: fixture, args, env: {}, fds: { 3: writes } })).unref();
    await host.read()`],
  ['a read that was aborted', `
    const { host } = globalThis.kept = pipe('childWrites');
    await host.read({ signal: AbortSignal.timeout(20) }).catch(() => {})`],
  ['a wait that has timed out, on an unreferenced child', `
    child = await spawn({ program: fixture, args: ['sleep', '30000'], env: {} });
    child.unref();
    await child.wait({ timeoutMs: 20 }).catch(() => {})`],
  ['an unreferenced child', `
    child = await spawn({ program: fixture, args: ['sleep', '30000'], env: {} });
    child.unref()`],
  ['a child that has ended long before its timeout of a minute', `
    await (await spawn({ program: '/bin/true', env: {}, lifetime: { timeoutMs: 60_000 } })).wait()`],
  ['a terminate whose grace was not needed', `
    child = await spawn({ program: fixture, args: ['sleep', '30000'], env: {} });
    await child.terminate({ graceMs: 30_000 })`],
])('the loop is not kept alive by %s [B091, P-5]', async (_, body) => {
  const { fromEnd } = await lived(body)
  expect(fromEnd).toBeLessThan(within(150))
})

test.each([
  ['a running child', `await spawn({ program: fixture, args: ['sleep', '${ran}'], env: {} })`],
  ['a child that was referenced again', `
    child = await spawn({ program: fixture, args: ['sleep', '${ran}'], env: {} });
    child.unref();
    child.ref()`],
  ['a wait for an unreferenced child', `
    child = await spawn({ program: fixture, args: ['sleep', '${ran}'], env: {} });
    child.unref();
    child.wait()`],
  ['a pending read', `
    const { child: writes, host } = pipe('childWrites');
    const args = ['print-later', '${ran}', 'x', '3'];
    (await spawn({ program: fixture, args, env: {}, fds: { 3: writes } })).unref();
    host.read()`],
  ['a start', `spawn({ program: fixture, args: ['sleep', '${ran}'], env: {} })`],
])('the loop is kept alive by %s, and no longer than needed [B091]', async (_, body) => {
  const { fromBegin, fromEnd } = await lived(body)
  expect(fromBegin).toBeGreaterThanOrEqual(ran)
  expect(fromEnd).toBeLessThan(ran + within(300))
})

test('a timeout ends an unreferenced child, and then the host ends [B091]', async () => {
  const { fromBegin, fromEnd, signal } = await lived(`
    child = await spawn({ program: fixture, args: ['sleep', '30000'], env: {}, lifetime: { timeoutMs: ${ran} } });
    child.unref()`)
  expect(signal).toBe('SIGTERM')
  expect(fromBegin).toBeGreaterThanOrEqual(ran)
  expect(fromEnd).toBeLessThan(ran + within(400))
})
