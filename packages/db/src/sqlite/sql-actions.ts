import { columnNames } from '../job-columns.ts'

/** What people do to jobs. Lists of ids are JSON arrays. */

/** As of: the job has not changed since. */
export const FINISHED = `SELECT id, queue, topic, status, unique_key, unique_scope, finished_at FROM oncue_history
WHERE id IN (SELECT value FROM json_each(?))`

export const LIVE = `SELECT id, queue, topic, status, created FROM oncue_jobs WHERE id IN (SELECT value FROM json_each(?))`

const MOVED = columnNames('requeue').join(', ')

/** The run number is kept, so that an old run stays stale. Now, now, now, id. */
export const REQUEUE = `INSERT INTO oncue_jobs (updated, status, run_at, visible_at, ${MOVED})
SELECT ?, 'pending', ?, ?, ${MOVED} FROM oncue_history WHERE id = ?`

/** Takes the unique key again, unless another job has it. Topic, key, id, now. */
export const TAKE_KEY_AGAIN = `INSERT INTO oncue_keys (topic, key, job_id, until) VALUES (?, ?, ?, NULL)
ON CONFLICT (topic, key) DO UPDATE SET job_id = excluded.job_id, until = NULL
WHERE job_id = excluded.job_id OR until <= ?`

export const FORGET_FINISHED = `DELETE FROM oncue_history WHERE id IN (SELECT value FROM json_each(?))`
export const FORGET_RESULTS = `DELETE FROM oncue_payloads WHERE part = 'result' AND job_id IN (SELECT value FROM json_each(?))`

/** Now, now, ids. */
export const ASK_TO_STOP = `UPDATE oncue_jobs SET cancel_at = ?, updated = ? WHERE id IN (SELECT value FROM json_each(?))`

export const WAITED_FOR = `SELECT DISTINCT parent_id AS id FROM oncue_deps WHERE parent_id IN (SELECT value FROM json_each(?))`

/** All that belongs to jobs that are gone. */
export const FORGET_PARTS = ['events', 'payloads', 'keys', 'deps'].map(
  (table) => `DELETE FROM oncue_${table} WHERE job_id IN (SELECT value FROM json_each(?))`,
)

const PRUNABLE = `created < ? AND finished_at < ? AND NOT EXISTS (SELECT 1 FROM oncue_deps d WHERE d.parent_id = h.id)
ORDER BY created, id LIMIT ?`

/** Topic, queue, before, before, limit. Two texts, because a partial index is used only where its condition is written out. */
export const PRUNABLE_COMPLETED = `SELECT h.id FROM oncue_history h INDEXED BY oncue_history_completed
WHERE h.status = 'completed' AND h.topic = ? AND h.queue = ? AND ${PRUNABLE}`

/** Topic, queue, status, before, before, limit. */
export const PRUNABLE_UNSUCCESSFUL = `SELECT h.id FROM oncue_history h INDEXED BY oncue_history_unsuccessful
WHERE h.status <> 'completed' AND h.topic = ? AND h.queue = ? AND h.status = ? AND ${PRUNABLE}`
