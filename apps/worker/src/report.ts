import { decideRetry } from '@oncue/core'
import type { ClaimedJob, Settlement } from '@oncue/db'
import type { Logger } from './log.ts'

/** By which a line about a run is found again. */
export function fieldsOf({ id, topic, run }: ClaimedJob): { job: string; topic: string; run: number } {
  return { job: id, topic, run }
}

/** One line for each run: what went wrong loudly, what went well only for those who debug. */
export function reportEnd(log: Logger, job: ClaimedJob, settlement: Settlement | null): void {
  const fields = fieldsOf(job)
  if (!settlement) {
    log.warn(fields, 'the run lost its job: nothing of it is written')
  } else if (settlement.kind === 'fail') {
    log.error({ ...fields, error: settlement.error }, 'the job failed for good')
  } else if (settlement.kind !== 'retry') {
    log.debug({ ...fields, outcome: settlement.kind }, 'the run ended')
  } else if (decideRetry(job.retries, job.maxRetries) === 'fail') {
    log.error({ ...fields, error: settlement.error }, 'the job failed: no retries are left')
  } else {
    const { error, delayMs } = settlement
    log.warn({ ...fields, error, delayMs }, 'the run failed and will be retried')
  }
}
