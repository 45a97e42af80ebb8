import Database from 'better-sqlite3'
import { transactionsOf } from '../../src/queue/transactions.ts'
import { sqliteFile } from '../../src/url.ts'
import { openPool } from './postgres-pool.ts'

/** The table of a service whose handlers commit to it, and what it is compared with, in one statement each. */
export interface CommitService {
  readonly postgres?: ReturnType<typeof onPostgres>
  readonly sqlite?: ReturnType<typeof onSqlite>
  /** Rows without an outcome, or outcomes without a row; and of one job and key, more than one row. */
  torn(): Promise<unknown[]>
  count(): Promise<number>
  close(): Promise<void>
}

const CREATE = 'create table if not exists booked (job_id text, key text, run integer)'

export function insertOf(id: string, key: string, run: number): string {
  return `insert into booked values ('${id}', '${key}', ${run})`
}

/** Everything that a run has stored in the tables of Oncue. */
const stored = (outcomes: string, history: string) => `
  select cast(job_id as text) as job_id, key from ${outcomes} where kind = 'step'
  union all select cast(id as text), 'complete' from ${history}
  where topic = 'complete_row' and cast(status as text) = 'completed'`

const torn = (outcomes: string, history: string) => `
  select * from (
    select job_id, key, sum(rows) as rows, sum(outcomes) as outcomes from (
      select job_id, key, 1 as rows, 0 as outcomes from booked
      union all select job_id, key, 0, 1 from (${stored(outcomes, history)}) s) b
    group by job_id, key) t
  where rows <> outcomes or rows > 1`

export function openCommitService(url: string): CommitService {
  return url.startsWith('postgres') ? ofPostgres(url) : ofSqlite(url)
}

function onPostgres(url: string) {
  const pool = openPool({ connectionString: url, max: 5 })
  return { pool, transactions: transactionsOf({ pool }) }
}

function ofPostgres(url: string): CommitService {
  const postgres = onPostgres(url)
  const { pool } = postgres
  const creating = pool.query(CREATE)
  creating.catch(() => {})
  return {
    postgres,
    async torn() {
      await creating
      return (await pool.query(torn('oncue.outcomes', 'oncue.history'))).rows
    },
    async count() {
      await creating
      return Number((await pool.query('select count(*) as n from booked')).rows[0].n)
    },
    close: () => pool.end(),
  }
}

function onSqlite(url: string) {
  const database = new Database(sqliteFile(url))
  database.exec(CREATE)
  return { database, transactions: transactionsOf({ database }) }
}

function ofSqlite(url: string): CommitService {
  const sqlite = onSqlite(url)
  const { database } = sqlite
  return {
    sqlite,
    torn: async () => database.prepare(torn('oncue_outcomes', 'oncue_history')).all(),
    count: async () => (database.prepare('select count(*) as n from booked').get() as { n: number }).n,
    close: async () => void database.close(),
  }
}
