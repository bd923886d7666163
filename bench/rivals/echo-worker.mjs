// A worker in JavaScript that gives each message back: `echo-worker.mjs IN OUT SIZE`, or `ipc` under fork().
import { Socket } from 'node:net'

const [first, output, size] = process.argv.slice(2)
if (first === 'ipc') process.on('message', (message) => process.send(message))
else echo(Number(first), Number(output), Number(size))

function echo(input, output, bytes) {
  const requests = new Socket({ fd: input, readable: true, writable: false })
  const responses = new Socket({ fd: output, readable: false, writable: true })
  let parts = []
  let got = 0
  requests.on('data', (chunk) => {
    parts.push(chunk)
    got += chunk.length
    if (got < bytes) return
    const all = Buffer.concat(parts)
    const whole = got - (got % bytes)
    responses.write(all.subarray(0, whole))
    parts = [all.subarray(whole)]
    got -= whole
  })
  requests.on('end', () => process.exit(0))
}
