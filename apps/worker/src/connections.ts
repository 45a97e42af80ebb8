import type { OpenOptions } from '@oncue/db'
import type { WorkerOptions } from './options.ts'

/** One shows that the worker lives, and one listens. */
const APART = 2
/** The lease thread sends heartbeats over these. */
const OF_THREAD = 2
export const LEAST_CONNECTIONS = APART + 1

/** How a worker keeps to a number of connections: with fewer than six it has no lease thread. */
export function shareConnections(
  connections: number | undefined,
): Pick<OpenOptions, 'poolSize'> & Pick<WorkerOptions, 'lease'> {
  if (connections === undefined) return {}
  const left = connections - APART
  const hasThread = left > OF_THREAD + 1
  return hasThread ? { poolSize: left - OF_THREAD } : { poolSize: left, lease: 'inline' }
}
