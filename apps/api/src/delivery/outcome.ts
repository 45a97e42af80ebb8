import { isOncueError, retryDelayMs } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import type { ClaimedJob, Settlement } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import { type Answer, Unanswered } from './post.ts'

/** The result of one attempt. Errors are shown to everyone on call, so they quote no response. */
export type Outcome =
  /** For a phone: accepted by Expo. Its receipt says later whether it arrived. */
  | { readonly kind: 'delivered'; readonly receiptId?: string | undefined }
  /** Another attempt may help. */
  | { readonly kind: 'failed'; readonly error: string; readonly retryAfterMs?: number | undefined }
  /** Another attempt will hardly help, unless a person fixes something. */
  | { readonly kind: 'refused'; readonly error: string }
  /** The receiver no longer exists. */
  | { readonly kind: 'gone'; readonly error: string }

/** A refusal may be a deployment in progress; after this many retries it is final. */
const REFUSED_RETRIES = 3
/** However long the receiver asks us to wait. */
const MAX_RETRY_AFTER_MS = 10 * 60_000

/** Server errors, and the statuses that ask for another attempt: timeout, too early, too many requests. */
export function isLater(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status)
}

/** `code` is the one word that some services send beside the status. */
export function outcomeOf({ status, retryAfterMs }: Omit<Answer, 'text'>, code = ''): Outcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  const error = `The receiver returned ${status}${code && ` (${code})`}`
  if (status === 410) return { kind: 'gone', error }
  if (isLater(status)) return { kind: 'failed', error, retryAfterMs }
  const isRedirect = status >= 300 && status < 400
  return { kind: 'refused', error: isRedirect ? `${error}; redirects are not followed` : error }
}

/** For a request without a response. Any other error is thrown on. */
export function outcomeOfSilence(error: unknown): Outcome {
  const cause = error instanceof Unanswered ? error.cause : error
  if (isOncueError(cause, 'ADDRESS_NOT_ALLOWED')) return { kind: 'refused', error: cause.message }
  if (error instanceof Unanswered) return { kind: 'failed', error: error.message }
  throw error
}

export class NotDelivered extends Error {
  override readonly name = 'NotDelivered'
}

/** What an attempt means for the job that made it. */
export function settlementOf(job: ClaimedJob, outcome: Outcome, runtime: Runtime): Settlement {
  const { id, run } = job
  switch (outcome.kind) {
    case 'delivered':
      return { id, run, kind: 'complete' }
    case 'failed':
      return retried(job, new NotDelivered(outcome.error), runtime, outcome.retryAfterMs)
    case 'refused':
      if (job.retries < REFUSED_RETRIES) return retried(job, new NotDelivered(outcome.error), runtime)
      return { id, run, kind: 'fail', error: describeError(new NotDelivered(outcome.error), job.topic) }
    case 'gone':
      return cancelled(job, outcome.error)
  }
}

export function retried(
  { id, run, topic, retry, retries }: ClaimedJob,
  error: unknown,
  { random }: Pick<Runtime, 'random'>,
  retryAfterMs = 0,
): Settlement {
  const policyMs = retryDelayMs(retry, retries + 1, random)
  const delayMs = Math.max(policyMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
  return { id, run, kind: 'retry', delayMs, error: describeError(error, topic) }
}

/** There is no receiver, or nothing left to send. */
export function cancelled({ id, run, topic }: ClaimedJob, why: string): Settlement {
  return { id, run, kind: 'cancel', error: describeError(new NotDelivered(why), topic) }
}
