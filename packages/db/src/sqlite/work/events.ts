import type { JobId } from '@oncue/core'
import * as sql from '../sql-ends.ts'
import type { Statements } from './statements.ts'

/** Appends to the stream of a job what its row cannot tell. */
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

/** For what may happen to a job any number of times. */
export function appendFew(
  statements: Statements,
  jobId: JobId,
  type: string,
  data: object,
  now: number,
): void {
  statements.run(sql.APPEND_FEW, type, JSON.stringify(data), now, jobId)
}

/** Of a run that is over and whose job goes on. */
export function runData(run: { run: number; locked_by: string; started_at: number | null }) {
  const startedAt = run.started_at === null ? null : new Date(run.started_at).toISOString()
  return { run: run.run, worker: run.locked_by, startedAt }
}
