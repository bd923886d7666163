import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/fixture.js'

function output(script: string, ...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const demo = spawn(process.execPath, [join(root, script), ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    demo.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    demo.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    demo.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

test('the demonstration tells who was kept, replaced and warmed up, and its journal says the same [R-04, R-33]', async () => {
  const { code, stdout, stderr } = await output('scripts/demo-reuse.mjs')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines = (lane: number) => stdout.split('\n').filter((line) => line.startsWith(`  lane ${lane} `))
  const fates = (lane: number) =>
    lines(lane).map((line) => /(kept|new) process/.exec(line)?.[1] + (/failed: (\S+)/.exec(line)?.[1] ?? ''))
  expect(fates(1)).toEqual(['new', 'kept', 'kept', 'new', 'kept'])
  expect(lines(1)[3]).toContain('replaced: processes_left')
  expect(fates(2)).toEqual(['new', 'keptERR_PROTOCOL_CLOSED', 'new', 'keptERR_SLOT_DEADLINE', 'new'])
  expect(fates(3)).toEqual(['new', 'kept', 'undefinedERR_RESET_FAILED', 'new', 'kept'])
  const warmUps = (lane: number) => lines(lane).map((line) => Number(/(\d) warm-ups/.exec(line)?.[1]))
  expect([warmUps(1), warmUps(2), warmUps(3)]).toEqual([[2, 0, 0, 2, 0], [2, 0, 2, 2, 2], [2, 0, 0, 2, 0]])
  expect(stdout).toContain('3.3 lane 3   failed · worker')
  expect(stdout).toContain('attempts 15, observations 12, torn lines 0, processes 7')
  expect(stdout).toContain('left in the private root   0 entries')
})

test('the benchmark runs, and a worker that stays costs less than a fresh one for each slot [R-03, R-07]', async () => {
  const { code, stdout, stderr } = await output('bench/reuse.mjs', '5')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const ratios = [...stdout.matchAll(/ratio ([\d.]+)x a slot/g)].map(([, ratio]) => Number(ratio))
  expect(ratios.length).toBeGreaterThan(0)
  for (const ratio of ratios) expect(ratio).toBeGreaterThan(1)
})
