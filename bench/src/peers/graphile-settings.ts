import { CONCURRENCY } from './shapes.ts'

/**
 * Its performance page with batching, and what is faster on two cores: twice its `localQueue.size` of 500, and a
 * refetch delay of 10 ms instead of 100. `bench worker` uses the same.
 */
export const GRAPHILE_SETTINGS = {
  concurrentJobs: CONCURRENCY,
  maxPoolSize: CONCURRENCY + 1,
  localQueue: { size: 1_000, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
