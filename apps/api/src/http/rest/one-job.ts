import { type ErrorCode, type JobId, OncueError } from '@oncue/core'
import type { ActionReport } from '@oncue/db'
import type { ResponseTools } from './route.ts'

/** A job in short, as it is now. */
export async function ticketOf(id: JobId | undefined, glance: ResponseTools['glance']) {
  const job = id === undefined ? undefined : await glance(id)
  if (!id || !job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
  const { topic, status, runAt, created } = job
  return { id, topic, status, run_at: runAt, created }
}

/** An action on one job that did nothing is an error: the caller named it, and wants to know why. */
export function refuseUndone(done: string, allowed: string) {
  return async (report: ActionReport, { params, glance }: ResponseTools): Promise<void> => {
    if (report.done > 0) return
    const { id = '' } = params
    const [reason = 'JOB_NOT_FOUND'] = Object.keys(report.skipped)
    const status = (await glance(id))?.status
    if (reason === 'JOB_NOT_FOUND' || !status) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
    const message = `Job ${id} is ${status} and was not ${done}: ${REASONS[reason]?.why ?? allowed}`
    throw new OncueError(REASONS[reason]?.code ?? 'INVALID_STATE', message, { details: { status, reason } })
  }
}

/** What else can keep an action from being done; the rest is the status. */
const REASONS: Readonly<Record<string, { readonly code: ErrorCode; readonly why: string } | undefined>> = {
  UNIQUE_KEY_LIVE: { code: 'UNIQUE_KEY_LIVE', why: 'another job holds its unique key' },
  FORBIDDEN: { code: 'FORBIDDEN', why: "only an admin may take away Oncue's own jobs" },
  HAS_DEPENDANTS: { code: 'INVALID_STATE', why: 'other jobs wait for it' },
  CHANGED: { code: 'INVALID_STATE', why: 'it has just changed' },
  BUSY: { code: 'DATABASE_BUSY', why: 'it is being claimed or settled' },
}
