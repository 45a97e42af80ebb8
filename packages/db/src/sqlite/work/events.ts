import type { JobId } from '@oncue/core'
import * as sql from '../sql.ts'
import type { Statements } from './statements.ts'

/** Appends to the stream of a job what its row cannot show. */
export function appendEvent(
  statements: Statements,
  jobId: JobId,
  type: string,
  data: object,
  now: number,
): void {
  appendText(statements, jobId, type, JSON.stringify(data), now)
}

/** The same with data that is JSON text already. */
export function appendText(
  statements: Statements,
  jobId: JobId,
  type: string,
  data: string | null,
  now: number,
): void {
  statements.run(sql.APPEND_EVENT, jobId, jobId, type, data, now)
}

/** For events that may happen to a job any number of times. */
export function appendFew(
  statements: Statements,
  jobId: JobId,
  type: string,
  data: object,
  now: number,
): void {
  statements.run(sql.APPEND_FEW, type, JSON.stringify(data), now, jobId)
}

/**
 * For a run that is over and whose job continues. A prefetched run that ended before its first heartbeat has no
 * recorded start, and was short.
 */
export function runData(run: { run: number; locked_by: string; started_at: number | null }, now: number) {
  const startedAt = new Date(run.started_at ?? now).toISOString()
  return { run: run.run, worker: run.locked_by, startedAt }
}
