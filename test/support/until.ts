/** Waiting for facts. */
import { setTimeout as pause } from 'node:timers/promises'

/** Widens upper bounds: a machine may be shared and slow. 1 is for an idle one; lower bounds are never touched. */
export const slowness = Number(process.env['EXACTSPAWN_SLOWNESS'] ?? 4)

/** An upper bound in milliseconds, as this machine needs it. */
export const within = (ms: number): number => ms * slowness

/** Looks until the fact is there and gives it; fails with its name after `boundMs`. */
export async function until<T>(
  name: string,
  look: () => T | Promise<T>,
  boundMs = 10_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + within(boundMs)
  for (;;) {
    const fact = await look()
    if (fact !== undefined && fact !== null && fact !== false) return fact as NonNullable<Exclude<T, false>>
    if (performance.now() > end) throw new Error(`not seen within ${within(boundMs)} ms: ${name}`)
    await pause(5)
  }
}

/** Runs something and gives its result with the milliseconds it took. */
export async function timed<T>(run: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const start = performance.now()
  const result = await run()
  return { result, ms: performance.now() - start }
}
