/** `exactspawn doctor`: what this machine offers, for people or as one JSON document. */
import { readOptions } from './arguments.js'
import type { DoctorReport } from './doctor-facts.js'
import { examine } from './doctor-facts.js'
import { EXIT } from './exit-code.js'
import { HELP } from './help.js'
import type { Cell, Paint, Style } from './terminal.js'
import { painter, table, write, writeJson } from './terminal.js'

/** Gives 0 when children can be started here, else 125. */
export async function doctor(args: readonly string[]): Promise<number> {
  const { json, help } = readOptions(args, { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } })
  if (help) {
    write(1, HELP)
    return 0
  }
  const report = await examine()
  if (json) writeJson(report)
  else write(1, render(report, painter()))
  return report.start.error === null ? 0 : EXIT.ours
}

function render(report: DoctorReport, paint: Paint): string {
  const { host, addon, start, cgroup, limits, degraded } = report
  const libc = host.libcVersion === null ? host.libc : `${host.libc} ${host.libcVersion}`
  const facts: [string, string][] = [
    ['exactspawn', report.exactspawn],
    ['kernel', `${host.platform} ${host.kernel} ${host.arch}`],
    ['libc', libc],
    ['node', `${host.node}, Node-API ${host.nodeApi}`],
    ['addon', addon.error ?? `${addon.file}, ${Math.ceil((addon.bytes as number) / 1024)} KiB`],
    ['a start', start.error ?? `made by ${start.mechanism}, its exit watched by ${start.exitWatchedBy}`],
    ['cgroup v2', cgroupText(cgroup)],
    ['open files', limits === null ? 'unknown' : nofileText(limits)],
    ['pipe pages', limits === null ? 'unknown' : pipeText(limits)],
  ]
  const mechanisms = report.mechanisms.map(({ name, offered, purpose, instead, cost }) => {
    const state: [string, Style] = offered ? ['in use', 'green'] : ['missing', 'yellow']
    const text = offered ? purpose : `${purpose}; instead: ${instead}. Cost: ${cost}`
    return [cell(`  ${name}`), cell(...state), cell(text)]
  })
  const verdict =
    degraded.length === 0
      ? paint('green', 'Nothing is wanting.\n')
      : `${paint('yellow', 'Not at its best:')}\n${degraded.map((line) => `  - ${line}\n`).join('')}`
  return (
    table(facts.map(([name, value]) => [cell(name, 'bold'), cell(value)]), paint) +
    `\n${paint('bold', 'mechanisms')}\n` +
    `${table(mechanisms, paint)}\n${verdict}`
  )
}

function cell(text: string, style?: Style): Cell {
  return style === undefined ? { lines: [text] } : { lines: [text], style }
}

function cgroupText({ mount, own, leaf }: DoctorReport['cgroup']): string {
  if (mount === null) return 'not mounted'
  if (leaf === null) return `at ${mount}; no leaf can be made in ${own}`
  const files = [leaf.kill && 'cgroup.kill', leaf.freeze && 'cgroup.freeze', leaf.memoryPeak && 'memory.peak']
  return `at ${mount}; a leaf of ${own} has ${files.filter(Boolean).join(', ') || 'none of the files that help'}`
}

function nofileText({ nofileSoft, nofileHard, nofileChild }: NonNullable<DoctorReport['limits']>): string {
  return `soft ${nofileSoft ?? 'unlimited'}, hard ${nofileHard ?? 'unlimited'}; a child gets soft ${nofileChild}`
}

function pipeText({ pipeUserPagesSoft }: NonNullable<DoctorReport['limits']>): string {
  if (pipeUserPagesSoft === null) return 'unknown'
  return pipeUserPagesSoft === 0 ? 'no limit for a user' : `${pipeUserPagesSoft} for a user before pipes shrink`
}
