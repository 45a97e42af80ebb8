/** The statements about outcomes and suspended jobs. Values go by position. */

/** Those after `seq`. Job, seq. */
export const RECORDED = `SELECT key, seq, kind, name, data FROM oncue_outcomes
WHERE job_id = ? AND seq > ? ORDER BY seq`

/** Id, run, worker, worker: null for any. */
export const OWNED = `SELECT 1 AS yes FROM oncue_jobs
WHERE id = ? AND run = ? AND status = 'processing' AND (? IS NULL OR locked_by = ?)`

/** The first record of a key stands. Job, key, job, kind, name, data, now. */
export const RECORD = `INSERT INTO oncue_outcomes (job_id, key, seq, kind, name, data, created)
SELECT ?, ?, 1 + coalesce((SELECT max(seq) FROM oncue_outcomes WHERE job_id = ?), 0), ?, ?, ?, ? WHERE true
ON CONFLICT DO NOTHING`

/** Job, name, after. */
export const HAS_SIGNAL = `SELECT 1 AS yes FROM oncue_outcomes
WHERE job_id = ? AND kind = 'signal' AND name = ? AND seq > ? LIMIT 1`

/** Job, key. */
export const OUTCOME = `SELECT data FROM oncue_outcomes WHERE job_id = ? AND key = ?`

/** Status, run at, visible at, waits, now, progressed, progressed, error, retrying, fingerprint, id. */
export const SUSPEND = `UPDATE oncue_jobs SET status = ?, run_at = ?, visible_at = ?, waits = ?, updated = ?,
  retries = CASE WHEN ? THEN 0 ELSE retries END, crashes = CASE WHEN ? THEN 0 ELSE crashes END,
  locked_until = NULL, locked_by = NULL, started_at = NULL,
  last_error = coalesce(?, last_error), fingerprint = CASE WHEN ? THEN coalesce(?, fingerprint) END
WHERE id = ?`

/** A live job first, with how many signals it keeps. Id, id, id. */
export const RECEIVER = `SELECT topic, 1 AS live,
  EXISTS (SELECT 1 FROM oncue_outcomes WHERE job_id = ? AND key = ?) AS known,
  (SELECT count(*) FROM oncue_outcomes WHERE job_id = ? AND kind = 'signal') AS signals FROM oncue_jobs WHERE id = ?
UNION ALL SELECT topic, 0, EXISTS (SELECT 1 FROM oncue_outcomes WHERE job_id = ? AND key = ?), 0
  FROM oncue_history WHERE id = ? ORDER BY live DESC LIMIT 1`

/**
 * Resumes a suspended job that waits for a signal or an answer which is recorded, or for children whose end is. A throttled job is left alone: it is due, and waits
 * for a slot. Now, now, now, id, now.
 */
export const WAKE = `UPDATE oncue_jobs AS j SET status = 'pending', run_at = ?, visible_at = ?, updated = ?, waits = '{"for":[]}'
WHERE j.id = ? AND j.waits IS NOT NULL AND (j.status = 'blocked' OR j.status = 'pending' AND j.visible_at > ?)
  AND EXISTS (SELECT 1 FROM json_each(j.waits, '$.for') w JOIN oncue_outcomes o ON o.job_id = j.id AND (
    w.value ->> 'kind' = 'signal' AND o.kind = 'signal' AND o.name = w.value ->> 'name' AND o.seq > (w.value ->> 'after')
    OR w.value ->> 'kind' = 'ask' AND o.kind = 'answer' AND o.name = w.value ->> 'name'
    OR w.value ->> 'kind' = 'children' AND o.key = w.value ->> 'key'))`

/** What a requeued job does not keep. JSON array of ids. */
export const FORGET_UNDECIDED = `DELETE FROM oncue_outcomes
WHERE job_id IN (SELECT value FROM json_each(?))
  AND (kind IN ('step_failed', 'timeout', 'wait', 'children')
    OR kind = 'timer' AND (key LIKE 'retry:%' OR key LIKE 'undo_retry:%'))`

/** Of requeued jobs those that were undone, with the number of their last undo that did not run. JSON array of ids. */
export const UNDONE = `SELECT w.value AS id, coalesce((SELECT max(u.seq) FROM oncue_outcomes u
  WHERE u.job_id = w.value AND u.kind = 'undo' AND NOT EXISTS (
    SELECT 1 FROM oncue_outcomes d WHERE d.job_id = u.job_id AND d.key = 'undone:' || substr(u.key, 6))), 0) AS last
FROM json_each(?) w WHERE EXISTS (SELECT 1 FROM oncue_outcomes o WHERE o.job_id = w.value AND o.kind = 'undone')`

/** The first of the steps that these forget. Id, last. */
export const FIRST_FORGOTTEN = `SELECT substr(key, 6) AS name FROM oncue_outcomes
WHERE job_id = ? AND kind = 'step' AND seq > ? ORDER BY seq LIMIT 1`

/** Id, last. */
export const FORGET_AFTER = `DELETE FROM oncue_outcomes WHERE job_id = ? AND kind <> 'signal' AND seq > ?`

/** Their spawns are made again. Id. */
export const FORGET_UNDONE_CHILDREN = `DELETE FROM oncue_children AS c WHERE c.parent_id = ? AND NOT EXISTS (
  SELECT 1 FROM oncue_outcomes o, json_each(o.data) k
  WHERE o.job_id = c.parent_id AND o.kind = 'spawn' AND k.key = c.key)`

/** JSON array of ids. */
export const MARK_UNDOABLE = `UPDATE oncue_jobs SET ending = '{}'
WHERE id IN (SELECT value FROM json_each(?)) AND ending IS NULL
  AND EXISTS (SELECT 1 FROM oncue_outcomes o WHERE o.job_id = oncue_jobs.id AND o.kind = 'undo')`

/** Now, now, now, error, fingerprint, ending, id. */
export const BEGIN_UNDO = `UPDATE oncue_jobs SET status = 'pending', run_at = ?, visible_at = ?, updated = ?, waits = NULL,
  retries = 0, crashes = 0, locked_until = NULL, locked_by = NULL, started_at = NULL, cancel_at = NULL, replaced_by = NULL,
  last_error = ?, fingerprint = ?, ending = ? WHERE id = ?`

/** Id. */
export const FAILURE_OF = `SELECT last_error, fingerprint FROM oncue_jobs WHERE id = ?`

/** Now, id. */
export const CLOSE_ASKS = `UPDATE oncue_asks SET closed = ? WHERE job_id = ? AND closed IS NULL`

/** The three of forget_from of Postgres: children that were spawned since an outcome. Job, job, seq. */
export const FORGET_CHILDREN = `DELETE FROM oncue_children WHERE parent_id = ? AND key IN (
  SELECT s.key FROM oncue_outcomes o, json_each(o.data) s WHERE o.job_id = ? AND o.kind = 'spawn' AND o.seq >= ?)`

/** Job, seq. */
export const FORGET_SINCE = `DELETE FROM oncue_outcomes WHERE job_id = ? AND seq >= ?`

/** Those without an answer that is kept. Job. */
export const FORGET_UNANSWERED = `DELETE FROM oncue_asks WHERE job_id = ? AND NOT EXISTS (
  SELECT 1 FROM oncue_outcomes o
  WHERE o.job_id = oncue_asks.job_id AND o.key = 'ask:' || oncue_asks.name AND o.kind = 'answer')`

/** The number of an outcome. Job, key. */
export const SEQ_OF = `SELECT seq FROM oncue_outcomes WHERE job_id = ? AND key = ?`

/** What a replaced job does not keep: all but signals that were sent before its first run. Id, id. */
export const FORGET_REPLACED = `DELETE FROM oncue_outcomes
WHERE job_id = ? AND (kind <> 'signal' OR EXISTS (SELECT 1 FROM oncue_jobs WHERE id = ? AND run > 0))`

/** What a replaced job asked. Id. */
export const FORGET_ASKS = `DELETE FROM oncue_asks WHERE job_id = ?`

/** Id. */
export const IS_LIVE = `SELECT 1 AS yes FROM oncue_jobs WHERE id = ?`

/** Now, job, name. */
export const CLOSE_ASK = `UPDATE oncue_asks SET closed = ? WHERE job_id = ? AND name = ? AND closed IS NULL`

/** Keeps an answer for the story; it no longer answers. Name, reason, job, key, seq. */
export const REFUSE_ANSWER = `UPDATE oncue_outcomes SET kind = 'refused', key = 'refused:' || ? || '#' || seq,
  data = json_object('value', data -> '$.value', 'by', data -> '$.by', 'reason', ?)
WHERE job_id = ? AND key = ? AND kind = 'answer' AND seq = ?`

/** The latest words stand. Job, name, question, schema, role, until, reason, now. */
export const OPEN_ASK = `INSERT INTO oncue_asks AS a (job_id, name, question, schema, role, until, refused, created)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job_id, name) DO UPDATE SET question = excluded.question, schema = excluded.schema, role = excluded.role,
  until = excluded.until, refused = coalesce(excluded.refused, a.refused), closed = NULL,
  created = CASE WHEN a.closed IS NULL OR excluded.refused IS NOT NULL THEN a.created ELSE excluded.created END`

/** Changes nothing: the first write of a transaction makes it the only one that writes. */
export const TAKE_WRITE_LOCK = `UPDATE oncue_outcomes SET seq = seq WHERE 0`
