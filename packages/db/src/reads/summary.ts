import { DEFAULTS, type JobError, type JobStatus, type JobSummary, type RetryPolicy } from '@oncue/core'
import type { Sql } from '../sql.ts'

/** Columns that both tables have. Payload and result, which may take a megabyte, are not read for a list. */
const SHARED = `n.id as id, n.queue, n.topic, cast(n.status as text) as status, n.priority, coalesce(n.run_at, n.created) as run_at, n.locked_by, n.run, n.retries,
  n.max_retries, n.crashes, n.retry, coalesce(n.timeout_ms, ${DEFAULTS.timeoutMs}) as timeout_ms, n.unique_key, n.concurrency_key, n.concurrency_limit, n.parent_id,
  n.cursor, n.progress, n.last_error, n.trace, n.meta, n.created as created, n.started_at`

export const LIVE_COLUMNS = `${SHARED}, n.visible_at, n.locked_until, n.cancel_at, n.deps_left, n.updated,
  cast(null as timestamptz) as finished_at`

export const FINISHED_COLUMNS = `${SHARED}, cast(null as timestamptz) as visible_at, cast(null as timestamptz) as locked_until,
  cast(null as timestamptz) as cancel_at, 0 as deps_left, n.finished_at as updated, n.finished_at`

/** A row of these columns: times and JSON as the dialect gives them. */
export type SummaryRow = {
  readonly id: string
  readonly queue: string
  readonly topic: string
  readonly status: JobStatus
  readonly priority: number
  readonly run_at: unknown
  readonly locked_by: string | null
  readonly run: number
  readonly retries: number
  readonly max_retries: number
  readonly crashes: number
  readonly retry: unknown
  readonly timeout_ms: number
  readonly unique_key: string | null
  readonly concurrency_key: string | null
  readonly concurrency_limit: number | null
  readonly parent_id: string | null
  readonly cursor: unknown
  readonly progress: unknown
  readonly last_error: unknown
  readonly trace: string | null
  readonly meta: unknown
  readonly created: unknown
  readonly started_at: unknown
  readonly visible_at: unknown
  readonly locked_until: unknown
  readonly cancel_at: unknown
  readonly deps_left: number
  readonly updated: unknown
  readonly finished_at: unknown
}

export function decodeSummary(sql: Sql, row: SummaryRow): JobSummary {
  return {
    id: row.id,
    queue: row.queue,
    topic: row.topic,
    status: row.status,
    priority: row.priority,
    runAt: timeOf(sql, row.run_at),
    visibleAt: sql.time(row.visible_at),
    lockedUntil: sql.time(row.locked_until),
    lockedBy: row.locked_by,
    run: row.run,
    retries: row.retries,
    maxRetries: row.max_retries,
    crashes: row.crashes,
    retry: sql.json(row.retry) as RetryPolicy | null,
    timeoutMs: row.timeout_ms,
    uniqueKey: row.unique_key,
    concurrencyKey: row.concurrency_key,
    concurrencyLimit: row.concurrency_limit,
    cancelAt: sql.time(row.cancel_at),
    parentId: row.parent_id,
    depsLeft: row.deps_left,
    cursor: sql.json(row.cursor),
    progress: sql.json(row.progress),
    lastError: sql.json(row.last_error) as JobError | null,
    trace: row.trace,
    meta: sql.json(row.meta) as JobSummary['meta'],
    created: timeOf(sql, row.created),
    updated: timeOf(sql, row.updated),
    startedAt: sql.time(row.started_at),
    finishedAt: sql.time(row.finished_at),
  }
}

/** A time that is never null. */
export function timeOf(sql: Sql, value: unknown): Date {
  return sql.time(value) ?? new Date(0)
}
