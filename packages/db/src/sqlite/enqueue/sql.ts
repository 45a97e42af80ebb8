/** Keys that are held at this moment, and whether their jobs have begun. JSON array of keys, now. */
export const HOLDERS = `SELECT k.key, k.job_id, j.status FROM json_each(?) AS w
JOIN oncue_keys k ON k.key = w.value LEFT JOIN oncue_jobs j ON j.id = k.job_id
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

export const INSERT_KEYS = `INSERT INTO oncue_keys (key, job_id, until)
SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true
ON CONFLICT (key) DO UPDATE SET job_id = excluded.job_id, until = excluded.until`

export const DROP_KEYS = `DELETE FROM oncue_keys WHERE key IN (SELECT value FROM json_each(?))`

/** A job that is blocked or held back stays so. */
export const REPLACE = `UPDATE oncue_jobs SET payload = ?, priority = ?, run_at = ?, updated = ?, meta = ?, trace = ?,
  visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE ? END
WHERE id = ?`
export const DROP_PAYLOAD = `DELETE FROM oncue_payloads WHERE job_id = ? AND part = 'payload'`

export const INSERT_ENDED = `INSERT INTO oncue_history (id, run_at, created, finished_at, status, timeout_ms, priority, max_retries,
  queue, topic, payload, retry, unique_key, concurrency_key, concurrency_limit, parent_id, trace, meta, last_error, fingerprint,
  run, retries, crashes)
VALUES (${Array(20).fill('?').join(', ')}, 0, 0, 0)
ON CONFLICT (id) DO NOTHING`
