import type { OperationRow } from '@oncue/db'

/** What is spread comes in drops of this distance, or job by job. */
const DROP_MS = 1_000

/** How much time each job has, and how many of them a batch takes; the store has its own limit. */
export function batchRate({ spreadMs, total }: Pick<OperationRow, 'spreadMs' | 'total'>): {
  readonly msPerJob: number
  readonly limit: number
} {
  const msPerJob = total === 0 ? 0 : spreadMs / total
  return { msPerJob, limit: Math.ceil(DROP_MS / msPerJob) }
}
