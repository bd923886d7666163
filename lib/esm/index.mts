/** The names of lib/index.ts for import: the same objects, no state of its own. */
export * from '../index.js'
