/** The workloads are data: each can be run, and each goal names something that is measured. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { load } from './load.js'

interface Case {
  name: string
  measure: string
  rounds: number
  rivals: string[]
  variants?: { of: string; name: string }[]
  metrics: Record<string, { goals?: { kind: string; rival?: string; name?: string; metric?: string }[] }>
}
const list = load<{ workloads: { id: string; title: string; cases: Case[] }[] }>('workloads/list')
const rivals = load<{ rivals: { name: string }[]; quickRivals: string[] }>('rivals/list')
const folder = join(__dirname, '../../bench')

test('workloads are numbered in their order and their cases have names of their own [N-19]', async () => {
  const { workloads } = await list

  expect(workloads.map(({ id }) => id)).toEqual(workloads.map((_, i) => `W${i + 1}`))
  for (const { cases } of workloads) expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
})

test('each case has its measure, rivals that exist, and rounds [N-19]', async () => {
  const names = (await rivals).rivals.map(({ name }) => name)
  for (const { cases } of (await list).workloads) {
    for (const one of cases) {
      expect(existsSync(join(folder, 'measures', `${one.measure}.mjs`)), one.measure).toBe(true)
      expect(names).toEqual(expect.arrayContaining([...one.rivals, ...(one.variants ?? []).map(({ of }) => of)]))
      expect(one.rounds).toBeGreaterThan(1)
    }
  }
})

test('each goal is about a rival, a case and a metric that the workload measures [N-19]', async () => {
  for (const { id, cases } of (await list).workloads) {
    for (const one of cases) {
      const present = [...one.rivals, ...(one.variants ?? []).map(({ name }) => name)]
      for (const goal of Object.values(one.metrics).flatMap(({ goals }) => goals ?? [])) {
        const where = `${id} ${one.name}: ${JSON.stringify(goal)}`
        if (goal.kind === 'beats') expect(present, where).toContain(goal.rival)
        if (goal.kind === 'nearLimit') expect(present, where).toContain('C limit')
        if (goal.kind !== 'growsBelow') continue
        const other = cases.find(({ name }) => name === (goal.name ?? one.name))
        expect(Object.keys(other?.metrics ?? {}), where).toContain(goal.metric)
      }
    }
  }
})
