import { createHash, randomUUID } from 'node:crypto'
import { until } from '@oncue/testing'
import pg from 'pg'
import { readConfig } from '../../src/config.ts'
import { readMigrations } from '../../src/migrate/files.ts'
import { migrate } from '../../src/migrate/migrate.ts'
import { migrationsFolder } from '../../src/migrate/sources.ts'
import { FUNCTION_SET } from '../../src/postgres/function-set.ts'
import type { TestDatabase } from './test-database.ts'

/** Any number, as long as nothing else on a test server uses it. */
const TEMPLATE_LOCK = 7_310_579
/** How long a closed connection may take to disappear on the server. */
const CLOSING_MS = 2_000

const templates = new Map<string, Promise<string>>()

/** A database of its own, copied from a migrated template that is made once per server. */
export async function createPostgresDatabase(serverUrl: string): Promise<TestDatabase> {
  const template = templates.get(serverUrl) ?? makeTemplate(serverUrl)
  templates.set(serverUrl, template)
  return createDatabase(serverUrl, await template)
}

/**
 * The same for tests that leave no trace in the schema and do not look at pages and plans: a database that another
 * test has emptied, if there is one. Making and dropping one takes longer than most tests do. Only on a server that
 * ends with the run.
 */
export async function borrowPostgresDatabase(serverUrl: string): Promise<TestDatabase> {
  const { databaseUrl, keepDatabases } = readConfig()
  if (keepDatabases || databaseUrl === serverUrl) return createPostgresDatabase(serverUrl)
  const { name, shape } = (await onServer(serverUrl, takeIdle)) ?? (await makeOne(serverUrl))
  return { url: withDatabase(serverUrl, name), drop: () => giveBack(serverUrl, { name, shape }) }
}

/** `shape` changes with every change of the schema. */
interface Idle {
  readonly name: string
  readonly shape: string
}

async function makeOne(serverUrl: string): Promise<Idle> {
  const { url } = await createPostgresDatabase(serverUrl)
  return { name: new URL(url).pathname.slice(1), shape: await onServer(url, shapeOf) }
}

/** In the server's own database, so that all processes of the run share them. */
const IDLE = 'create table if not exists idle_test_databases (name text primary key, shape text not null)'

async function takeIdle(client: pg.Client): Promise<Idle | undefined> {
  const { rows } = await client
    .query<Idle>(
      `delete from idle_test_databases where name =
        (select name from idle_test_databases limit 1 for update skip locked) returning name, shape`,
    )
    // The table is missing: no database has been returned yet.
    .catch(() => ({ rows: [] }))
  return rows[0]
}

async function giveBack(serverUrl: string, { name, shape }: Idle): Promise<void> {
  await onServer(serverUrl, async (client) => {
    const open = await openConnections(client, name)
    // A database that a test has broken may fail this query.
    const left = () => onServer(withDatabase(serverUrl, name), makeEmpty).catch(() => undefined)
    if (open.length === 0 && (await left()) === shape) {
      // When two processes create it at once, one of them succeeds.
      await client.query(IDLE).catch(() => {})
      await client.query('insert into idle_test_databases values ($1, $2)', [name, shape])
    } else await client.query(`drop database if exists ${name} with (force)`)
    if (open.length > 0) throw new Error(`The test left connections open: ${open.join(', ')}`)
  })
}

/** Above this size the dead rows of a test with many jobs would slow down the next one. */
const MAX_BYTES = 4 * 1_048_576

async function makeEmpty(client: pg.Client): Promise<string | undefined> {
  const shape = await shapeOf(client)
  const { rows } = await client.query<{ statements: string; bytes: number }>(
    `select string_agg(format('delete from oncue.%I', relname), ';') filter
         (where relname not in ('migrations', 'function_sets')) as statements,
       sum(pg_total_relation_size(oid))::float8 as bytes
     from pg_class where relnamespace = 'oncue'::regnamespace and relkind = 'r'`,
  )
  const [all] = rows
  if (!all || all.bytes > MAX_BYTES) return undefined
  await client.query(all.statements)
  return shape
}

/** A copy has the rows of its template's catalog, with the transactions that wrote them. */
async function shapeOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(
    `select md5(string_agg(format('%s %s %s', c.oid, c.part, c.xid), ',' order by c.oid, c.part)) as shape from (
       select oid, 0 as part, xmin::text as xid from pg_class where oid >= 16384
       union all select attrelid, attnum, xmin::text from pg_attribute where attrelid >= 16384
       union all select oid, 0, xmin::text from pg_proc where oid >= 16384
       union all select oid, 0, xmin::text from pg_constraint where oid >= 16384
       union all select oid, 0, xmin::text from pg_trigger where oid >= 16384
       union all select oid, 0, xmin::text from pg_namespace
       union all select setdatabase, 0, array_to_string(setconfig, ' ') from pg_db_role_setting
         where setdatabase = (select oid from pg_database where datname = current_database())
       union all select 0, 0, string_agg(name || checksum, ',' order by name) from oncue.migrations) c`,
  )
  return String(rows[0]?.shape)
}

/** A database of its own without Oncue in it. */
export function createEmptyPostgresDatabase(serverUrl: string): Promise<TestDatabase> {
  return createDatabase(serverUrl, 'template0')
}

async function createDatabase(serverUrl: string, template: string): Promise<TestDatabase> {
  const name = `oncue_test_${randomUUID().replaceAll('-', '').slice(0, 16)}`
  await onServer(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
  const url = withDatabase(serverUrl, name)
  return { url, drop: () => (readConfig().keepDatabases ? keep(url) : dropDatabase(serverUrl, name)) }
}

/**
 * Named after the migrations and functions, because a server that is given in DATABASE_URL outlives the run. It
 * becomes a template, in the catalog's sense, last of all: one that is not was never finished.
 */
async function makeTemplate(serverUrl: string): Promise<string> {
  const migrations = await readMigrations(migrationsFolder('postgres'))
  const sums = [...migrations.map((migration) => migration.checksum), FUNCTION_SET].join()
  const name = `oncue_template_${createHash('sha256').update(sums).digest('hex').slice(0, 12)}`
  await onServer(serverUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rows } = await client.query('select datistemplate as ready from pg_database where datname = $1', [
      name,
    ])
    if (rows[0]?.ready) return
    await client.query(`drop database if exists ${name} with (force)`)
    await client.query(`create database ${name} template template0`)
    await migrate(withDatabase(serverUrl, name))
    await client.query(`alter database ${name} with is_template true allow_connections false`)
  })
  return name
}

/** A connection that is left open would outlive the test that forgot it, so that test fails. */
async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await onServer(serverUrl, async (client) => {
    const open = await openConnections(client, name)
    await client.query(`drop database if exists ${name} with (force)`)
    if (open.length > 0) throw new Error(`The test left connections open: ${open.join(', ')}`)
  })
}

/** Those that do not close in time. */
async function openConnections(client: pg.Client, database: string): Promise<string[]> {
  let open: string[] = []
  const isUnused = async () => {
    const { rows } = await client.query<{ what: string }>(
      `select format('%s (last query: %s)', application_name, left(query, 80)) as what
       from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [database],
    )
    open = rows.map((row) => row.what)
    return open.length === 0
  }
  await until(isUnused, CLOSING_MS).catch(() => {})
  return open
}

async function keep(url: string): Promise<void> {
  process.stderr.write(`kept ${url}\n`)
}

async function onServer<T>(serverUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl, application_name: 'oncue-testing' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
