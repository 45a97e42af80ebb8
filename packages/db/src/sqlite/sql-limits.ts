/** Slots: one row for each limited queue ('q:…') or concurrency key ('k:…'), and one for each run that has one. */

export const SLOT = `SELECT key, max_running, rate_count, rate_ms, starts, waiting FROM oncue_slots WHERE key = ?`
export const MAKE_SLOT = `INSERT INTO oncue_slots (key) VALUES (?) ON CONFLICT DO NOTHING`
export const RUNNING = `SELECT count(*) AS running FROM oncue_slot_runs WHERE key = ?`

export const TAKE_SLOT = `INSERT INTO oncue_slot_runs (key, job_id, run) VALUES (?, ?, ?)
ON CONFLICT (key, job_id) DO UPDATE SET run = excluded.run`
export const SET_STARTS = `UPDATE oncue_slots SET starts = ? WHERE key = ?`
export const SET_WAITING = `UPDATE oncue_slots SET waiting = 1 WHERE key = ? AND NOT waiting`

/** JSON array of ids. */
export const FREE_SLOTS = `DELETE FROM oncue_slot_runs WHERE job_id IN (SELECT value FROM json_each(?)) RETURNING key`

export const HOLD_BACK = `UPDATE oncue_jobs SET visible_at = NULL WHERE id = ?`

/** Others of a full key that stand in the way: each is moved once, however many there are. Concurrency key, now, those in hand. */
export const HOLD_BACK_OTHERS = `UPDATE oncue_jobs SET visible_at = NULL WHERE id IN (
  SELECT h.id FROM oncue_jobs h INDEXED BY oncue_jobs_keyed
  WHERE h.concurrency_key = ? AND h.visible_at <= ? AND h.status = 'pending'
    AND h.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1000)`

/** Gives the next held jobs of a key their turn. When, concurrency key, how many. */
export const PROMOTE = `UPDATE oncue_jobs SET visible_at = ? WHERE id IN (
  SELECT h.id FROM oncue_jobs h INDEXED BY oncue_jobs_keyed
  WHERE h.concurrency_key = ? AND h.visible_at IS NULL AND h.status = 'pending'
  ORDER BY h.priority DESC, h.run_at, h.id LIMIT ?)`

/** Slot key, concurrency key. */
export const NOBODY_WAITS = `UPDATE oncue_slots SET waiting = 0 WHERE key = ? AND waiting AND NOT EXISTS (
  SELECT 1 FROM oncue_jobs h INDEXED BY oncue_jobs_keyed
  WHERE h.concurrency_key = ? AND h.visible_at IS NULL AND h.status = 'pending')`

/** Runs that are over, however that happened. */
export const DROP_STRAY_RUNS = `DELETE FROM oncue_slot_runs WHERE NOT EXISTS (
  SELECT 1 FROM oncue_jobs j WHERE j.id = oncue_slot_runs.job_id AND j.run = oncue_slot_runs.run AND j.status = 'processing')`

export const WAITING_SLOTS = `SELECT key, max_running, rate_count, rate_ms, starts, waiting FROM oncue_slots WHERE waiting`
export const LIMIT_OF = `SELECT concurrency_limit FROM oncue_jobs INDEXED BY oncue_jobs_keyed WHERE concurrency_key = ? LIMIT 1`

export const ANY_SLOTS = `SELECT 1 AS yes FROM oncue_slots LIMIT 1`

/** Keys come and go with users and orders; a slot that nobody uses and nobody set is made anew when needed. */
export const DROP_IDLE_SLOTS = `DELETE FROM oncue_slots WHERE key IN (
  SELECT i.key FROM oncue_slots i
  WHERE i.key >= 'k:' AND i.key < 'k;' AND NOT i.waiting AND i.max_running IS NULL AND i.rate_count IS NULL
    AND NOT EXISTS (SELECT 1 FROM oncue_slot_runs r WHERE r.key = i.key) LIMIT 1000)`
