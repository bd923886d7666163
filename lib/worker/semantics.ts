/**
 * What executing a worker's messages means, apart from how they look on the wire: a change that affects execution bumps
 * this number and not the wire's.
 */
export const EXECUTION_SEMANTICS_VERSION = 2
