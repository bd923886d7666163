/** The raw ends of the protocol pipes, before a session has them; and that nobody has them after. */
import { MiB } from 'exactspawn'
import { expect, test } from 'vitest'
import { FRAME_MAX_BYTES } from '../../../lib/base/limits.js'
import { encodeFrame } from '../../../lib/protocol/frame.js'
import { PosixWorkerProcess, WorkerCommand, WorkerSession } from '../../../lib/worker.js'
import { openFds } from '../../support/process-table.js'
import { until } from '../../support/until.js'
import type { PhaseTimeouts } from '../../../lib/worker.js'
import { AMPLE_MS, launch, record, rejection, sortingWorker, timeouts, workerId } from '../../support/worker.js'

const terms = { role: 'implementation', workerId, timeouts } as const
const bounds = { timeoutMs: AMPLE_MS }

/** A worker that is a shell: it speaks no protocol, and so shows the bytes as they are. */
const shell = (script: string) => launch(record('/bin/sh', ['-c', `PATH=/usr/bin:/bin; ${script}`]))
const echo = () => shell('exec cat <&3 >&4')

test('a session is refused without a limit for every phase, and takes nothing over [MP-13]', async () => {
  const process = await launch(sortingWorker())
  for (const phase of Object.keys(timeouts) as (keyof PhaseTimeouts)[]) {
    const { [phase]: _missing, ...others } = timeouts
    const refused = WorkerSession.connect(process, { ...terms, timeouts: others as PhaseTimeouts })
    const details = { field: phase, reason: 'is required' }
    await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_PHASE_TIMEOUTS', details })
    for (const limit of [0, -1, NaN, Infinity, '9']) {
      const wrong = WorkerSession.connect(process, { ...terms, timeouts: { ...timeouts, [phase]: limit as number } })
      const details = { field: phase, reason: 'must be a finite number of milliseconds above 0' }
      await expect(wrong).rejects.toMatchObject({ code: 'ERR_INVALID_PHASE_TIMEOUTS', details })
    }
  }
  const unknown = WorkerSession.connect(process, { ...terms, timeouts: { ...timeouts, warm: 1 } as PhaseTimeouts })
  await expect(unknown).rejects.toMatchObject({ details: { field: 'warm' } })
  const missing = WorkerSession.connect(process, { role: 'implementation', workerId } as never)
  await expect(missing).rejects.toMatchObject({ details: { field: 'hello' } })
  const session = await WorkerSession.connect(process, terms)
  await session.shutdown()
})

test('the raw ends carry bytes unchanged, as frames and past what the pipes hold [M-13, M-14]', async () => {
  const process = await echo()
  const value = { id: 'é\u2028', bytes: 'x'.repeat(300_000) }
  const frame = encodeFrame(value, { limitBytes: FRAME_MAX_BYTES })
  const writing = process.protocolWriter().write(Buffer.concat([frame, Buffer.from('[1]\n')]), bounds)
  const reader = process.protocolReader()
  expect(await reader.read(bounds)).toEqual(value)
  expect(await reader.read(bounds)).toEqual([1])
  await writing
  expect(await process.wait()).toMatchObject({ exit: { code: 0 } })
})

test('the raw reader ends with the responses, and refuses an end within one [M-13, MP-03]', async () => {
  const clean = await shell('echo 1 >&4')
  expect(await clean.protocolReader().read(bounds)).toBe(1)
  expect(await clean.protocolReader().read(bounds)).toBe(undefined)
  const early = await shell('printf 12 >&4')
  const details = { received: 2 }
  await expect(early.protocolReader().read(bounds)).rejects.toMatchObject({ code: 'ERR_FRAME_EARLY_EOF', details })
  for (const process of [clean, early]) await process.wait()
})

test('the raw reader takes a frame of exactly 1 MiB and refuses one byte more [M-13, MP-02]', async () => {
  const longest = await echo()
  const line = Buffer.alloc(MiB, '1')
  line[MiB - 1] = 0x0a
  line.fill(' ', 3, MiB - 1)
  const written = longest.protocolWriter().write(line, bounds)
  expect(await longest.protocolReader().read(bounds)).toBe(111)
  await written
  const reading = rejection(longest.protocolReader().read(bounds))
  const longer = longest.protocolWriter().write(Buffer.concat([Buffer.from(' '), line]), bounds)
  expect(await reading).toMatchObject({ code: 'ERR_FRAME_LINE_TOO_LONG', details: { limitBytes: MiB } })
  await longer
  await longest[Symbol.asyncDispose]()
})

test('a write to a worker that has gone is an error and no signal [B037, M-14]', async () => {
  const process = await shell('exit 4')
  await until('the exit', () => process.tryWait())
  const error = await rejection(process.protocolWriter().write(Buffer.from('1\n')))
  expect(error).toMatchObject({ code: 'ERR_PROTOCOL_WRITE_FAILED', details: { bytesWritten: 0 } })
  expect(error.cause).toMatchObject({ code: 'ERR_PIPE_WRITE_FAILED', cause: { code: 'EPIPE' } })
  expect(await process.wait()).toMatchObject({ exit: { code: 4 } })
})

test('a wait closes the raw ends first, also under who kept them, and exchanges nothing [M-29, M-34]', async () => {
  const process = await echo()
  const [reader, writer] = [process.protocolReader(), process.protocolWriter()]
  const pending = rejection(reader.read())
  const waiting = process.wait()
  const closed = { code: 'ERR_PROTOCOL_CLOSED', details: { by: 'host' } }
  expect(await pending).toMatchObject(closed)
  expect(await rejection(writer.write(Buffer.from('1\n')))).toMatchObject(closed)
  expect(await rejection(reader.read())).toMatchObject(closed)
  expect(() => process.protocolWriter()).toThrow(expect.objectContaining(closed) as Error)
  expect(() => process.protocolReader()).toThrow(expect.objectContaining(closed) as Error)
  expect(await rejection(WorkerSession.connect(process, terms))).toMatchObject(closed)
  expect((await waiting).exit).toMatchObject({ code: 0, endedBy: 'self' })
})

test('once a session owns the ends nobody else has them, also not who took them before [M-15]', async () => {
  const process = await launch(sortingWorker())
  const [reader, writer] = [process.protocolReader(), process.protocolWriter()]
  const session = await WorkerSession.connect(process, terms)
  const transferred = (endpoint: string) => ({ code: 'ERR_PROTOCOL_IO_TRANSFERRED', details: { endpoint } })
  expect(() => process.protocolReader()).toThrow(expect.objectContaining(transferred('reader')) as Error)
  expect(() => process.protocolWriter()).toThrow(expect.objectContaining(transferred('writer')) as Error)
  expect(await rejection(reader.read())).toMatchObject(transferred('reader'))
  expect(await rejection(writer.write(Buffer.from('1\n')))).toMatchObject(transferred('writer'))
  expect(await rejection(WorkerSession.connect(process, terms))).toMatchObject(transferred('both'))
  expect(session.usable).toBe(true)
  await session.shutdown()
})

test('a session does not take over ends at which somebody reads, and costs no worker [M-15]', async () => {
  const process = await launch(sortingWorker())
  const stop = new AbortController()
  const reading = rejection(process.protocolReader().read({ signal: stop.signal }))
  const busy = await rejection(WorkerSession.connect(process, terms))
  expect(busy).toMatchObject({ code: 'ERR_PIPE_BUSY', details: { operation: 'read' } })
  stop.abort()
  expect(await reading).toMatchObject({ code: 'ERR_ABORTED' })
  const session = await WorkerSession.connect(process, terms)
  await session.shutdown()
})

test('a raw read that is given up tells the limit that it was given [M-13, M-85]', async () => {
  const process = await launch(record('/bin/sleep', ['60']))
  const error = await rejection(process.protocolReader().read({ timeoutMs: 30 }))
  expect(error).toMatchObject({ code: 'ERR_PIPE_TIMEOUT', details: { timeoutMs: 30 } })
  await process[Symbol.asyncDispose]()
})

test('a worker that cannot start leaves no pipe behind [M-12, M-14]', async () => {
  const logs = { stdoutBytes: 0, stderrBytes: 0 }
  const before = openFds().size
  const missing = new WorkerCommand({ program: '/nonexistent', env: {}, logs })
  expect(await rejection(PosixWorkerProcess.spawn(missing))).toMatchObject({ code: 'ERR_SPAWN_FAILED' })
  const short = new WorkerCommand({ program: '/bin/true', env: {}, logs, secrets: ['abc'] })
  const details = { field: 'secrets[0]' }
  expect(await rejection(PosixWorkerProcess.spawn(short))).toMatchObject({ code: 'ERR_INVALID_SPEC', details })
  expect(openFds().size).toBe(before)
})

test('a raw write that nobody reads is given up in time, and tells how far it came [M-14, M-85]', async () => {
  const process = await launch(record('/bin/sleep', ['60']))
  const writer = process.protocolWriter()
  const error = await rejection(writer.write(Buffer.alloc(MiB), { timeoutMs: 50 }))
  expect(error).toMatchObject({ code: 'ERR_PIPE_TIMEOUT', details: { timeoutMs: 50 } })
  const { bytesWritten } = error as unknown as { bytesWritten: number }
  expect(bytesWritten).toBeGreaterThanOrEqual(4_096)
  expect(bytesWritten).toBeLessThan(MiB)
  await process[Symbol.asyncDispose]()
})
