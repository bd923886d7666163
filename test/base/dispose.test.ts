import { expect, test } from 'vitest'
import { DisposeStack } from '../../lib/base/dispose.js'

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

test('nothing can be added once disposal has begun, and who adds it keeps it [P-7]', async () => {
  const stack = new DisposeStack()
  const { open, opened } = gate()
  stack.defer(() => opened)
  const disposed = stack.dispose()
  expect(() => stack.defer(() => expect.unreachable())).toThrow('defer: disposal has begun')
  open()
  await disposed
  expect(() => stack.defer(() => expect.unreachable())).toThrow('defer: disposal has begun')
})

test('an empty stack disposes to nothing [P-7]', async () => {
  await expect(new DisposeStack().dispose()).resolves.toBeUndefined()
})

test('closes run in reverse order, each after the one before has settled [P-7]', async () => {
  const log: string[] = []
  const { open, opened } = gate()
  const stack = new DisposeStack()
  stack.defer(() => log.push('first'))
  stack.defer(async () => {
    log.push('second begins')
    await opened
    log.push('second ends')
  })
  const disposed = stack.dispose()
  expect(log).toEqual(['second begins'])
  open()
  await disposed
  expect(log).toEqual(['second begins', 'second ends', 'first'])
})

test('a scope disposes its stack at its end, also when it throws [P-7]', async () => {
  const log: string[] = []
  const scope = async () => {
    await using stack = new DisposeStack()
    stack.defer(() => log.push('closed'))
    throw new Error('half-way')
  }
  await expect(scope()).rejects.toThrow('half-way')
  expect(log).toEqual(['closed'])
})

test('every call gives the same promise, and each close runs once [P-7]', async () => {
  let closed = 0
  const stack = new DisposeStack()
  stack.defer(() => closed++)
  const first = stack.dispose()
  expect(stack.dispose()).toBe(first)
  await first
  expect(stack.dispose()).toBe(first)
  expect(closed).toBe(1)
})

test('the first failure is thrown, the later ones are attached, and no close is left out [P-2]', async () => {
  const log: string[] = []
  const stack = new DisposeStack()
  stack.defer(() => log.push('last'))
  stack.defer(() => Promise.reject(new Error('third')))
  stack.defer(() => {
    throw 'second'
  })
  stack.defer(() => Promise.reject(new Error('first')))
  const failure = await stack.dispose().catch((error: unknown) => error)
  expect(failure).toMatchObject({ message: 'first', suppressed: [{ cause: 'second' }, { message: 'third' }] })
  expect(log).toEqual(['last'])
})
