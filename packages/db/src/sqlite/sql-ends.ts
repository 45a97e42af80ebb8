import { keepJob } from './sql.ts'

/** What follows when a job ends: its dependants, its keys, its events. Lists of ids are JSON arrays. */

const MET = `d.parent_id IN (SELECT value FROM json_each(?)) AND (? OR d.policy = 'go_on')`

/** However many they are, without a statement each. Now, now, parents, completed. */
export const RELEASE = `UPDATE oncue_jobs AS j SET deps_left = j.deps_left - c.met, updated = ?,
  status = CASE WHEN j.deps_left = c.met THEN 'pending' ELSE j.status END,
  visible_at = CASE WHEN j.deps_left = c.met THEN max(j.run_at, ?) END
FROM (SELECT d.job_id, count(*) AS met FROM oncue_deps d WHERE ${MET} GROUP BY d.job_id) AS c
WHERE j.id = c.job_id AND j.status = 'blocked'`

/** Parents, completed. */
export const DROP_MET = `DELETE FROM oncue_deps AS d WHERE ${MET}`

export const ENDED_BY_PARENTS = `SELECT DISTINCT job_id, policy FROM oncue_deps
WHERE parent_id IN (SELECT value FROM json_each(?)) AND policy IN ('stop', 'cancel')`

export const WAITING_JOBS = `SELECT id, queue, topic FROM oncue_jobs
WHERE id IN (SELECT value FROM json_each(?)) AND status IN ('blocked', 'pending')`

/** Now, status, error, fingerprint, id. */
export const END_WAITING = `${keepJob(
  'crashes, finished_at, status, last_error, fingerprint',
  'crashes, ?, ?, coalesce(?, last_error), coalesce(?, fingerprint)',
)} FROM oncue_jobs WHERE id = ?
ON CONFLICT (id) DO NOTHING`

export const DROP_EDGES_OF = `DELETE FROM oncue_deps WHERE job_id IN (SELECT value FROM json_each(?))`

/** A job that waited for the run that it replaces gives the key back: that run holds it until it ends. */
export const GIVE_KEYS_BACK = `UPDATE oncue_keys SET job_id = r.id
FROM (SELECT d.job_id, j.id FROM json_each(?) AS w CROSS JOIN oncue_deps d ON d.job_id = w.value
  CROSS JOIN oncue_jobs j ON j.id = d.parent_id AND j.replaced_by = d.job_id) AS r
WHERE oncue_keys.job_id = r.job_id AND oncue_keys.key LIKE 'u:%'`

/** Keys that go with their job. */
export const DROP_KEYS_OF = `DELETE FROM oncue_keys WHERE job_id IN (SELECT value FROM json_each(?)) AND until IS NULL`

/** Type, data, now, job. Up to 1 000 events of a job: one that snoozes for ever does not fill its stream. */
export const APPEND_FEW = `INSERT INTO oncue_events (job_id, version, type, data, created)
SELECT v.id, v.version + 1, ?, ?, ?
FROM (SELECT e.id, coalesce((SELECT max(version) FROM oncue_events WHERE job_id = e.id), 0) AS version
  FROM (SELECT ? AS id) e) v
WHERE v.version < 1000`

/** Job, job, type, data, now. */
export const APPEND_EVENT = `INSERT INTO oncue_events (job_id, version, type, data, created)
SELECT ?, 1 + coalesce((SELECT max(version) FROM oncue_events WHERE job_id = ?), 0), ?, ?, ?`
