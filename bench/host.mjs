// What runs in the process of a JavaScript rival: makes the host as large as asked, lets one measure run over the
// rival's adapter, and prints what it found as one line of JSON.
//
//   <runtime> host.mjs RIVAL MEASURE key=value …
import { openSync } from 'node:fs'
import process from 'node:process'

const [rival, measureName, ...words] = process.argv.slice(2)
const parameters = Object.fromEntries(words.map(readWord))
const { adapter } = await import(`./rivals/${rival}.mjs`)
const { measure } = await import(`./measures/${measureName}.mjs`)

const held = []
touchMemory(parameters.memoryGiB ?? 0)
for (let i = parameters.descriptors ?? 0; i > 0; i--) held.push(openSync('/dev/null', 'r'))

console.log(JSON.stringify(await measure(adapter, parameters)))
// A worker that still waits for its next request must not keep this process.
process.exit(0)

function readWord(word) {
  const at = word.indexOf('=')
  const value = word.slice(at + 1)
  return [word.slice(0, at), /^\d+$/.test(value) ? Number(value) : value]
}

// Each page is written to: only memory that is really there costs a fork anything.
function touchMemory(gib) {
  const chunkBytes = 256 * 1024 * 1024
  for (let left = gib * 1024 ** 3; left > 0; left -= chunkBytes) {
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    for (let at = 0; at < chunkBytes; at += 4096) chunk[at] = 1
    held.push(chunk)
  }
}
