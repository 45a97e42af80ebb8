import { retryDelayMs } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import type { ClaimedJob, Settlement } from '@oncue/db'
import type { Outcome } from './outcome.ts'

/** A refusal may be a deployment in progress; after these it is meant. */
const REFUSED_RETRIES = 3
/** However long the other side asks for. */
const MAX_RETRY_AFTER_MS = 10 * 60_000

export class NotDelivered extends Error {
  override readonly name = 'NotDelivered'
}

/** What an attempt means for the job that made it. */
export function settlementOf(job: ClaimedJob, outcome: Outcome): Settlement {
  const { id, run } = job
  switch (outcome.kind) {
    case 'delivered':
      return { id, run, kind: 'complete' }
    case 'failed':
      return retried(job, new NotDelivered(outcome.error), outcome.retryAfterMs)
    case 'refused':
      if (job.retries < REFUSED_RETRIES) return retried(job, new NotDelivered(outcome.error))
      return { id, run, kind: 'fail', error: describeError(new NotDelivered(outcome.error), job.topic) }
    case 'gone':
      return cancelled(job, outcome.error)
  }
}

export function retried(job: ClaimedJob, error: unknown, retryAfterMs = 0): Settlement {
  const { id, run, topic, retry, retries } = job
  const delayMs = Math.max(retryDelayMs(retry, retries + 1), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
  return { id, run, kind: 'retry', delayMs, error: describeError(error, topic) }
}

/** There is nobody to tell, or nothing any more. */
export function cancelled({ id, run, topic }: ClaimedJob, why: string): Settlement {
  return { id, run, kind: 'cancel', error: describeError(new NotDelivered(why), topic) }
}
