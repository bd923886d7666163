/** The private directory between two slots: all of it goes, and the private places are made anew. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PRIVATE_PLACES, renewPrivatePlaces } from '../../../lib/worker/worker-environment.js'
import { tmpFolder } from '../../support/tmp.js'
import { anyExecute, anyPrepare, connect, rejection, reused } from '../../support/worker.js'

test('every place that the environment names is there again, 0700, empty, under any umask [R-11, R-13, R-16]', async () => {
  const { session, process: worker } = await connect(reused())
  const directory = worker.workingDirectory as string
  await session.prepare({ ...anyPrepare, implementation_parameters: { execute: ['litter', ['chmod', 0]] } })
  const { statistics } = await session.execute(anyExecute)
  expect(statistics['found']).toEqual([])
  expect(statSync(directory).mode & 0o777).toBe(0)
  for (const mask of [0o000, 0o777]) {
    const before = process.umask(mask)
    await worker.renewDirectory().finally(() => process.umask(before))
    for (const place of ['', ...Object.values(PRIVATE_PLACES)]) {
      const path = join(directory, place)
      expect([place, statSync(path).mode & 0o7777]).toEqual([place, 0o700])
      const below = Object.values(PRIVATE_PLACES).filter((other) => other.startsWith(`${place}/`))
      if (place !== '') expect(readdirSync(path)).toHaveLength(below.length)
    }
    expect(readdirSync(directory).toSorted()).toEqual(['cache', 'config', 'data', 'home', 'state', 'tmp'])
  }
  await session.shutdown()
})

test('a directory that a worker has moved away is told, and nothing is made in its stead [R-11, R-14]', async () => {
  const { session, process: worker } = await connect(reused())
  const directory = worker.workingDirectory as string
  await session.prepare({ ...anyPrepare, implementation_parameters: { execute: ['move'] } })
  await session.execute(anyExecute)
  expect(await rejection(worker.renewDirectory())).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { path: directory, failures: [{ path: `${directory}/.`, errno: 'ESTALE' }] },
  })
  expect(() => statSync(directory)).toThrow('ENOENT')
  await session[Symbol.asyncDispose]()
  rmdirSync(`${directory}-moved`)
})

test('a place that cannot be made is told by its path and errno, and what is there stays [R-11]', async () => {
  const directory = tmpFolder()
  chmodSync(directory, 0o700)
  mkdirSync(join(directory, 'home'))
  writeFileSync(join(directory, 'home', 'file'), 'kept')
  expect(await rejection(renewPrivatePlaces(directory, {}))).toMatchObject({
    code: 'ERR_CLEANUP_FAILED',
    details: { path: directory, failures: [{ path: join(directory, 'home'), errno: 'EEXIST' }] },
    cause: { code: 'ERR_PRIVATE_DIRECTORY_CREATE_FAILED', cause: { code: 'EEXIST' } },
  })
  expect(readFileSync(join(directory, 'home', 'file'), 'utf8')).toBe('kept')
})
