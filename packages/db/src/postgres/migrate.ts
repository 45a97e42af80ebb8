import { OncueError } from '@oncue/core'
import { WORKER_SILENT_MS } from '@oncue/core/wire'
import type { Runtime } from '@oncue/runtime'
import type pg from 'pg'
import { installableApi, publicNamesIn } from '../migrate/functions.ts'
import type { AppliedMigration, InstalledFunctions, Ledger, MigrationDatabase } from '../migrate/ledger.ts'
import { renameTo } from '../schema.ts'
import { hintOf, toOncueError } from './errors.ts'
import { abandonable, CONNECT_TIMEOUT_MS, clientFor, prepareSession, queryAsIs } from './session.ts'

/** Two numbers and not one: presence locks use the other key space, so that they never collide. */
const LOCK = `1869505397, hashtext('oncue.migrations')`

/** Marks a schema that we created: one that an administrator created for us is not ours to drop. */
const OURS = 'Made by oncue-migrate'

const CREATE_LEDGER = `create table if not exists oncue.migrations (
  name       text not null,
  checksum   text not null,
  applied_at timestamptz(3) not null,
  needs      text not null,
  constraint migrations_pkey primary key (name)
)`

const RECORD = `insert into oncue.migrations (name, checksum, applied_at, needs)
  values ($1, $2, date_trunc('milliseconds', clock_timestamp()), $3)`

const RECORD_FUNCTIONS = `insert into oncue.function_sets (hash, release, needs, installed_at, last_seen)
  select $1, $2, $3, c.now, c.now from (select oncue.clock() as now) c`

/**
 * New functions, those of a set or some by name, get the grants of `oncue.clock`, whatever the default privileges are: roles that could call the
 * functions before can call them after an upgrade. Without grants of its own that is everyone, as usual in Postgres.
 */
const GRANTS = `
with added as (
  select string_agg(oid::regprocedure::text, ', ') as names from pg_proc
  where pronamespace = 'oncue'::regnamespace and (right(proname, 9) = '_' || $1 or proname = any ($2))
), granted as (
  select distinct a.grantee from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
  where p.oid = 'oncue.clock()'::regprocedure
)
select 'revoke all on function ' || added.names || ' from public' as grant from added
union all
select 'grant execute on function ' || added.names || ' to ' || (case when g.grantee = 0 then 'public' else g.grantee::regrole::text end) from added, granted g`

const NAMED = `select proname as name from pg_proc where pronamespace = 'oncue'::regnamespace and proname = any ($1)`

/** The newest set by the tables that it knows and its release; whether the API calls it. */
const NEWEST = `
select s.hash, exists (
  select from pg_proc where pronamespace = 'oncue'::regnamespace and proname = 'enqueue' and strpos(prosrc, s.hash) > 0
) as current
from oncue.function_sets s
order by s.needs collate "C" desc, string_to_array(substring(s.release from '^[0-9.]+'), '.')::integer[] desc nulls last,
  s.installed_at desc limit 1`

/** How the set with a hash is dropped. Functions at once, because some need others to exist; then the types in them. */
const FUNCTIONS_AND_TYPES = `
select 'drop function ' || string_agg(oid::regprocedure::text, ', ') as drop from pg_proc
where pronamespace = 'oncue'::regnamespace and right(proname, 9) = '_' || $1
union all
select 'drop type ' || string_agg(oid::regtype::text, ', ') from pg_type
where typnamespace = 'oncue'::regnamespace and right(typname, 9) = '_' || $1 and typcategory <> 'A'`

/**
 * How long a migration waits for a table that is in use before it backs off and retries: behind a statement that
 * waits to change a table, all others wait, too, and the queue would stand still.
 */
const LOCK_WAIT_MS = 2_000
const LOCK_PAUSE_MS = 1_000
const LOCK_ATTEMPTS = 20

/** How long a migration waits silently, and at most, for another one to end. */
const NOTICE_AFTER_MS = 5_000
const MIGRATION_WAIT_MS = 600_000

const LOCK_NOT_AVAILABLE = '55P03'
const DEPENDENT_OBJECTS_STILL_EXIST = '2BP01'
/** No such table, no such schema. */
const NOT_INSTALLED = ['42P01', '3F000']

export async function openPostgres(
  url: string,
  schema: string,
  runtime: Runtime,
  lockTimeoutMs = MIGRATION_WAIT_MS,
  signal?: AbortSignal,
): Promise<MigrationDatabase> {
  const rename = renameTo(schema, 'postgres')
  const client = new (abandonable(clientFor(schema), signal))({
    connectionString: url,
    application_name: 'oncue-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // A connection that breaks fails the query that waits on it; without a listener it would end the process.
  client.on('error', () => {})
  await translated(async () => {
    await client.connect()
    await prepareSession(client)
  })
  return {
    rename,
    applied: () => translated(() => readInstalled(client)),
    alone: (work) =>
      translated(() =>
        whenUnlocked(async () => {
          try {
            await begin(client, runtime, lockTimeoutMs)
            const result = await work(ledgerOn(client))
            await client.query('commit')
            return result
          } catch (error) {
            await client.query('rollback').catch(() => {})
            throw error
          }
        }, runtime),
      ),
    hasFunctions: (hash) => translated(() => hasFunctions(client, hash)),
    functionSets: () => translated(() => readFunctionSets(client)),
    rowsOf: (table, column = '*') =>
      translated(() => countOf(client, `select count(${column}) as count from ${table}`)),
    liveWorkers: () => translated(() => countLiveWorkers(client)),
    close: () => client.end(),
  }
}

/** Converts every error of the driver into one of ours. */
async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toOncueError(error)
  }
}

async function whenUnlocked<T>(attempt: () => Promise<T>, runtime: Runtime): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
      if (![code, cause?.code].includes(LOCK_NOT_AVAILABLE) || count === LOCK_ATTEMPTS) throw error
      await runtime.sleep(LOCK_PAUSE_MS)
    }
  }
}

/**
 * The lock belongs to the transaction and not to the session, so it also holds behind a transaction
 * pooler and cannot be left behind. Read committed, whatever the role's default: a snapshot from
 * before the wait for the lock would not show what the previous holder did.
 */
async function begin(client: pg.Client, runtime: Runtime, lockTimeoutMs: number): Promise<void> {
  await client.query('begin isolation level read committed read write')
  await client.query('set local statement_timeout = 0')
  await client.query('set local idle_in_transaction_session_timeout = 0')
  await takeLock(client, runtime, lockTimeoutMs)
  await client.query(`set local lock_timeout = ${LOCK_WAIT_MS}`)
}

async function takeLock(client: pg.Client, runtime: Runtime, timeoutMs: number): Promise<void> {
  await client.query(`set local lock_timeout = ${Number(timeoutMs)}`)
  const limit = `${timeoutMs / 1_000} s`
  const notice = runtime.after(NOTICE_AFTER_MS, () => {
    process.stderr.write(`waiting up to ${limit} for another migration of this database\n`)
  })
  try {
    await client.query(`select pg_advisory_xact_lock(${LOCK})`)
  } catch (error) {
    if ((error as pg.DatabaseError).code !== LOCK_NOT_AVAILABLE) throw error
    const message = `Another migration of this database has not finished within ${limit}`
    throw new OncueError('DATABASE_BUSY', message, {
      hint: "Inspect it: select * from pg_stat_activity where application_name = 'oncue-migrate'. If it hangs, end it with pg_terminate_backend (it is rolled back), then migrate again.",
    })
  } finally {
    runtime.cancel(notice)
  }
}

function ledgerOn(client: pg.Client): Ledger {
  const run = async (text: string, values?: unknown[]) => {
    await client.query(text, values)
  }
  const grant = async (hash: string, names: readonly string[]) => {
    const { rows } = await client.query<{ grant: string | null }>(GRANTS, [hash, names])
    for (const row of rows) if (row.grant) await queryAsIs(client, row.grant)
  }
  return {
    async open() {
      // `create schema if not exists` requires the privilege to create one even where it exists.
      const { rows } = await client.query(`select to_regnamespace('oncue') is null as missing`)
      if (rows[0].missing) await run(`create schema oncue; comment on schema oncue is '${OURS}'`)
      await run(CREATE_LEDGER)
      return readLedger(client)
    },
    async recordFunctions({ hash, release, needs }) {
      await run(RECORD_FUNCTIONS, [hash, release, needs])
      await grant(hash, [])
    },
    async pointApi(functions) {
      const { rows } = await client.query<{ hash: string; current: boolean }>(NEWEST)
      const [newest] = rows
      const names = publicNamesIn(functions.sql)
      if (!newest) for (const name of names) await run(`drop function if exists oncue.${name}`)
      if (!newest || newest.current) return
      const { rows: kept } = await client.query<{ name: string }>(NAMED, [names])
      await run(installableApi(functions, newest.hash))
      await grant(
        '',
        names.filter((name) => !kept.some((one) => one.name === name)),
      )
    },
    async dropFunctions(hash) {
      const { rows } = await client.query(FUNCTIONS_AND_TYPES, [hash])
      for (const { drop } of rows) if (drop) await queryAsIs(client, drop)
      await run('delete from oncue.function_sets where hash = $1', [hash])
    },
    execute: (statement) => run(statement),
    hintOf,
    record: ({ name, checksum, needs }) => run(RECORD, [name, checksum, needs]),
    forget: (name) => run('delete from oncue.migrations where name = $1', [name]),
    async remove() {
      await run('drop table oncue.migrations')
      const { rows } = await client.query(
        `select obj_description(to_regnamespace('oncue')::oid, 'pg_namespace') as comment`,
      )
      if (rows[0].comment === OURS) await dropSchemaIfEmpty(client)
    },
  }
}

/** It may hold objects of its owner. */
async function dropSchemaIfEmpty(client: pg.Client): Promise<void> {
  await client.query('savepoint before_drop')
  try {
    await client.query('drop schema oncue')
  } catch (error) {
    if ((error as pg.DatabaseError).code !== DEPENDENT_OBJECTS_STILL_EXIST) throw error
    await client.query('rollback to savepoint before_drop')
  }
}

/** Asked in one query: between two, the first finding could be removed. */
async function readInstalled(client: pg.Client): Promise<AppliedMigration[] | null> {
  try {
    return await readLedger(client)
  } catch (error) {
    if (NOT_INSTALLED.includes((error as pg.DatabaseError).code ?? '')) return null
    throw error
  }
}

async function readLedger(client: pg.Client): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select name, checksum, applied_at as "appliedAt", needs from oncue.migrations order by name collate "C"',
  )
  return rows
}

async function hasFunctions(client: pg.Client, hash: string): Promise<boolean> {
  const { rows } = await client.query(
    `select exists (
       select from pg_proc where pronamespace = to_regnamespace('oncue') and proname = 'claim_' || $1) as installed`,
    [hash],
  )
  return rows[0].installed
}

async function readFunctionSets(client: pg.Client): Promise<InstalledFunctions[]> {
  const { rows } = await client.query(
    `select has_table_privilege(to_regclass('oncue.function_sets'), 'select') as readable`,
  )
  if (!rows[0].readable) return []
  const sets = await client.query<InstalledFunctions>(
    `select hash, release, needs, last_seen as "lastSeen",
       last_seen > clock_timestamp() - interval '7 days' as "inUse"
     from oncue.function_sets order by installed_at, hash`,
  )
  return sets.rows
}

async function countLiveWorkers(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`select to_regclass('oncue.workers') is not null as installed`)
  if (!rows[0].installed) return 0
  return countOf(
    client,
    `select count(*) as count from oncue.workers
     where missing_since is null and last_beat > clock_timestamp() - interval '${WORKER_SILENT_MS} milliseconds'`,
  )
}

async function countOf(client: pg.Client, query: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(query)
  return Number(rows[0]?.count)
}
