import type { RunningJob } from '@oncue/core'
import type { ClaimedJob } from '@oncue/db'

/** The job as its handler sees it. `payload` is what the schema made of it. */
export function toRunningJob(claimed: ClaimedJob, payload: unknown): RunningJob {
  const { retry, visibleAt, uniqueKey, concurrencyKey, ...job } = claimed
  return { ...job, payload }
}
