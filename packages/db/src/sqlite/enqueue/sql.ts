import { enqueuedColumns } from '../../job-columns.ts'

/** Keys that are held at this moment, and how their jobs are. JSON array of [topic, key], now. */
export const HOLDERS = `SELECT k.topic, k.key, k.job_id, j.status,
  coalesce(j.queue, (SELECT h.queue FROM oncue_history h WHERE h.id = k.job_id)) AS queue FROM json_each(?) AS w
CROSS JOIN oncue_keys k ON k.topic = w.value ->> 0 AND k.key = w.value ->> 1 LEFT JOIN oncue_jobs j ON j.id = k.job_id
WHERE k.until IS NULL OR k.until > ?`

/** How the parents are. A job that is both live and finished was enqueued again: its first end counts. */
export const PARENTS = `SELECT w.value AS id, coalesce(h.status, 'live') AS status FROM json_each(?) AS w
LEFT JOIN oncue_history h ON h.id = w.value LEFT JOIN oncue_jobs j ON j.id = w.value
WHERE h.id IS NOT NULL OR j.id IS NOT NULL`

/**
 * `checked` from the start: on Postgres an edge may be written while its parent ends, and is looked
 * at once more; here there is one writer at a time.
 */
export const INSERT_EDGES = `INSERT INTO oncue_deps (job_id, parent_id, policy, checked)
SELECT value ->> 0, value ->> 1, value ->> 2, 1 FROM json_each(?)`

/** JSON array of [topic, key, job, until]. */
export const INSERT_KEYS = `INSERT INTO oncue_keys (topic, key, job_id, until)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?) WHERE true
ON CONFLICT (topic, key) DO UPDATE SET job_id = excluded.job_id, until = excluded.until`

/** JSON array of [topic, key]. */
export const DROP_KEYS = `DELETE FROM oncue_keys WHERE (topic, key) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`

/** This run is its last, however it ends. New job, now, running job. */
export const SUPERSEDE = `UPDATE oncue_jobs SET replaced_by = ?, updated = ? WHERE id = ?`

const REPLACED = enqueuedColumns('replace').map(({ name }) => name)

/**
 * A job that is blocked stays so. One that is held back by a full concurrency key stays so only if it is due: whoever
 * frees a slot does not look. The columns that are replaced, due, now, due, now, due, id.
 */
export const REPLACE = `UPDATE oncue_jobs SET ${REPLACED.map((name) => `${name} = ?`).join(', ')}, run_at = ?, updated = ?,
  visible_at = CASE WHEN status = 'blocked' OR visible_at IS NULL AND ? <= ? THEN NULL ELSE ? END
WHERE id = ?`
export const DROP_PAYLOAD = `DELETE FROM oncue_payloads WHERE job_id = ? AND part = 'payload'`

const ENQUEUED = enqueuedColumns().map(({ name }) => name)

/** The columns of a new job, run_at, created, finished_at, status, error, fingerprint. */
export const INSERT_ENDED = `INSERT INTO oncue_history (${ENQUEUED.join(', ')}, run_at, created, finished_at, status, last_error,
  fingerprint, run, retries, crashes)
VALUES (${ENQUEUED.map(() => '?').join(', ')}, ?, ?, ?, ?, ?, ?, 0, 0, 0)
ON CONFLICT (id) DO NOTHING`
