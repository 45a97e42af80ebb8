import { columnNames, enqueuedColumns, jobColumns } from '../job-columns.ts'
import { META_ROW } from '../portable/reads/meta.ts'
import { HAS_LIVE_PARENT } from './sql-children.ts'

/**
 * Every statement of the writer. Values go by position: a named one costs 0.1 µs more each. Lists of ids are JSON
 * arrays.
 */

// --- claim

export const QUEUE = `SELECT paused_at, paused_until, ageing_ms FROM oncue_queues WHERE name = ?`

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

/** A row of jobs as a row of history, except for the columns that its end sets. */
const keepJob = (columns: string, values: string) =>
  `INSERT INTO oncue_history (${KEPT}, ${columns}) SELECT ${KEPT_VALUES}, ${values}`

/*
 * Completions go by the batch: one statement for 500 jobs takes 7 µs a job where one for each took 11,
 * of which half was the way from JavaScript to SQLite and back. Rows are written to history first and
 * deleted after.
 */

/** What statistics and keys need of runs that complete. JSON array of ids. */
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

/** A run that ended in another way. Crashed, error, fingerprint, now, now, status, id, run. */
export const FINISH = `${keepJob(
  'locked_by, crashes, last_error, fingerprint, started_at, finished_at, status',
  'locked_by, crashes + ?, coalesce(?, last_error), coalesce(?, fingerprint), coalesce(started_at, ?), ?, ?',
)}
FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing' ON CONFLICT (id) DO NOTHING`

/** What is needed of a run before it ends in another way. Id, run. */
export const CURRENT = `SELECT id, run, queue, topic, run_at, started_at, locked_by, retries, max_retries, crashes, unique_key,
  cancel_at, replaced_by, ending FROM oncue_jobs WHERE id = ? AND run = ? AND status = 'processing'`

/** Whatever went wrong while it was undone. Error, fingerprint, id. */
export const SET_FAILURE = `UPDATE oncue_jobs SET last_error = ?, fingerprint = ? WHERE id = ?`

export const REMOVE = `DELETE FROM oncue_jobs WHERE id = ?`

export const KEEP_RESULT = `INSERT OR REPLACE INTO oncue_payloads (job_id, part, data) VALUES (?, 'result', ?)`

/** Now, charged, crashed, run_at, visible_at, error, snoozed, fingerprint, id. */
export const PUT_BACK = `UPDATE oncue_jobs SET status = 'pending', locked_until = NULL, locked_by = NULL, started_at = NULL,
  cancel_at = NULL, updated = ?, retries = retries + ?, crashes = crashes + ?, run_at = coalesce(?, run_at), visible_at = ?, waits = NULL,
  last_error = coalesce(?, last_error), fingerprint = CASE WHEN ? THEN NULL ELSE coalesce(?, fingerprint) END
WHERE id = ?`

/** Id, run, worker, worker: null for any. */
export const IS_COMPLETED = `SELECT 1 AS yes FROM oncue_history
WHERE id = ? AND run = ? AND status = 'completed' AND (? IS NULL OR locked_by = ?)`

// --- lease

/** Until, until, now, started, now, id, run, worker. Returns a row if the run is still there. */
export const BEAT = `UPDATE oncue_jobs SET locked_until = ?, visible_at = ?, updated = ?,
  started_at = CASE WHEN ? THEN coalesce(started_at, ?) ELSE started_at END
WHERE id = ? AND run = ? AND locked_by = ? AND status = 'processing' RETURNING cancel_at`

export const BEAT_WORKER = `UPDATE oncue_workers SET last_beat = ? WHERE id = ?`

/** Worker, not since. */
export const NEEDS_BEAT = `SELECT 1 AS yes FROM oncue_workers WHERE id = ? AND last_beat <= ?`

/** Progress, cursor, now, id, run, worker, worker (null for any). Returns a row if the run is still there. */
export const NOTE = `UPDATE oncue_jobs SET progress = coalesce(?, progress), cursor = coalesce(?, cursor), updated = ?
WHERE id = ? AND run = ? AND (? IS NULL OR locked_by = ?) AND status = 'processing' RETURNING id`

export const RUNS_OF = `SELECT id, run FROM oncue_jobs WHERE locked_by = ?`

export const ATTEND = `INSERT INTO oncue_workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET presence = excluded.presence, missing_since = NULL, last_beat = excluded.last_beat`

export const WORKERS = `SELECT id, presence FROM oncue_workers WHERE presence IS NOT NULL`
/** Ended at, how, released, failed, runs, id. A worker that was lost and came back keeps what it held then. */
export const END_WORKER = `INSERT INTO oncue_worker_ends AS e
  (id, host, pid, queues, concurrency, version, started_at, last_beat, ended_at, how, released, failed, runs)
SELECT id, host, pid, queues, concurrency, version, started_at, last_beat, ?, ?, ?, ?, ? FROM oncue_workers WHERE id = ?
ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at, last_beat = excluded.last_beat, how = excluded.how,
  released = e.released + excluded.released, failed = e.failed + excluded.failed,
  runs = (SELECT json_group_array(json(value)) FROM (
    SELECT value FROM json_each(e.runs) UNION ALL SELECT value FROM json_each(excluded.runs) LIMIT 100))`
/** Ids, twice. */
export const FREED = `SELECT id, queue, topic, run, 'released' AS outcome FROM oncue_jobs
WHERE id IN (SELECT value FROM json_each(?))
UNION ALL SELECT id, queue, topic, run, status FROM oncue_history WHERE id IN (SELECT value FROM json_each(?))`
export const REMOVE_WORKER = `DELETE FROM oncue_workers WHERE id = ?`

/** Returns a row to the leader. Name, by, until, now, and until + term: later ends are from before the clock was set back. */
export const LEAD = `INSERT INTO oncue_leaders AS l (name, held_by, until) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET held_by = excluded.held_by, until = excluded.until
WHERE l.held_by = excluded.held_by OR l.until <= ? OR l.until > ? RETURNING 1 AS yes`
export const STEP_DOWN = `DELETE FROM oncue_leaders WHERE name = ? AND held_by = ?`
export const STEP_DOWN_DEAD = `DELETE FROM oncue_leaders WHERE held_by = ?`

// --- whether there is anything of a kind at all: checked once per batch, so that plain jobs pay for nothing else

export const ANY_DEPS = `SELECT 1 AS yes FROM oncue_deps LIMIT 1`
export const ANY_SLOT_RUNS = `SELECT 1 AS yes FROM oncue_slot_runs LIMIT 1`

// --- what follows when a job ends: its dependants, its keys, its events

const MET = `d.parent_id IN (SELECT value FROM json_each(?)) AND (? OR d.policy = 'go_on')`

/** All of them in one statement, however many. Now, now, parents, completed. */
export const RELEASE = `UPDATE oncue_jobs AS j SET deps_left = j.deps_left - c.met, updated = ?,
  status = CASE WHEN j.deps_left = c.met THEN 'pending' ELSE j.status END,
  visible_at = CASE WHEN j.deps_left = c.met THEN max(j.run_at, ?) END
FROM (SELECT d.job_id, count(*) AS met FROM oncue_deps d WHERE ${MET} GROUP BY d.job_id) AS c
WHERE j.id = c.job_id AND j.status = 'blocked'`

/** Parents, completed. */
export const DROP_MET = `DELETE FROM oncue_deps AS d WHERE ${MET}`

export const ENDED_BY_PARENTS = `SELECT DISTINCT job_id, policy FROM oncue_deps
WHERE parent_id IN (SELECT value FROM json_each(?)) AND policy IN ('stop', 'cancel')`

export const ANY_FLOWS = `SELECT 1 AS yes FROM oncue_flow_places LIMIT 1`

/** What runs when a batch fails, of those that wait for these: once for each. */
export const FALLBACKS = `SELECT f.job_id AS id, f.flow_id AS flow FROM oncue_deps d
CROSS JOIN oncue_flow_places f ON f.job_id = d.job_id AND f.kind = 'on_failure'
WHERE d.parent_id IN (SELECT value FROM json_each(?))`

export const IS_PENDING = `SELECT 1 AS yes FROM oncue_jobs WHERE id = ? AND status = 'pending'`

/** Those that were requeued meanwhile. Dependant, flow. */
export const AWAIT_BATCH = `INSERT INTO oncue_deps (job_id, parent_id, policy, checked)
SELECT ?, j.id, 'go_on', 1 FROM oncue_flow_places f CROSS JOIN oncue_jobs j ON j.id = f.job_id
WHERE f.flow_id = ? AND f.kind = 'job' ON CONFLICT DO NOTHING`

/** Jobs that were put back, for those of their batches and flows that still wait: each has an edge left. Ids. */
export const AWAIT_REQUEUED = `INSERT INTO oncue_deps (job_id, parent_id, policy, checked)
SELECT w.job_id, f.job_id, (SELECT d.policy FROM oncue_deps d WHERE d.job_id = w.job_id LIMIT 1), 1
FROM json_each(?) i CROSS JOIN oncue_flow_places f ON f.job_id = i.value AND f.kind IN ('job', 'node')
CROSS JOIN oncue_flow_places w ON w.flow_id = f.flow_id AND w.after IS NOT NULL
  AND (f.kind = 'job' OR f.place IN (SELECT value FROM json_each(w.after)))
WHERE EXISTS (SELECT 1 FROM oncue_deps d JOIN oncue_jobs j ON j.id = d.job_id AND j.status = 'blocked'
  WHERE d.job_id = w.job_id)
ON CONFLICT DO NOTHING RETURNING job_id`

/** Id. */
export const ADD_DEP = `UPDATE oncue_jobs SET deps_left = deps_left + 1 WHERE id = ?`

/** Left, id. */
export const BLOCK_AGAIN = `UPDATE oncue_jobs SET status = 'blocked', visible_at = NULL, deps_left = ? WHERE id = ?`

/** Flow. */
export const ANY_NOT_COMPLETED = `SELECT 1 AS yes FROM oncue_flow_places f WHERE f.flow_id = ? AND f.kind = 'job'
AND NOT EXISTS (SELECT 1 FROM oncue_history h WHERE h.id = f.job_id AND h.status = 'completed') LIMIT 1`

/** JSON array of [flow, place, job, kind, name, after]. */
export const KEEP_FLOW = `INSERT INTO oncue_flow_places (flow_id, place, job_id, kind, name, after)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?) WHERE true
ON CONFLICT DO NOTHING`

const isAwaited = (id: string) => `EXISTS (SELECT 1 FROM oncue_flow_places f
    JOIN oncue_flow_places w ON w.flow_id = f.flow_id AND w.after IS NOT NULL AND w.job_id <> f.job_id
    JOIN oncue_jobs p ON p.id = w.job_id
    WHERE f.job_id = ${id} AND f.kind IN ('job', 'node'))`

export const WAITING_JOBS = `SELECT id, queue, topic, ending FROM oncue_jobs
WHERE id IN (SELECT value FROM json_each(?)) AND status IN ('blocked', 'pending')`

/** Now, status, error, fingerprint, id. */
export const END_WAITING = `${keepJob(
  'crashes, finished_at, status, last_error, fingerprint',
  'crashes, ?, ?, coalesce(?, last_error), coalesce(?, fingerprint)',
)} FROM oncue_jobs WHERE id = ?
ON CONFLICT (id) DO NOTHING`

export const DROP_EDGES_OF = `DELETE FROM oncue_deps WHERE job_id IN (SELECT value FROM json_each(?))`

/** A job that waited for the run that it replaces gives the key back to that run, which holds it until it ends. */
export const GIVE_KEYS_BACK = `UPDATE oncue_keys SET job_id = r.id
FROM (SELECT d.job_id, j.id FROM json_each(?) AS w CROSS JOIN oncue_deps d ON d.job_id = w.value
  CROSS JOIN oncue_jobs j ON j.id = d.parent_id AND j.replaced_by = d.job_id) AS r
WHERE oncue_keys.job_id = r.job_id AND oncue_keys.key LIKE 'u:%'`

/** Keys that go with their job. */
export const DROP_KEYS_OF = `DELETE FROM oncue_keys WHERE job_id IN (SELECT value FROM json_each(?)) AND until IS NULL`

/** Type, data, now, job. Up to 1,000 events of a job: one that snoozes for ever does not fill its stream. */
export const APPEND_FEW = `INSERT INTO oncue_events (job_id, version, type, data, created)
SELECT v.id, v.version + 1, ?, ?, ?
FROM (SELECT e.id, coalesce((SELECT max(version) FROM oncue_events WHERE job_id = e.id), 0) AS version
  FROM (SELECT ? AS id) e) v
WHERE v.version < 1000`

/** Job, job, type, data, now. */
export const APPEND_EVENT = `INSERT INTO oncue_events (job_id, version, type, data, created)
SELECT ?, 1 + coalesce((SELECT max(version) FROM oncue_events WHERE job_id = ?), 0), ?, ?, ?`

// --- slots: one row for each limited queue ('q:…') or concurrency key ('k:…'), and one for each run that has one

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

/**
 * Further jobs of a full key and the same queue, after those in hand: each is throttled once, however many there are.
 * One that is ready in another queue shows that it is not claimed there (HAS_READY). Concurrency key, queue, from,
 * now, those taken.
 */
export const HOLD_BACK_OTHERS = `UPDATE oncue_jobs SET visible_at = NULL WHERE id IN (
  SELECT h.id FROM oncue_jobs h INDEXED BY oncue_jobs_keyed
  WHERE h.concurrency_key = ? AND h.queue = ? AND h.visible_at BETWEEN ? AND ? AND h.status = 'pending'
    AND h.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1000)`

/** The next queue with throttled jobs of a key: stepping over distinct queues instead of walking their jobs. Concurrency key, after. */
export const NEXT_HELD_QUEUE = `SELECT queue FROM oncue_jobs INDEXED BY oncue_jobs_throttled
WHERE concurrency_key = ? AND visible_at IS NULL AND queue > ? ORDER BY queue LIMIT 1`

/** Concurrency key, queue, how many. */
export const THROTTLED = `SELECT id, priority, run_at FROM oncue_jobs INDEXED BY oncue_jobs_throttled
WHERE concurrency_key = ? AND queue = ? AND visible_at IS NULL AND status = 'pending'
ORDER BY priority DESC, run_at, id LIMIT ?`

/** Concurrency key, queue, now. */
export const HAS_READY = `SELECT 1 AS yes FROM oncue_jobs INDEXED BY oncue_jobs_keyed
WHERE concurrency_key = ? AND queue = ? AND visible_at <= ? AND status = 'pending' LIMIT 1`

/** Promotes throttled jobs, at the given time or when they are due. When, JSON array of ids. */
export const PROMOTE = `UPDATE oncue_jobs SET visible_at = max(?, run_at) WHERE id IN (SELECT value FROM json_each(?))`

/** Slot key, concurrency key. */
export const NOBODY_WAITS = `UPDATE oncue_slots SET waiting = 0 WHERE key = ? AND waiting AND NOT EXISTS (
  SELECT 1 FROM oncue_jobs h INDEXED BY oncue_jobs_throttled
  WHERE h.concurrency_key = ? AND h.visible_at IS NULL AND h.status = 'pending')`

/**
 * Runs of a slot whose recorded leases have expired, unless a heartbeat extended them, and their current end; null if
 * the run is over, for any reason. Key, now.
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
export const LIMIT_OF = `SELECT concurrency_limit FROM oncue_jobs INDEXED BY oncue_jobs_throttled
WHERE concurrency_key = ? AND visible_at IS NULL AND status = 'pending' LIMIT 1`

export const ANY_SLOTS = `SELECT 1 AS yes FROM oncue_slots LIMIT 1`

/** After, how many. */
export const NEXT_SLOTS = `SELECT key FROM oncue_slots WHERE key > ? ORDER BY key LIMIT ?`

/**
 * Keys come and go with users and orders; an unused slot without a configured limit is recreated when needed.
 * JSON array of keys.
 */
export const DROP_IDLE_SLOTS = `DELETE FROM oncue_slots WHERE key IN (SELECT value FROM json_each(?))
  AND key >= 'k:' AND key < 'k;' AND NOT waiting AND max_running IS NULL AND rate_count IS NULL
  AND NOT EXISTS (SELECT 1 FROM oncue_slot_runs r INDEXED BY oncue_slot_runs_key WHERE r.key = oncue_slots.key)`

// --- what people do to jobs

/** As of: the job has not changed since. */
export const FINISHED = `SELECT id, run, queue, topic, status, unique_key, unique_scope, finished_at FROM oncue_history
WHERE id IN (SELECT value FROM json_each(?))`

export const LIVE = `SELECT id, run, status, created, updated, run_at, visible_at, fingerprint,
  waits IS NOT NULL AS is_suspended, ending FROM oncue_jobs
WHERE id IN (SELECT value FROM json_each(?))`

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

/** Run at, visible at, now, ids. */
export const MAKE_DUE = `UPDATE oncue_jobs SET run_at = ?, visible_at = ?, updated = ? WHERE id IN (SELECT value FROM json_each(?))`

/** Run at, visible at, now, id. */
export const RETRY_ANEW = `UPDATE oncue_jobs SET retries = 0, crashes = 0, fingerprint = NULL, run_at = ?, visible_at = ?, updated = ?
WHERE id = ?`

/** Id. */
export const BEGIN_ANEW = `UPDATE oncue_jobs SET cursor = NULL, progress = NULL WHERE id = ?`

/** Payload, or null for a large one; id. */
export const SET_PAYLOAD = `UPDATE oncue_jobs SET payload = ? WHERE id = ?`

/** Now, now, ids. */
export const ASK_TO_STOP = `UPDATE oncue_jobs SET cancel_at = ?, updated = ? WHERE id IN (SELECT value FROM json_each(?))`

/** Of live jobs those that were requeued after a moment. */
export const REQUEUED_SINCE = `SELECT j.id FROM oncue_jobs j WHERE j.id IN (SELECT value FROM json_each(?)) AND j.updated > ?
AND EXISTS (SELECT 1 FROM oncue_events e WHERE e.job_id = j.id AND e.type = 'requeued' AND e.created > ?)`

export const WAITED_FOR = `SELECT DISTINCT parent_id AS id FROM oncue_deps WHERE parent_id IN (SELECT value FROM json_each(?))`

/** By jobs of their batch or flow. */
export const AWAITED = `SELECT i.value AS id FROM json_each(?) i WHERE ${isAwaited('i.value')}`

/** Everything that belongs to jobs that are removed. */
export const FORGET_PARTS = [
  'events',
  'payloads',
  'keys',
  'outcomes',
  'asks',
  'signals',
  'flow_places',
  'deps',
].map((table) => `DELETE FROM oncue_${table} WHERE job_id IN (SELECT value FROM json_each(?))`)

const prunable = (index: string, condition: string) => `SELECT h.id FROM oncue_history h INDEXED BY ${index}
WHERE ${condition} AND h.topic = ? AND h.queue = ? AND h.status = ? AND created < ? AND finished_at < ?
  AND NOT EXISTS (SELECT 1 FROM oncue_deps d WHERE d.parent_id = h.id)
  AND NOT ${HAS_LIVE_PARENT} AND NOT ${isAwaited('h.id')}
ORDER BY created, id LIMIT ?`

/** Topic, queue, status, before, before, limit. Two texts: a partial index is used only where its condition is written out. */
export const PRUNABLE_COMPLETED = prunable('oncue_history_completed', `h.status = 'completed'`)
export const PRUNABLE_UNSUCCESSFUL = prunable('oncue_history_unsuccessful', `h.status <> 'completed'`)

// --- enqueue: keys, parents and edges

/** Keys that are held at this moment, with the state of their jobs. JSON array of [topic, key], now. */
export const HOLDERS = `SELECT k.topic, k.key, k.job_id, j.status,
  (j.waits IS NOT NULL OR j.ending IS NOT NULL) AND j.status <> 'processing' AS is_suspended,
  coalesce(j.queue, (SELECT h.queue FROM oncue_history h WHERE h.id = k.job_id)) AS queue FROM json_each(?) AS w
CROSS JOIN oncue_keys k ON k.topic = w.value ->> 0 AND k.key = w.value ->> 1 LEFT JOIN oncue_jobs j ON j.id = k.job_id
WHERE k.until IS NULL OR k.until > ?`

/** The state of the parents. A job that is both live and finished was enqueued again: its first end counts. */
export const PARENTS = `SELECT w.value AS id, coalesce(h.status, 'live') AS status FROM json_each(?) AS w
LEFT JOIN oncue_history h ON h.id = w.value LEFT JOIN oncue_jobs j ON j.id = w.value
WHERE h.id IS NOT NULL OR j.id IS NOT NULL`

/**
 * `checked` from the start: on Postgres an edge may be written while its parent ends, and is checked
 * again; here there is one writer at a time.
 */
export const INSERT_EDGES = `INSERT INTO oncue_deps (job_id, parent_id, policy, checked)
SELECT value ->> 0, value ->> 1, value ->> 2, 1 FROM json_each(?)`

/** JSON array of [topic, key, job, until]. */
export const INSERT_KEYS = `INSERT INTO oncue_keys (topic, key, job_id, until)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?) WHERE true
ON CONFLICT (topic, key) DO UPDATE SET job_id = excluded.job_id, until = excluded.until`

/** JSON array of [topic, key]. */
export const DROP_KEYS = `DELETE FROM oncue_keys WHERE (topic, key) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`

/** This run is the last one of its job, however it ends. New job, now, running job. */
export const SUPERSEDE = `UPDATE oncue_jobs SET replaced_by = ?, updated = ? WHERE id = ? AND ending ->> 'status' IS NULL`

const REPLACED_NAMES = enqueuedColumns('replace').map(({ name }) => name)

/**
 * New work: the state of the earlier run is reset. A blocked job stays blocked. One that is throttled by a
 * full concurrency key stays so only if it is due: freeing a slot does not check that. The columns that are replaced, due, now, due, now, due, id.
 */
export const REPLACE = `UPDATE oncue_jobs SET ${REPLACED_NAMES.map((name) => `${name} = ?`).join(', ')}, cursor = NULL, progress = NULL,
  run_at = ?, updated = ?, visible_at = CASE WHEN status = 'blocked' OR visible_at IS NULL AND ? <= ? THEN NULL ELSE ? END
WHERE id = ?`
export const INSERT_PAYLOAD = `INSERT INTO oncue_payloads (job_id, part, data) VALUES (?, 'payload', ?)`
export const DROP_PAYLOAD = `DELETE FROM oncue_payloads WHERE job_id = ? AND part = 'payload'`

const ENQUEUED_NAMES = enqueuedColumns().map(({ name }) => name)

/** The columns of a new job, run_at, created, finished_at, status, error, fingerprint. */
export const INSERT_ENDED = `INSERT INTO oncue_history (${ENQUEUED_NAMES.join(', ')}, run_at, created, finished_at, status, last_error,
  fingerprint, run, retries, crashes)
VALUES (${ENQUEUED_NAMES.map(() => '?').join(', ')}, ?, ?, ?, ?, ?, ?, 0, 0, 0)
ON CONFLICT (id) DO NOTHING`

// --- who has which value in its meta

const metaRowsOf = (table: string) => `SELECT ${META_ROW.key}, ${META_ROW.value}, j.created, j.id
FROM json_each(?) AS i CROSS JOIN ${table} j ON j.id = i.value CROSS JOIN json_each(j.meta) AS e WHERE ${META_ROW.where}`

const noteMeta = (table: string) =>
  `INSERT OR IGNORE INTO oncue_job_meta (key, value, created, job_id) ${metaRowsOf(table)}`

export const NOTE_META = noteMeta('oncue_jobs')
export const NOTE_META_OF_ENDED = noteMeta('oncue_history')

/** For jobs that are about to be removed or changed: their meta shows which rows are theirs. */
const forgetMeta = (table: string) =>
  `DELETE FROM oncue_job_meta WHERE (key, value, created, job_id) IN (${metaRowsOf(table)})`

export const FORGET_META = forgetMeta('oncue_jobs')
export const FORGET_META_OF_ENDED = forgetMeta('oncue_history')
