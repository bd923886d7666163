// Round trips with one worker that gives each message back, one at a time and then with a window of them in flight.
import { cpuMicroseconds, microseconds } from '../clock.mjs'
import { median, quantile } from '../statistics.mjs'

export async function measure({ talk, ...adapter }, parameters) {
  const { bytes, count = 1000, window = 0, channel = 'pipes', target, node, worker, childCpu } = parameters
  const message = Buffer.alloc(bytes, 'a')
  const [input, output] = adapter.talkDescriptors ?? [3, 4]
  const options = childCpu === undefined ? [] : [`cpu=${childCpu}`]
  const echo = ['echo', String(input), String(output), String(bytes), ...options]
  const command = worker === undefined ? [target, echo] : [node, [worker, String(input), String(output), String(bytes)]]
  const line = await talk(command, { bytes, channel, worker })
  const one = () => new Promise((resolve) => line.exchange(message, 1, resolve))
  for (let i = 0; i < Math.ceil(count / 5); i++) await one()
  const facts = await singly(one, count)
  if (window > 0) facts.pipelinedPerSecond = await inFlight(line, message, window, count * 4)
  line.end()
  return facts
}

async function singly(one, count) {
  const walls = []
  const cpu = cpuMicroseconds()
  for (let i = 0; i < count; i++) {
    const begin = microseconds()
    await one()
    walls.push(microseconds() - begin)
  }
  const cpuUs = (cpuMicroseconds() - cpu) / count
  return { wallUs: median(walls), wallP99Us: quantile(walls, 0.99), cpuUs }
}

async function inFlight(line, message, window, total) {
  const begin = microseconds()
  await new Promise((resolve) => {
    let sent = window
    let got = 0
    const next = () => {
      if (++got === total) resolve()
      if (sent >= total) return
      sent++
      line.exchange(message, 1, next)
    }
    line.exchange(message, window, next)
  })
  return (total / (microseconds() - begin)) * 1e6
}
