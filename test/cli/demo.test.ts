import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/fixture.js'
import { timed, within } from '../support/until.js'

test('the demonstration does the main job, with exact accounts and nothing left [P-1, P-4]', async () => {
  const { result, ms } = await timed(
    () =>
      new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
        const demo = spawn(process.execPath, [join(root, 'scripts', 'demo.mjs')], { stdio: ['ignore', 'pipe', 'pipe'] })
        let stdout = ''
        let stderr = ''
        demo.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
        demo.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
        demo.on('close', (code) => resolve({ code, stdout, stderr }))
      }),
  )
  const { code, stdout, stderr } = result
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(ms).toBeLessThan(within(15_000))
  expect(stdout).toMatch(/descriptors that the worker sees +0 1 2 7 12$/m)
  const count = (text: string) => stdout.split(text).length - 1
  expect(count('8,388,608 bytes seen (exact), 131,072 kept, 8,257,536 let go')).toBe(2)
  expect(count('truncated: true, complete to its end: true')).toBe(2)
  const [, before, after] = /descriptors +(\d+) open here before the worker, (\d+) after it/.exec(stdout) ?? []
  expect(after).toBe(before)
  expect(stdout).toContain('0 processes of its group, 0 zombies')
  expect(stdout).toMatch(/^descriptors +leaks .* exact /m)
})
