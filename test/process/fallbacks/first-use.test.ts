/** The first use in a process that has no descriptor left: refused by name, and nothing of it is remembered. */
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { dist } from '../../support/fixture.js'
import { hostSays } from '../../support/host.js'

const EMFILE = -24
const eventsModule = join(dirname(dist), 'addon', 'events.js')

// A start with `free` descriptors left, the very first of its host; then one with plenty.
const attempt = (free: number) => `
  const fs = require('node:fs');
  const { connectedAddon, runTask } = require(${JSON.stringify(eventsModule)});
  connectedAddon();
  const held = [];
  for (;;) {
    try { held.push(fs.openSync('/dev/null', 'r')) } catch { break }
  }
  for (const fd of held.splice(0, ${free})) fs.closeSync(fd);
  const spec = { program: '/bin/true', env: {} };
  const first = await spawn(spec).then((child) => child.wait()).then(() => ({ free: ${free} }), ({ code, stage, errno, syscall }) => ({ code, stage, errno, syscall }));
  for (const fd of held) fs.closeSync(fd);
  const child = await spawn(spec);
  const { code } = await child.wait();
  say({ first, code, mechanism: child.receipt.mechanism, capabilities: await runTask((native) => native.capabilities()) });
`

interface Said {
  first: { free?: number; code?: string; stage?: string; errno?: number; syscall?: string }
  code: number
  mechanism: string
  capabilities: object
}

test('a first start without descriptors fails by name, and the next one is as good as any [P-2, N-8]', async () => {
  const wrapper = ['/bin/sh', '-c', 'ulimit -n 128; exec "$@"', 'sh']
  const hosts = Array.from({ length: 8 }, (_, free) => hostSays<Said>(attempt(free), { wrapper }))
  const [plenty] = await hostSays<Said>(attempt(50), { wrapper })
  expect(plenty?.first).toEqual({ free: 50 })
  const syscalls = new Set<string | undefined>()
  for (const [free, said] of (await Promise.all(hosts)).entries()) {
    const { first, ...next } = said[0] as Said
    if (first.free === undefined) expect(first, `${free} free`).toMatchObject({ code: 'ERR_SPAWN_FAILED', errno: EMFILE })
    syscalls.add(first.syscall)
    expect({ ...next, first: plenty?.first }, `${free} free`).toEqual(plenty)
  }
  expect([...syscalls].slice(0, 2)).toEqual(['epoll_create1', 'eventfd2'])
})
