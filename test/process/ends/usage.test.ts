/** Resources of a child, and of nobody else. */
import { MiB } from 'exactspawn'
import { expect, test } from 'vitest'
import { hostSays } from '../../support/host.js'
import { within } from '../../support/until.js'
import { fixture, hostTools } from './children.js'

interface Peak {
  peakRssBytes?: number
  peakRssSource?: string
}

const peaks = (hostMiB: number) => `${hostTools}
  const held = Buffer.alloc(${hostMiB} << 20, 1);
  const peak = async (...args) => {
    const child = await spawn({ program: fixture, args, env: {} });
    const { peakRssBytes, peakRssSource } = (await child.wait()).usage;
    return { peakRssBytes, peakRssSource };
  };
  say({ small: await peak(), large: await peak('touch-memory', '120'), held: held.length });`

test('a peak of memory is the child\'s own or is not told [B078]', async () => {
  const [inSmall] = await hostSays<{ small: Peak; large: Peak }>(peaks(1))
  const [inLarge] = await hostSays<{ small: Peak; large: Peak }>(peaks(220))
  expect(inSmall?.small).toEqual({})
  expect(inSmall?.large.peakRssSource).toBe('ru_maxrss')
  expect(inSmall?.large.peakRssBytes).toBeGreaterThanOrEqual(120 * MiB)
  expect(inSmall?.large.peakRssBytes).toBeLessThan(140 * MiB)
  expect(inLarge).toMatchObject({ small: {}, large: {} })
  expect(inLarge?.large.peakRssBytes).toBeUndefined()
})

test('processor time is the child\'s own [B078]', async () => {
  const idle = await (await fixture('exit 0')).wait()
  const busy = await (await fixture('busy 80')).wait()
  expect(idle.usage?.userMs).toBeLessThan(within(40))
  const { userMs = 0, systemMs = 0 } = busy.usage ?? {}
  expect(userMs + systemMs).toBeGreaterThanOrEqual(70)
  expect(userMs + systemMs).toBeLessThan(within(400))
})
