// Runs the cases. In each round every rival runs once, each time beginning with another one, so that a slow minute of the
// machine falls on all of them and none always follows the same other.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allowedCpus, freeGib, mostDescriptors, whyNoPlaces } from './machine.mjs'
import { QuietGate } from './quiet.mjs'
import { OURS } from './rivals/list.mjs'

const RUN_TIMEOUT_MS = 60_000
const SPARE_DESCRIPTORS = 500
const QUIET_MS = 30_000
const QUICK_QUIET_MS = 8_000

export class Rounds {
  #rivals
  #quick
  #progress
  #folder
  #done = 0
  #planned = 0
  #gate

  constructor({ rivals, quick, progress }) {
    this.#rivals = rivals
    this.#quick = quick
    this.#progress = progress
    this.#gate = new QuietGate(quick ? QUICK_QUIET_MS : QUIET_MS)
    this.#folder = mkdtempSync(join(tmpdir(), 'exactspawn-bench-'))
    const { status } = spawnSync('mkfifo', [join(this.#folder, 'gate'), join(this.#folder, 'ready')])
    if (status !== 0) throw new Error('mkfifo failed')
  }

  plan(workloads) {
    const cases = workloads.flatMap((workload) => workload.cases)
    this.#planned = cases.reduce((sum, one) => sum + this.#roundsOf(one), 0)
  }

  /** Gives { workload, cases: [{ ofCase, series, notes }] }, series: metric → rival → one value a round. */
  run(workload) {
    return { workload, cases: workload.cases.map((ofCase) => this.#runCase(workload, ofCase)) }
  }

  /** How many runs there were, and how many of them began on an idle machine. */
  get quietness() {
    return { runs: this.#gate.runs, quiet: this.#gate.quiet }
  }

  close() {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  // Quickly, what takes long runs once.
  #roundsOf({ rounds, notQuick, longRun }) {
    if (!this.#quick) return rounds
    if (notQuick) return 0
    return longRun ? 1 : Math.min(2, rounds)
  }

  #runCase(workload, ofCase) {
    const { parameters, notes, impossible } = this.#prepare(ofCase)
    const series = new Map(Object.keys(ofCase.metrics).map((metric) => [metric, new Map()]))
    const result = { ofCase, series, notes, impossible }
    if (impossible) return result
    const taking = this.#taking(ofCase, notes)
    const rounds = this.#roundsOf(ofCase)
    for (let round = 0; round < rounds; round++) {
      const text = `${++this.#done}/${this.#planned} ${workload.id} ${ofCase.name}, round ${round + 1} of ${rounds}`
      for (let i = 0; i < taking.length; i++) {
        const rival = taking[(i + round) % taking.length]
        this.#progress.show(text, rival.name)
        this.#gate.pass()
        this.#note(result, rival, round, runOnce(rival, ofCase, parameters))
      }
    }
    return result
  }

  #note({ ofCase, series, notes }, rival, round, { figures, failure }) {
    if (failure !== undefined) {
      notes.push(`${rival.name} failed in round ${round + 1}: ${failure}`)
      return
    }
    for (const metric of Object.keys(ofCase.metrics)) {
      // What a rival's process does not tell, such as what only this package can do, stays a gap.
      const values = series.get(metric).get(rival.name) ?? []
      values[round] = figures[metric] ?? NaN
      series.get(metric).set(rival.name, values)
    }
  }

  #taking(ofCase, notes) {
    const names = [OURS, ...ofCase.rivals]
    // A variant is a rival's command with other parameters, such as this package without secrets.
    const variants = (ofCase.variants ?? []).map(({ of, ...more }) => ({ ...this.#named(of), ...more }))
    const cannot = this.#rivals.filter(({ name }) => !names.includes(name)).map(({ name }) => name)
    if (cannot.length > 0) notes.push(`not among these: ${cannot.join(', ')}${ofCase.why ? ` (${ofCase.why})` : ''}`)
    return [...this.#rivals.filter(({ name }) => names.includes(name)), ...variants]
  }

  #named(name) {
    return this.#rivals.find((rival) => rival.name === name)
  }

  // What this machine allows of a case: fewer descriptors are told, too little memory is a case that cannot be run.
  #prepare(ofCase) {
    const notes = []
    const quick = this.#quick ? ofCase.quick : {}
    const parameters = { ...ofCase.parameters, ...quick }
    for (const name of ['gate', 'ready', 'report']) parameters[name] = join(this.#folder, name)
    if (this.#quick && ofCase.notQuick) return { parameters, notes, impossible: 'left out by --quick' }
    const most = mostDescriptors() - SPARE_DESCRIPTORS
    if (parameters.descriptors > most) {
      notes.push(`only ${most} descriptors, not ${parameters.descriptors}: the hard limit here`)
      parameters.descriptors = most
    }
    if (parameters.memoryGiB * 1.25 + 1 > freeGib()) return { parameters, notes, impossible: 'too little free memory' }
    const wanted = { 'one CPU': 1, 'two CPUs': 2 }[ofCase.place]
    const impossible = wanted === undefined ? undefined : whyNoPlaces(wanted)
    if (ofCase.place === 'two CPUs' && !impossible) parameters.childCpu = allowedCpus()[1]
    return { parameters, notes, impossible }
  }
}

function runOnce(rival, { measure, place }, parameters) {
  const all = { ...parameters, ...rival.parameters }
  const words = Object.entries(all).map(([name, value]) => `${name}=${value}`)
  const placed = place === undefined ? [] : ['taskset', '-c', String(allowedCpus()[0])]
  const [program, ...args] = [...placed, ...rival.command, measure, ...words]
  const { error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: RUN_TIMEOUT_MS, killSignal: 'SIGKILL' })
  try {
    return { figures: JSON.parse(stdout.trim().split('\n').at(-1)) }
  } catch {
    return { failure: error?.message ?? (stderr.trim().split('\n').find((line) => /rror/.test(line)) ?? 'no figures') }
  }
}
