// All workloads, in the order in which they run.
import w1 from './w1-start.mjs'
import w2 from './w2-memory.mjs'
import w3 from './w3-descriptors.mjs'
import w5 from './w5-drain.mjs'

export const workloads = [w1, w2, w3, w5]
