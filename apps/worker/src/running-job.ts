import type { RunningJob } from '@oncue/core'
import type { ClaimedJob } from '@oncue/db'

/** The job as its handler sees it. `payload` is what the schema made of it. */
export function toRunningJob(job: ClaimedJob, payload: unknown): RunningJob {
  return {
    id: job.id,
    queue: job.queue,
    topic: job.topic,
    payload,
    priority: job.priority,
    runAt: job.runAt,
    run: job.run,
    retries: job.retries,
    maxRetries: job.maxRetries,
    crashes: job.crashes,
    timeoutMs: job.timeoutMs,
    parentId: job.parentId,
    cursor: job.cursor,
    trace: job.trace,
    meta: job.meta,
    created: job.created,
  }
}
