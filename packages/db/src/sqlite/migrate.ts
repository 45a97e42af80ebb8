import { existsSync } from 'node:fs'
import { WORKER_SILENT_MS } from '@oncue/core/wire'
import type { Runtime } from '@oncue/runtime'
import type { AppliedMigration, Ledger, MigrationDatabase } from '../migrate/ledger.ts'
import { type Rename, renameTo } from '../schema.ts'
import { whenFree as waitUntilFree } from './client.ts'
import { type Database, driverFor, loadDriver, makePrivateFile } from './driver.ts'
import { toOncueError } from './errors.ts'

const CREATE_LEDGER = `CREATE TABLE IF NOT EXISTS "oncue_migrations" (
  "name"       TEXT NOT NULL PRIMARY KEY,
  "checksum"   TEXT NOT NULL,
  "applied_at" DATETIME NOT NULL,
  "needs"      TEXT NOT NULL
)`

const RECORD = 'INSERT INTO oncue_migrations (name, checksum, applied_at, needs) VALUES (?, ?, ?, ?)'

/** How long another connection may hold the file. */
const BUSY_LIMIT_MS = 60_000

/** Returns null for a file that does not exist, unless it is to be created. */
export async function openSqlite(
  file: string,
  schema: string,
  create: boolean,
  runtime: Runtime,
  signal?: AbortSignal,
): Promise<MigrationDatabase | null> {
  const whenFree = <T>(attempt: () => T) => waitUntilFree(attempt, runtime, BUSY_LIMIT_MS, signal)
  if (!create && !existsSync(file)) return null
  const Driver = driverFor(await loadDriver(), schema)
  const rename = renameTo(schema, 'sqlite')
  if (create) makePrivateFile(file)
  const db = await whenFree(() => new Driver(file, { timeout: 0, fileMustExist: !create }))
  try {
    if (create) await whenFree(() => db.exec('PRAGMA journal_mode = WAL'))
    await whenFree(() => db.exec('PRAGMA schema_version'))
  } catch (error) {
    db.close()
    throw error
  }
  return {
    rename,
    applied: () =>
      whenFree(() =>
        inTransaction(db, () => (hasTable(db, rename('oncue_migrations')) ? readLedger(db) : null)),
      ),
    async alone(work) {
      await whenFree(() => db.exec('BEGIN IMMEDIATE'))
      try {
        const result = await work(ledgerOn(db, runtime))
        await whenFree(() => db.exec('COMMIT'))
        return result
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK')
        throw toOncueError(error)
      }
    },
    hasFunctions: async () => true,
    functionSets: async () => [],
    rowsOf: (table, column = '*') =>
      whenFree(() => countOf(db, `SELECT count(${column}) AS count FROM ${table}`)),
    liveWorkers: () => whenFree(() => countLiveWorkers(db, rename, runtime)),
    async close() {
      db.close()
    },
  }
}

function ledgerOn(db: Database, runtime: Runtime): Ledger {
  return {
    hintOf: () => undefined,
    async open() {
      db.exec(CREATE_LEDGER)
      return readLedger(db)
    },
    async execute(statement) {
      db.exec(statement)
    },
    async record({ name, checksum, needs }) {
      db.prepare(RECORD).run(name, checksum, runtime.now(), needs)
    },
    async recordFunctions() {},
    async pointApi() {},
    async dropFunctions() {},
    async forget(name) {
      db.prepare('DELETE FROM oncue_migrations WHERE name = ?').run(name)
    },
    async remove() {
      db.exec('DROP TABLE oncue_migrations')
    },
  }
}

/** The table may vanish between two reads. */
function inTransaction<T>(db: Database, read: () => T): T {
  db.exec('BEGIN')
  try {
    return read()
  } finally {
    db.exec('ROLLBACK')
  }
}

function hasTable(db: Database, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
}

function countLiveWorkers(db: Database, rename: Rename, runtime: Runtime): number {
  if (!hasTable(db, rename('oncue_workers'))) return 0
  const query = 'SELECT count(*) AS count FROM oncue_workers WHERE missing_since IS NULL AND last_beat > ?'
  return countOf(db, query, runtime.now() - WORKER_SILENT_MS)
}

function countOf(db: Database, query: string, ...values: number[]): number {
  return (db.prepare(query).get(...values) as { count: number }).count
}

function readLedger(db: Database): AppliedMigration[] {
  const rows = db
    .prepare('SELECT name, checksum, applied_at, needs FROM oncue_migrations ORDER BY name')
    .all()
  return (rows as (Omit<AppliedMigration, 'appliedAt'> & { applied_at: number })[]).map(
    ({ applied_at, ...row }) => ({ ...row, appliedAt: new Date(applied_at) }),
  )
}
