import type { NewJob } from '@oncue/core'
import { isInline } from '../inline.ts'
import type { Statement } from '../transaction.ts'

/** How many jobs one insert carries: 17 values each, of SQLite's 32 766. */
export const ENQUEUE_CHUNK = 1_000

const ROW = `(${Array(17).fill('?').join(', ')}, 'pending')`
const INSERT = `INSERT INTO oncue_jobs (created, updated, run_at, visible_at, id, queue, topic, payload, priority, max_retries,
  timeout_ms, retry, unique_key, concurrency_key, parent_id, trace, meta, status) VALUES `

/** One insert for a chunk of jobs, and one for those of their payloads that are not kept inline. */
export function enqueue(jobs: readonly NewJob[], now: number): Statement[] {
  const values: unknown[] = []
  const big = jobs.filter((job) => !isInline(job.payload))
  for (const job of jobs) {
    const runAt = job.runAt?.getTime() ?? now + job.delayMs
    values.push(
      now,
      now,
      runAt,
      runAt,
      job.id,
      job.queue,
      job.topic,
      isInline(job.payload) ? job.payload : null,
    )
    values.push(job.priority, job.maxRetries, job.timeoutMs, job.retry ? JSON.stringify(job.retry) : null)
    values.push(job.uniqueKey, job.concurrencyKey, job.parentId, job.trace, job.meta)
  }
  const insert = { text: INSERT + Array(jobs.length).fill(ROW).join(', '), values }
  if (big.length === 0) return [insert]
  return [
    insert,
    {
      text: `INSERT INTO oncue_payloads (job_id, part, data) VALUES ${Array(big.length).fill(`(?, 'payload', ?)`).join(', ')}`,
      values: big.flatMap((job) => [job.id, job.payload]),
    },
  ]
}

/** The next lower priority of a queue: stepping over distinct priorities instead of walking their jobs. */
export const NEXT_PRIORITY = `SELECT priority FROM oncue_jobs INDEXED BY oncue_jobs_ready
WHERE queue = ? AND visible_at IS NOT NULL AND priority < ? ORDER BY priority DESC LIMIT 1`

/** Its columns are ReadyRow. What most jobs do not have comes as one, null when there is nothing. */
const READY_OF_ANY_TOPIC = `SELECT j.id, j.status, j.run, j.topic,
  coalesce(j.payload, (SELECT data FROM oncue_payloads p WHERE p.job_id = j.id AND p.part = 'payload')),
  j.run_at, j.created, j.retries, j.max_retries, j.crashes, j.timeout_ms,
  CASE WHEN coalesce(j.retry, j.parent_id, j.cursor, j.trace, j.meta, j.unique_key, j.concurrency_key) IS NOT NULL THEN
    json_object('retry', json(j.retry), 'parentId', j.parent_id, 'cursor', json(j.cursor), 'trace', j.trace,
      'meta', json(j.meta), 'uniqueKey', j.unique_key, 'concurrencyKey', j.concurrency_key) END
FROM oncue_jobs j INDEXED BY oncue_jobs_ready
WHERE j.queue = @queue AND j.priority = @priority AND j.visible_at <= @now
  AND (j.locked_until IS NULL OR j.locked_until < @now)`
const READY_ORDER = `
ORDER BY j.visible_at, j.id LIMIT @limit`

export const READY = READY_OF_ANY_TOPIC + READY_ORDER
export const READY_OF_TOPICS = `${READY_OF_ANY_TOPIC}
  AND j.topic IN (SELECT value FROM json_each(@topics))${READY_ORDER}`

export const NEXT_DUE = `SELECT visible_at FROM oncue_jobs INDEXED BY oncue_jobs_ready
WHERE queue = ? AND priority = ? AND visible_at > ? ORDER BY visible_at LIMIT 1`

export const CLAIM = `UPDATE oncue_jobs SET status = 'processing', locked_until = ?, locked_by = ?, run = run + 1, updated = ?, started_at = ?
WHERE id = ?`

const KEPT = `id, run_at, created, locked_by, run, timeout_ms, priority, retries, max_retries, queue, topic, payload, retry,
  unique_key, concurrency_key, parent_id, cursor, progress, trace, meta`

/**
 * Values: crashed, now, now, status, result, error, fingerprint, id, run (named ones cost 0.8 µs more).
 * The row is written to history first and deleted after: both fenced by (id, run). A job that was
 * enqueued again after it had finished keeps its first record.
 */
export const FINISH = `INSERT INTO oncue_history (${KEPT}, crashes, started_at, finished_at, status, result, last_error, fingerprint)
SELECT ${KEPT}, crashes + ?, coalesce(started_at, ?), ?, ?, ?, coalesce(?, last_error), coalesce(?, fingerprint)
FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing' ON CONFLICT (id) DO NOTHING`

export const REMOVE = `DELETE FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing'`

export const KEEP_RESULT = `INSERT OR REPLACE INTO oncue_payloads (job_id, part, data) VALUES (?, 'result', ?)`

export const HAS_RETRIES = `SELECT retries < max_retries AS yes FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing'`

export const PUT_BACK = `UPDATE oncue_jobs SET status = 'pending', locked_until = NULL, locked_by = NULL, started_at = NULL, updated = @now,
  retries = retries + @charged, crashes = crashes + @crashed, run_at = coalesce(@runAt, run_at), visible_at = @visibleAt,
  last_error = coalesce(@error, last_error), fingerprint = coalesce(@fingerprint, fingerprint)
WHERE id = @id AND run = @run AND status = 'processing'`

export const IS_COMPLETED = `SELECT 1 FROM oncue_history WHERE id = ? AND run = ? AND status = 'completed'`

export const BEAT = `UPDATE oncue_jobs SET locked_until = @until, visible_at = @until, updated = @now,
  started_at = CASE WHEN @started THEN coalesce(started_at, @now) ELSE started_at END
WHERE id = @id AND run = @run AND status = 'processing'`

export const BEAT_WORKER = `UPDATE oncue_workers SET last_beat = ? WHERE id = ?`

export const RUNS_OF = `SELECT id, run, started_at, crashes, max_retries, topic FROM oncue_jobs WHERE locked_by = ?`
export const RUN_OF_JOB = `SELECT id, run, started_at, crashes, max_retries, topic FROM oncue_jobs WHERE id = ?`

export const ATTEND = `INSERT INTO oncue_workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET presence = excluded.presence, missing_since = NULL, last_beat = excluded.last_beat`

export const WORKERS = `SELECT id, presence FROM oncue_workers WHERE presence IS NOT NULL`
export const LEAVE = `DELETE FROM oncue_workers WHERE id = ?`

const MOVED = `id, created, timeout_ms, priority, max_retries, queue, topic, payload, retry, unique_key, concurrency_key, parent_id,
  cursor, progress, last_error, fingerprint, trace, meta, run`

/** The run number is kept, so that an old run stays stale. */
export const REQUEUE = `INSERT INTO oncue_jobs (updated, status, run_at, visible_at, ${MOVED})
SELECT @now, 'pending', @now, @now, ${MOVED} FROM oncue_history WHERE id = @id`
export const FORGET = `DELETE FROM oncue_history WHERE id = ?`
export const FORGET_RESULT = `DELETE FROM oncue_payloads WHERE job_id = ? AND part = 'result'`
