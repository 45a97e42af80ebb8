import { type ErrorCode, OncueError } from '@oncue/core'
import type { ClaimedJob } from '@oncue/db'

/** Why a run is aborted. */
export type AbortReason = 'timeout' | 'cancelled' | 'shutdown' | 'lost'

const CODES = {
  timeout: 'JOB_TIMEOUT',
  cancelled: 'JOB_CANCELLED',
  shutdown: 'WORKER_STOPPING',
  lost: 'STALE_RUN',
} as const satisfies Record<AbortReason, ErrorCode>

const MESSAGES: Record<AbortReason, (job: Pick<ClaimedJob, 'run' | 'timeoutMs'>) => string> = {
  timeout: ({ timeoutMs }) => `the run took longer than its timeout of ${timeoutMs} ms`,
  cancelled: () => 'the job was cancelled while it ran',
  shutdown: () => 'the worker is stopping; the job was released',
  lost: ({ run }) => `run ${run} lost its lease: it expired, or the job was taken from it`,
}

/** What `ctx.signal.reason` is. */
export function toAbortError(reason: AbortReason, job: Pick<ClaimedJob, 'run' | 'timeoutMs'>): OncueError {
  return new OncueError(CODES[reason], MESSAGES[reason](job))
}

/** More than any real chain of causes; also ends a circular one. */
const MAX_LINKS = 10

/**
 * Whether an error only says that the run was aborted: it is the signal's reason (compared by its code, since it
 * may come from another process), or what Node and the web platform throw when a signal aborts.
 */
export function isAbort(error: unknown, reason: AbortReason): boolean {
  let link = error
  for (let depth = 0; depth < MAX_LINKS && typeof link === 'object' && link !== null; depth++) {
    const { name, code, cause } = link as { name?: unknown; code?: unknown; cause?: unknown }
    if (name === 'AbortError' || (name === 'OncueError' && code === CODES[reason])) return true
    link = cause
  }
  return false
}
