// What the compiler must know and what it must refuse. `tsc -p tsconfig.test.json` checks this file (npm run check); run,
// it shows that the names are there.
import * as xs from 'exactspawn'
import type { Child, ChildEndpoint, Exit, HostReader, HostWriter, PrivateDirectory, SpawnSpec, Stage } from 'exactspawn'
import { expectTypeOf, test } from 'vitest'

const spec = { program: '/bin/true', env: {} } satisfies SpawnSpec

test('program and environment have no default, and a field that is none is refused [P-1]', () => {
  // @ts-expect-error the environment must be said
  void ({ program: '/bin/true' } satisfies SpawnSpec)
  // @ts-expect-error the program must be said
  void ({ env: {} } satisfies SpawnSpec)
  // @ts-expect-error the field is lifetime.timeoutMs
  void ({ ...spec, timeoutMs: 1 } satisfies SpawnSpec)
  // @ts-expect-error no such group
  void ({ ...spec, group: 'none' } satisfies SpawnSpec)
  // @ts-expect-error a host's end is not for a child
  void ({ ...spec, fds: { 3: {} as HostWriter } } satisfies SpawnSpec)
  expectTypeOf({ ...spec, fds: { 3: {} as ChildEndpoint, 4: 'null' } } as const).toExtend<SpawnSpec>()
})

test('the host writes where the child reads, and reads where it writes [P-1]', () => {
  const requests = () => xs.pipe('childReads')
  const responses = () => xs.pipe('childWrites')
  expectTypeOf(requests).returns.toHaveProperty('host').toEqualTypeOf<HostWriter>()
  expectTypeOf(responses).returns.toHaveProperty('host').toEqualTypeOf<HostReader>()
  expectTypeOf<HostWriter>().not.toHaveProperty('read')
  expectTypeOf<HostReader>().not.toHaveProperty('write')
  // @ts-expect-error a capture must say what it keeps
  void (() => xs.capture())
})

test('every end of a child gives one record, and no field of it is ever missing [P-8]', () => {
  expectTypeOf(xs.spawn).returns.resolves.toEqualTypeOf<Child>()
  expectTypeOf<Child['wait']>().returns.resolves.toEqualTypeOf<Exit>()
  expectTypeOf<Child['terminate']>().returns.resolves.toEqualTypeOf<Exit>()
  expectTypeOf<Exit['code']>().toEqualTypeOf<number | null>()
  expectTypeOf<Required<Exit>>().toEqualTypeOf<Exit>()
  // @ts-expect-error the record cannot be written to
  void ((exit: Exit) => (exit.code = 0))
})

test('a child and a private directory end with their scope [P-7, M-56]', () => {
  expectTypeOf<Child>().toExtend<AsyncDisposable>()
  expectTypeOf<PrivateDirectory>().toExtend<AsyncDisposable>()
  expectTypeOf(xs.createPrivateDirectory).returns.resolves.toEqualTypeOf<PrivateDirectory>()
})

test('a code narrows what an error carries, by its class and by the question alone [I-9]', () => {
  void ((error: unknown) => {
    if (error instanceof xs.SpawnError && error.code === 'ERR_SPAWN_FAILED') {
      expectTypeOf(error.stage).toEqualTypeOf<Stage>()
      expectTypeOf(error.details.errno).toEqualTypeOf<number | undefined>()
    }
    if (xs.ExactSpawnError.is(error, 'ERR_PRIVATE_DIRECTORY_REMOVE_FAILED')) {
      expectTypeOf(error.details.path).toEqualTypeOf<string>()
    }
    // @ts-expect-error a code that does not exist is never asked for
    xs.ExactSpawnError.is(error, 'ERR_NO_SUCH_CODE')
  })
})
