import { columnNames, jobColumns } from '../job-columns.ts'

/**
 * The statements of the hot path. Values go by position: a named one costs 0.1 µs more each.
 * Those of rarer things are in enqueue/sql.ts, sql-limits.ts, sql-ends.ts and sql-actions.ts.
 */

// --- claim

export const QUEUE = `SELECT paused_at, ageing_ms FROM oncue_queues WHERE name = ?`

/** The next lower priority of a queue: stepping over distinct priorities instead of walking their jobs. */
export const NEXT_PRIORITY = `SELECT priority FROM oncue_jobs INDEXED BY oncue_jobs_ready
WHERE queue = ? AND visible_at IS NOT NULL AND priority < ? ORDER BY priority DESC LIMIT 1`

/** As before, and since when the first of its jobs has waited. */
export const NEXT_WAITING = `SELECT priority, visible_at FROM oncue_jobs INDEXED BY oncue_jobs_ready
WHERE queue = ? AND visible_at IS NOT NULL AND priority < ? AND status = 'pending' ORDER BY priority DESC, visible_at LIMIT 1`

const CLAIMED = jobColumns('claim').map(({ name, big }) =>
  big
    ? `coalesce(j.${name}, (SELECT data FROM oncue_payloads p WHERE p.job_id = j.id AND p.part = '${big}')) AS ${name}`
    : `j.${name}`,
)
const EXTRAS = jobColumns('extras')
const EXTRA_ENTRIES = EXTRAS.map(({ name, field, type }) =>
  type === 'json' || type === 'jsonb' ? `'${field}', json(j.${name})` : `'${field}', j.${name}`,
)

/** The last columns are for limits. Queue, priority, due until, now, topics, topics, limit. */
export const READY = `SELECT ${CLAIMED.join(', ')},
  CASE WHEN coalesce(${EXTRAS.map(({ name }) => `j.${name}`).join(', ')}) IS NOT NULL
    THEN json_object(${EXTRA_ENTRIES.join(', ')}) END AS extras,
  j.status, j.concurrency_key, j.concurrency_limit
FROM oncue_jobs j INDEXED BY oncue_jobs_ready
WHERE j.queue = ? AND j.priority = ? AND j.visible_at <= ? AND (j.locked_until IS NULL OR j.locked_until < ?)
  AND (? IS NULL OR j.topic IN (SELECT value FROM json_each(?)))
ORDER BY j.visible_at, j.id LIMIT ?`

export const NEXT_DUE = `SELECT visible_at FROM oncue_jobs INDEXED BY oncue_jobs_ready
WHERE queue = ? AND priority = ? AND visible_at > ? ORDER BY visible_at LIMIT 1`

/** Until, worker, started at, JSON array of ids. */
export const CLAIM = `UPDATE oncue_jobs SET status = 'processing', locked_until = ?, locked_by = ?, run = run + 1, started_at = ?
WHERE id IN (SELECT value FROM json_each(?))`

// --- settle

const KEPT = columnNames('history').join(', ')
const KEPT_VALUES = jobColumns('history')
  .map(({ name, stored }) => stored ?? name)
  .join(', ')

/** A row of jobs as a row of history, but for what its end says of it. */
export const keepJob = (columns: string, values: string) =>
  `INSERT INTO oncue_history (${KEPT}, ${columns}) SELECT ${KEPT_VALUES}, ${values}`

/*
 * Completions go by the batch: one statement for 500 jobs takes 7 µs a job where one for each took 11,
 * of which half was the way from JavaScript to SQLite and back. Rows are written to history first and
 * deleted after.
 */

/** What the statistics and keys want to know of runs that complete. JSON array of ids. */
export const COMPLETING = `SELECT j.id, j.run, j.locked_by, j.queue, j.topic, j.run_at, j.started_at, j.unique_key
FROM json_each(?) AS w CROSS JOIN oncue_jobs j ON j.id = w.value WHERE j.status = 'processing'`

const COMPLETED = keepJob(
  'locked_by, crashes, last_error, fingerprint, started_at, finished_at, status, result',
  `locked_by, crashes, last_error, fingerprint, coalesce(started_at, ?), ?, 'completed'`,
)

/** Now, now, JSON array of ids. */
export const COMPLETE = `${COMPLETED}, NULL FROM oncue_jobs WHERE id IN (SELECT value FROM json_each(?))`

/** Now, now, JSON array of [id, result]. */
export const COMPLETE_WITH_RESULT = `${COMPLETED}, w.returned
FROM (SELECT value ->> 0 AS job, value ->> 1 AS returned FROM json_each(?)) AS w CROSS JOIN oncue_jobs ON id = w.job`

/** A job that was enqueued again after it had finished keeps its first record. Now, now, result, id. */
export const COMPLETE_ONE = `${COMPLETED}, ? FROM oncue_jobs WHERE id = ? ON CONFLICT (id) DO NOTHING`

export const REMOVE_ALL = `DELETE FROM oncue_jobs WHERE id IN (SELECT value FROM json_each(?))`

/** A run that ended otherwise. Crashed, error, fingerprint, now, now, status, id, run. */
export const FINISH = `${keepJob(
  'locked_by, crashes, last_error, fingerprint, started_at, finished_at, status',
  'locked_by, crashes + ?, coalesce(?, last_error), coalesce(?, fingerprint), coalesce(started_at, ?), ?, ?',
)}
FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing' ON CONFLICT (id) DO NOTHING`

/** What is to be known about a run before it ends otherwise. Id, run. */
export const CURRENT = `SELECT id, run, queue, topic, run_at, started_at, locked_by, retries, max_retries, crashes, unique_key,
  cancel_at, replaced_by FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing'`

export const REMOVE = `DELETE FROM oncue_jobs WHERE id = ?`

export const KEEP_RESULT = `INSERT OR REPLACE INTO oncue_payloads (job_id, part, data) VALUES (?, 'result', ?)`

/** Now, charged, crashed, run_at, visible_at, error, fingerprint, id. */
export const PUT_BACK = `UPDATE oncue_jobs SET status = 'pending', locked_until = NULL, locked_by = NULL, started_at = NULL,
  cancel_at = NULL, updated = ?, retries = retries + ?, crashes = crashes + ?, run_at = coalesce(?, run_at), visible_at = ?,
  last_error = coalesce(?, last_error), fingerprint = coalesce(?, fingerprint)
WHERE id = ?`

/** Id, run, worker, worker: null for any. */
export const IS_COMPLETED = `SELECT 1 AS yes FROM oncue_history
WHERE id = ? AND run = ? AND status = 'completed' AND (? IS NULL OR locked_by = ?)`

// --- lease

/** Until, until, now, started, now, id, run, worker. Answers a row if the run is still there. */
export const BEAT = `UPDATE oncue_jobs SET locked_until = ?, visible_at = ?, updated = ?,
  started_at = CASE WHEN ? THEN coalesce(started_at, ?) ELSE started_at END
WHERE id = ? AND run = ? AND locked_by = ? AND status = 'processing' RETURNING cancel_at`

export const BEAT_WORKER = `UPDATE oncue_workers SET last_beat = ? WHERE id = ?`

/** Worker, not since. */
export const NEEDS_BEAT = `SELECT 1 AS yes FROM oncue_workers WHERE id = ? AND last_beat <= ?`

/** Progress, cursor, now, id, run, worker, worker (null for any). Answers a row if the run is still there. */
export const NOTE = `UPDATE oncue_jobs SET progress = coalesce(?, progress), cursor = coalesce(?, cursor), updated = ?
WHERE id = ? AND run = ? AND (? IS NULL OR locked_by = ?) AND status = 'processing' RETURNING id`

export const RUNS_OF = `SELECT id, run FROM oncue_jobs WHERE locked_by = ?`

export const ATTEND = `INSERT INTO oncue_workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET presence = excluded.presence, missing_since = NULL, last_beat = excluded.last_beat`

export const WORKERS = `SELECT id, presence FROM oncue_workers WHERE presence IS NOT NULL`
export const LEAVE = `DELETE FROM oncue_workers WHERE id = ?`

/** Returns a row to the leader. Name, by, until, now, and until + term: later ends are from before the clock was set back. */
export const LEAD = `INSERT INTO oncue_leaders AS l (name, held_by, until) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET held_by = excluded.held_by, until = excluded.until
WHERE l.held_by = excluded.held_by OR l.until <= ? OR l.until > ? RETURNING 1 AS yes`
export const STEP_DOWN = `DELETE FROM oncue_leaders WHERE name = ? AND held_by = ?`
export const STEP_DOWN_DEAD = `DELETE FROM oncue_leaders WHERE held_by = ?`

// --- whether there is anything of a kind at all: asked once a batch, so that plain jobs pay for nothing else

export const ANY_DEPS = `SELECT 1 AS yes FROM oncue_deps LIMIT 1`
export const ANY_SLOT_RUNS = `SELECT 1 AS yes FROM oncue_slot_runs LIMIT 1`
