import { decideRetry, retriesOfUndoing } from '@oncue/core/internal'
import type { ClaimedJob, RunRef, Settled, Settlement } from '@oncue/db'
import type { Logger } from '@oncue/runtime'
import { isUndoing } from '../run/durable/undo.ts'

/** The fields of every log line about a run. */
export function fieldsOf({ id, topic, run }: ClaimedJob): { job: string; topic: string; run: number } {
  return { job: id, topic, run }
}

/** Logs an end that was written: failures loudly, everything else at `debug`. */
export function reportEnd(log: Logger, job: ClaimedJob, settlement: Settlement): void {
  const { id, topic, run } = job
  if (settlement.kind === 'fail') {
    log.error({ job: id, topic, run, error: settlement.error }, 'job failed permanently')
  } else if (settlement.kind === 'retry') {
    const { error, delayMs } = settlement
    log.warn({ job: id, topic, run, error, delayMs }, 'run failed; will retry')
  } else {
    log.debug({ job: id, topic, run, outcome: settlement.kind }, 'run ended')
  }
}

/** The end as the store recorded it; undefined: nothing was written. The store decides by the same rule which retry is the last. */
export function asWritten(
  job: ClaimedJob,
  settlement: Settlement,
  { stale, cancelled = [], undoing = [], refused }: Settled,
): Settlement | undefined {
  const { id, run } = settlement
  const isThis = (ref: RunRef) => ref.id === id && ref.run === run
  if (stale.length > 0 && stale.some(isThis)) return undefined
  const refusal = refused.length > 0 ? refused.find(isThis) : undefined
  if (refusal) return refusal.error && { id, run, kind: 'fail', error: refusal.error }
  const error = 'error' in settlement ? settlement.error : undefined
  if (cancelled.length > 0 && cancelled.some(isThis)) return { id, run, kind: 'cancel', error }
  if (undoing.length > 0 && undoing.some(isThis))
    return error ? { id, run, kind: 'retry', delayMs: 0, error } : { id, run, kind: 'release' }
  if (settlement.kind === 'undone') return endOf(settlement, job)
  const most = isUndoing(job) ? retriesOfUndoing(job.maxRetries) : job.maxRetries
  const isLast = settlement.kind === 'retry' && decideRetry(job.retries, most) === 'fail'
  return isLast ? { id, run, kind: 'fail', error: settlement.error } : settlement
}

/** How an undone job had to end. One that failed has an error. */
function endOf({ id, run }: RunRef, { ending }: ClaimedJob): Settlement {
  const { status, error } = ending ?? {}
  return status === 'failed' && error ? { id, run, kind: 'fail', error } : { id, run, kind: 'cancel', error }
}
