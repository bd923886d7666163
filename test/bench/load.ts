/** Gives a module of the benchmark, which is plain JavaScript and has no types. */
export async function load<T>(name: string): Promise<T> {
  const url = new URL(`../../bench/${name}.mjs`, `file://${__filename}`)
  return (await import(url.href)) as T
}
