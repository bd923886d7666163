/** The names of lib/executor.ts for import: the same objects, no state of its own. */
export type * from '../executor.js'
export { LocalProcessExecutor } from '../executor.js'
