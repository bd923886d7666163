// All workloads, in the order in which they run.
import w1 from './w1-start.mjs'
import w2 from './w2-memory.mjs'
import w3 from './w3-descriptors.mjs'
import w4 from './w4-crowd.mjs'
import w5 from './w5-drain.mjs'
import w6 from './w6-exchange.mjs'
import w7 from './w7-busy-host.mjs'
import w8 from './w8-live-children.mjs'
import w9 from './w9-loop-gaps.mjs'
import w10 from './w10-secrets.mjs'
import w11 from './w11-frames.mjs'
import w12 from './w12-growth.mjs'

export const workloads = [w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12]
