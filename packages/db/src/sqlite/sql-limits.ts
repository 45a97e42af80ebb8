/** Slots: one row for each limited queue ('q:…') or concurrency key ('k:…'), and one for each run that has one. */

export const SLOT = `SELECT key, max_running, rate_count, rate_ms, starts, waiting FROM oncue_slots WHERE key = ?`
export const MAKE_SLOT = `INSERT INTO oncue_slots (key) VALUES (?) ON CONFLICT DO NOTHING`
export const RUNNING = `SELECT count(*) AS running FROM oncue_slot_runs WHERE key = ?`

/** Key, job, run, now, until. */
export const TAKE_SLOT = `INSERT INTO oncue_slot_runs (key, job_id, run, taken, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (job_id, key) DO UPDATE SET run = excluded.run, taken = excluded.taken, until = excluded.until`
export const SET_STARTS = `UPDATE oncue_slots SET starts = ? WHERE key = ?`
export const SET_WAITING = `UPDATE oncue_slots SET waiting = 1 WHERE key = ? AND NOT waiting`

/** JSON array of ids. */
export const FREE_SLOTS = `DELETE FROM oncue_slot_runs WHERE job_id IN (SELECT value FROM json_each(?)) RETURNING key`

export const HOLD_BACK = `UPDATE oncue_jobs SET visible_at = NULL WHERE id = ?`

/** Others of a full key that stand behind those in hand: each is moved once, however many there are. Concurrency key, from, now, those taken. */
export const HOLD_BACK_OTHERS = `UPDATE oncue_jobs SET visible_at = NULL WHERE id IN (
  SELECT h.id FROM oncue_jobs h INDEXED BY oncue_jobs_keyed
  WHERE h.concurrency_key = ? AND h.visible_at BETWEEN ? AND ? AND h.status = 'pending'
    AND h.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1000)`

/** Gives the next held jobs of a key their turn, then or when they are due. When, concurrency key, how many. */
export const PROMOTE = `UPDATE oncue_jobs SET visible_at = max(?, run_at) WHERE id IN (
  SELECT h.id FROM oncue_jobs h INDEXED BY oncue_jobs_held
  WHERE h.concurrency_key = ? AND h.visible_at IS NULL AND h.status = 'pending'
  ORDER BY h.priority DESC, h.run_at, h.id LIMIT ?)`

/** Slot key, concurrency key. */
export const NOBODY_WAITS = `UPDATE oncue_slots SET waiting = 0 WHERE key = ? AND waiting AND NOT EXISTS (
  SELECT 1 FROM oncue_jobs h INDEXED BY oncue_jobs_held
  WHERE h.concurrency_key = ? AND h.visible_at IS NULL AND h.status = 'pending')`

/**
 * Runs of a slot whose leases would be over, had nobody extended them, and until when that is; null if the run is over,
 * however that happened. Key, now.
 */
export const OVERDUE = `SELECT r.job_id AS id, r.run, j.locked_until FROM oncue_slot_runs r INDEXED BY oncue_slot_runs_key
LEFT JOIN oncue_jobs j ON j.id = r.job_id AND j.run = r.run AND j.status = 'processing'
WHERE r.key = ? AND r.until < ? LIMIT 100`
/** Until, job, key. */
export const RENEW = `UPDATE oncue_slot_runs SET until = ? WHERE job_id = ? AND key = ?`
export const DROP_RUN = `DELETE FROM oncue_slot_runs WHERE job_id = ? AND key = ?`

/** After, how many. */
export const WAITING_SLOTS = `SELECT key, max_running, rate_count, rate_ms, starts, waiting
FROM oncue_slots INDEXED BY oncue_slots_waiting WHERE waiting AND key > ? ORDER BY key LIMIT ?`
export const LIMIT_OF = `SELECT concurrency_limit FROM oncue_jobs INDEXED BY oncue_jobs_held
WHERE concurrency_key = ? AND visible_at IS NULL AND status = 'pending' LIMIT 1`

export const ANY_SLOTS = `SELECT 1 AS yes FROM oncue_slots LIMIT 1`

/** After, how many. */
export const NEXT_SLOTS = `SELECT key FROM oncue_slots WHERE key > ? ORDER BY key LIMIT ?`

/** Keys come and go with users and orders; a slot that nobody uses and nobody set is made anew when needed. JSON array of keys. */
export const DROP_IDLE_SLOTS = `DELETE FROM oncue_slots WHERE key IN (SELECT value FROM json_each(?))
  AND key >= 'k:' AND key < 'k;' AND NOT waiting AND max_running IS NULL AND rate_count IS NULL
  AND NOT EXISTS (SELECT 1 FROM oncue_slot_runs r INDEXED BY oncue_slot_runs_key WHERE r.key = oncue_slots.key)`
