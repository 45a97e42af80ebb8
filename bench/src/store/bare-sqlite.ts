import Database from 'better-sqlite3'
import { type BareContender, LEASE_MS, QUEUE, type Run, WORKER } from './contender.ts'

/** Like bare-postgres.ts: everything that Oncue stores about a plain job, and nothing else. */
const TABLES = `
CREATE TABLE IF NOT EXISTS bench_jobs (
  id TEXT PRIMARY KEY NOT NULL,
  run_at INTEGER NOT NULL,
  created INTEGER NOT NULL,
  locked_until INTEGER,
  started_at INTEGER,
  locked_by TEXT,
  run INTEGER NOT NULL DEFAULT 0,
  timeout_ms INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  retries INTEGER NOT NULL DEFAULT 0,
  max_retries INTEGER NOT NULL,
  queue TEXT NOT NULL,
  topic TEXT NOT NULL,
  payload TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS bench_jobs_ready ON bench_jobs (queue, priority DESC, run_at, id);
CREATE INDEX IF NOT EXISTS bench_jobs_listed ON bench_jobs (topic, created, id);
CREATE TABLE IF NOT EXISTS bench_history (
  id TEXT PRIMARY KEY NOT NULL,
  run_at INTEGER NOT NULL,
  created INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER NOT NULL,
  locked_by TEXT,
  run INTEGER NOT NULL,
  timeout_ms INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  retries INTEGER NOT NULL,
  max_retries INTEGER NOT NULL,
  status INTEGER NOT NULL,
  queue TEXT NOT NULL,
  topic TEXT NOT NULL,
  payload TEXT,
  result TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS bench_history_listed ON bench_history (topic, created, id) WHERE status = 1;
CREATE TABLE IF NOT EXISTS bench_counts (minute INTEGER NOT NULL, queue TEXT NOT NULL, topic TEXT NOT NULL, completed INTEGER NOT NULL);`

const INSERT = `INSERT INTO bench_jobs (id, payload, queue, topic, priority, max_retries, timeout_ms, run_at, created)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

const READY = `SELECT id, run, topic, payload, retries, max_retries, timeout_ms, created FROM bench_jobs
WHERE queue = ? AND run_at <= ? AND (locked_until IS NULL OR locked_until < ?)
ORDER BY priority DESC, run_at, id LIMIT ?`

const CLAIM = `UPDATE bench_jobs SET locked_until = ?, locked_by = ?, started_at = ?, run = run + 1 WHERE id = ?`

const FINISH = `INSERT INTO bench_history
  (id, run_at, created, started_at, finished_at, locked_by, run, timeout_ms, priority, retries, max_retries,
   status, queue, topic, payload)
SELECT id, run_at, created, started_at, ?, locked_by, run, timeout_ms, priority, retries, max_retries,
  1, queue, topic, payload
FROM bench_jobs WHERE id = ? AND run = ?`

const REMOVE = `DELETE FROM bench_jobs WHERE id = ?`

export const RESET = `DELETE FROM oncue_jobs; DELETE FROM oncue_history; DELETE FROM oncue_payloads; DELETE FROM oncue_stat_deltas;
DELETE FROM bench_jobs; DELETE FROM bench_history; DELETE FROM bench_counts; PRAGMA wal_checkpoint(TRUNCATE);`

type Row = Run & { readonly payload: string }

/** With the durability of Oncue's default. */
export function openBareSqlite(file: string): BareContender {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec(TABLES)
  return bareOn(db)
}

/** Prepared statements in one transaction per call, or in the open transaction of the connection. */
export function bareOn(db: Database.Database): BareContender {
  const insert = db.prepare(INSERT)
  const ready = db.prepare<unknown[], Row>(READY)
  const take = db.prepare(CLAIM)
  const finish = db.prepare(FINISH)
  const remove = db.prepare(REMOVE)
  const count = db.prepare('INSERT INTO bench_counts VALUES (?, ?, ?, ?)')

  const claim = (limit: number): Run[] => {
    const now = Date.now()
    return ready.all(QUEUE, now, now, limit).map((row) => {
      take.run(now + LEASE_MS, WORKER, now, row.id)
      return { ...row, run: row.run + 1, payload: JSON.parse(row.payload) }
    })
  }
  const settle = (runs: readonly Run[]): void => {
    const now = Date.now()
    for (const { id, run } of runs) {
      if (finish.run(now, id, run).changes !== 1) throw new Error(`did not settle ${id}`)
      remove.run(id)
    }
    if (runs.length > 0) count.run(now - (now % 60_000), QUEUE, 'bench', runs.length)
  }
  return {
    name: 'bare',
    enqueue: async (jobs) =>
      db
        .transaction(() => {
          const now = Date.now()
          for (const { id, payload, queue, topic, priority, maxRetries, timeoutMs } of jobs) {
            insert.run(id, payload, queue, topic, priority, maxRetries, timeoutMs, now, now)
          }
        })
        .immediate(),
    claim: async (limit) => db.transaction(() => claim(limit)).immediate(),
    settle: async (runs) => db.transaction(() => settle(runs)).immediate(),
    settleAndClaim: async (runs, limit) =>
      db
        .transaction(() => {
          settle(runs)
          return claim(limit)
        })
        .immediate(),
    close: async () => {
      db.close()
    },
  }
}
