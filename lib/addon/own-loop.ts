/**
 * Tells whether native code may ask the event loop itself. It can be asked where it is libuv's; Bun has libuv's functions
 * and aborts the process when most of them are called, and Deno has none. Whether they are there is found out natively.
 */
export function loopMayBeAsked(): boolean {
  const { uv, bun, deno } = process.versions
  return uv !== undefined && bun === undefined && deno === undefined
}
