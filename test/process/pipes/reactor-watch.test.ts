/** The pipe tests of this folder once more, where the reactor has to watch: as under Bun and Deno. */
import { beforeAll } from 'vitest'
import { addon } from '../../../lib/addon/addon.js'
import './ownership.test.js'
import './protocol.test.js'
import './streams.test.js'

beforeAll(() => addon().setTestHooks({ noLoopWatch: true }))
