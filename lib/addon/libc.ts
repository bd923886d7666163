/** Which C library the running program uses. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'

/**
 * Names the libc by the ELF interpreter of the running program.
 *
 * Not by process.report, which takes 7 ms and is a constant in Deno, nor by /etc/alpine-release, which only one of
 * the musl distributions has.
 */
export function detectLibc(program = process.execPath): 'glibc' | 'musl' | '' {
  if (process.platform !== 'linux') return ''
  const interpreter = readInterpreter(program)
  if (interpreter !== undefined) return interpreter.includes('ld-musl-') ? 'musl' : 'glibc'
  return existsSync('/etc/alpine-release') ? 'musl' : 'glibc'
}

// elf(5): 64-bit header, e_phoff at 32, e_phentsize at 54, e_phnum at 56; PT_INTERP is 3.
function readInterpreter(program: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(program, 'r')
    const bytes = Buffer.alloc(4096)
    const size = readSync(fd, bytes, 0, bytes.length, 0)
    if (size < 64 || bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2) return undefined
    const start = Number(bytes.readBigUInt64LE(32))
    const entrySize = bytes.readUInt16LE(54)
    for (let index = 0; index < bytes.readUInt16LE(56); index++) {
      const at = start + index * entrySize
      if (at + 40 > size) return undefined
      if (bytes.readUInt32LE(at) !== 3) continue
      const offset = Number(bytes.readBigUInt64LE(at + 8))
      return bytes.toString('latin1', offset, offset + Number(bytes.readBigUInt64LE(at + 32)))
    }
    return undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
