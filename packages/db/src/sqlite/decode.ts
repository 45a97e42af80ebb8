import type { JobId } from '@oncue/core'
import type { ClaimedJob } from '../store.ts'

/** A row of READY, as better-sqlite3 gives it: times are integers, JSON is text. */
export type ReadyRow = {
  readonly id: JobId
  readonly status: 'pending' | 'processing'
  readonly run: number
  readonly queue: string
  readonly topic: string
  readonly payload: string
  readonly priority: number
  readonly run_at: number
  readonly visible_at: number
  readonly created: number
  readonly retries: number
  readonly max_retries: number
  readonly crashes: number
  readonly retry: string | null
  readonly timeout_ms: number
  readonly parent_id: JobId | null
  readonly cursor: string | null
  readonly trace: string | null
  readonly meta: string | null
  readonly unique_key: string | null
  readonly concurrency_key: string | null
  readonly concurrency_limit: number | null
}

export function claimedJob(row: ReadyRow): ClaimedJob {
  return {
    id: row.id,
    run: row.run + 1,
    queue: row.queue,
    topic: row.topic,
    payload: JSON.parse(row.payload),
    priority: row.priority,
    runAt: new Date(row.run_at),
    created: new Date(row.created),
    retries: row.retries,
    maxRetries: row.max_retries,
    crashes: row.crashes,
    retry: parse(row.retry),
    timeoutMs: row.timeout_ms,
    parentId: row.parent_id,
    cursor: parse(row.cursor),
    trace: row.trace,
    meta: parse(row.meta),
    uniqueKey: row.unique_key,
    concurrencyKey: row.concurrency_key,
  }
}

function parse<T>(json: string | null): T | null {
  return json === null ? null : JSON.parse(json)
}
