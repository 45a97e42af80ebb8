/** The statements about jobs that others have spawned and wait for. Values go by position. */

export const ANY_CHILDREN = `SELECT 1 AS yes FROM oncue_children LIMIT 1`

/** Parent, JSON array of [key, child, cancels]. */
export const KEEP = `INSERT INTO oncue_children (parent_id, key, child_id, cancels, orphaned)
SELECT ?, value ->> 0, value ->> 1, value ->> 2, 0 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`

/** Those that are live. Parent, wait, children. */
export const AWAIT = `INSERT INTO oncue_child_waits (child_id, parent_id, wait)
SELECT j.id, ?, ? FROM json_each(?) c CROSS JOIN oncue_jobs j ON j.id = c.value WHERE true ON CONFLICT DO NOTHING`

/** Parent. */
export const FORGET_WAITS = `DELETE FROM oncue_child_waits WHERE parent_id = ?`

/** Children. */
export const ANY_LIVE = `SELECT 1 AS yes FROM json_each(?) c CROSS JOIN oncue_jobs j ON j.id = c.value LIMIT 1`

/** Parent, wait. */
export const ANY_AWAITED = `SELECT 1 AS yes FROM oncue_child_waits WHERE parent_id = ? AND wait = ? LIMIT 1`

/** Those that have ended and not completed, or are gone. Parent. */
export const FAILED_CHILDREN = `SELECT c.child_id AS id, coalesce(h.status, 'gone') AS status,
  json_remove(h.last_error, '$.stack', '$.causes') AS error
FROM oncue_children c LEFT JOIN oncue_history h ON h.id = c.child_id
WHERE c.parent_id = ? AND h.status IS NOT 'completed'
  AND NOT EXISTS (SELECT 1 FROM oncue_jobs j WHERE j.id = c.child_id)`

/** The waits of live parents that name one of these. Children. */
export const WAITS_FOR = `SELECT DISTINCT w.parent_id, w.wait FROM oncue_child_waits w
WHERE w.child_id IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM oncue_jobs j WHERE j.id = w.parent_id)`

export const DROP_WAITS = `DELETE FROM oncue_child_waits WHERE child_id IN (SELECT value FROM json_each(?))`

/** Not a job of someone else that the parent found by a unique key. Parents. */
export const ORPHANS = `SELECT DISTINCT j.id, j.status FROM json_each(?) p
CROSS JOIN oncue_history h ON h.id = p.value AND h.status = 'cancelled'
CROSS JOIN oncue_children c ON c.parent_id = h.id AND c.cancels
CROSS JOIN oncue_jobs j ON j.id = c.child_id AND j.parent_id = c.parent_id AND j.ending ->> 'status' IS NULL`

export const OF_LIVE_PARENTS = `SELECT DISTINCT c.child_id AS id FROM json_each(?) w
CROSS JOIN oncue_children c ON c.child_id = w.value CROSS JOIN oncue_jobs j ON j.id = c.parent_id`

/** Children that were put back. */
export const AWAIT_AGAIN = `INSERT INTO oncue_child_waits (child_id, parent_id, wait)
SELECT c.child_id, c.parent_id, w.value ->> 'key' FROM json_each(?) i
CROSS JOIN oncue_children c ON c.child_id = i.value
CROSS JOIN oncue_jobs j ON j.id = c.parent_id AND j.status IN ('blocked', 'pending') AND j.waits IS NOT NULL
CROSS JOIN json_each(j.waits, '$.for') w
WHERE w.value ->> 'kind' = 'children' ON CONFLICT DO NOTHING`

/** The parents that failed because of their children and were not undone, which spawn them again, and the children that did not complete. Ids, twice. */
export const FAILED_FAMILY = `SELECT h.id FROM json_each(?) i CROSS JOIN oncue_children c ON c.child_id = i.value
CROSS JOIN oncue_history h ON h.id = c.parent_id AND h.status = 'failed' AND h.last_error ->> 'code' = 'CHILDREN_FAILED'
  AND NOT EXISTS (SELECT 1 FROM oncue_outcomes o WHERE o.job_id = h.id AND o.kind = 'undone')
UNION
SELECT h.id FROM json_each(?) i CROSS JOIN oncue_children c ON c.parent_id = i.value
CROSS JOIN oncue_history h ON h.id = c.child_id AND h.status <> 'completed'`

/** What belongs to jobs that are removed. */
export const FORGET_FAMILY = [
  `DELETE FROM oncue_children WHERE parent_id IN (SELECT value FROM json_each(?))`,
  `DELETE FROM oncue_child_waits WHERE parent_id IN (SELECT value FROM json_each(?))`,
  DROP_WAITS,
]

/** Whether a live job has spawned `h`. */
export const HAS_LIVE_PARENT = `EXISTS (SELECT 1 FROM oncue_children c JOIN oncue_jobs p ON p.id = c.parent_id
    WHERE c.child_id = h.id)`
