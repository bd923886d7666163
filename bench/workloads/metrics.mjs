// The metrics that more than one workload has; goals are added where they are used.
export const wallUs = { unit: 'µs', better: 'less', label: 'start to end, median' }
export const wallP99Us = { unit: 'µs', better: 'less', label: 'start to end, 99 of 100' }
export const blockedUs = { unit: 'µs', better: 'less', label: 'JavaScript blocked by the call' }
export const cpuUs = { unit: 'µs', better: 'less', label: "host's CPU for one start and end" }
export const perSecond = { unit: '1/s', better: 'more', label: 'starts' }
export const gbPerSecond = { unit: 'GB/s', better: 'more', label: 'drained' }
export const cpuPerGb = { unit: 's/GB', better: 'less', label: "host's CPU" }

export const withGoals = (metric, ...goals) => ({ ...metric, goals })

export const CHILD_PROCESS = 'child_process'
export const BUN = 'Bun.spawn'
