import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Database, loadDriver } from '../src/sqlite/driver.ts'
import { sqliteFile } from '../src/url.ts'
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from './support/index.ts'

/** How each column type of Postgres is declared on SQLite. */
const ON_SQLITE: Record<string, string> = {
  bigint: 'BIGINT',
  boolean: 'BOOLEAN',
  'double precision': 'REAL',
  integer: 'INTEGER',
  json: 'JSONB',
  jsonb: 'JSONB',
  'oncue."Status"': 'TEXT',
  smallint: 'INTEGER',
  text: 'TEXT',
  'timestamp(3) with time zone': 'DATETIME',
  uuid: 'TEXT',
}

/** SQLite has no functions. */
const POSTGRES_ONLY = ['function_sets']

/** The parts of a schema that both databases can report, in the same notation. */
interface Shape {
  columns: string[]
  primaryKeys: string[]
  indexes: string[]
  checks: string[]
}

let postgres: TestDatabase
let sqlite: TestDatabase
let client: pg.Client
let db: Database

beforeAll(async () => {
  postgres = await createPostgresDatabase(inject('postgresUrl'))
  client = new pg.Client(postgres.url)
  await client.connect()
  sqlite = await createSqliteDatabase()
  const Driver = await loadDriver()
  db = new Driver(sqliteFile(sqlite.url))
})
afterAll(async () => {
  db.close()
  await client.end()
  await postgres.drop()
  await sqlite.drop()
})

describe('the tables of Postgres and SQLite', () => {
  test('have the same columns, with the same types, nullability and defaults', async () => {
    const { columns } = await shapeOfPostgres()
    expect(columns).toContain('jobs.run INTEGER not null default 0')
    expect(shapeOfSqlite().columns).toEqual(columns)
  })

  test('have the same primary keys', async () => {
    const { primaryKeys } = await shapeOfPostgres()
    expect(primaryKeys).toContain('payloads (job_id, part)')
    expect(shapeOfSqlite().primaryKeys).toEqual(primaryKeys)
  })

  test('have the same indexes, in the same order and with the same conditions', async () => {
    const { indexes } = await shapeOfPostgres()
    expect(indexes).toContain(`create index jobs_listed on jobs (topic, created, id) where topic <> ''`)
    expect(shapeOfSqlite().indexes).toEqual(indexes)
  })

  test('have the same checks, and SQLite more of them for what the types of Postgres refuse', async () => {
    const { checks } = await shapeOfPostgres()
    expect(checks).toContain('jobs_state')
    expect(shapeOfSqlite().checks).toEqual(expect.arrayContaining(checks))
  })
})

describe('the Prisma schemas', () => {
  const run = (script: string, ...args: string[]) =>
    spawnSync(
      process.execPath,
      [fileURLToPath(new URL(`../../../prisma/${script}`, import.meta.url)), ...args],
      {
        encoding: 'utf8',
      },
    )

  test('and the functions match their sources', () => {
    expect(run('generate.ts', '--check')).toMatchObject({ status: 0, stderr: '' })
  })

  test.each(['postgres', 'sqlite'] as const)('match the live database: %s', (dialect) => {
    const { url } = dialect === 'postgres' ? postgres : sqlite
    expect(run('diff.ts', '--url', url)).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })

  test('are reported to differ when a column is missing on Postgres', async () => {
    const changed = await createPostgresDatabase(inject('postgresUrl'))
    const owner = new pg.Client(changed.url)
    await owner.connect()
    await owner.query('alter table oncue.workers drop column presence')
    await owner.end()
    const { status, stdout } = run('diff.ts', '--url', changed.url)
    expect(status).toBe(2)
    expect(stdout).toContain('presence')
    await changed.drop()
  })

  test('are reported to differ when a column is missing on SQLite', async () => {
    const changed = await createSqliteDatabase()
    const Driver = await loadDriver()
    const owner = new Driver(sqliteFile(changed.url))
    owner.exec('ALTER TABLE oncue_workers DROP COLUMN presence')
    owner.close()
    const { status, stdout } = run('diff.ts', '--url', changed.url)
    expect(status).toBe(2)
    expect(stdout).toContain('presence')
    await changed.drop()
  })
})

async function shapeOfPostgres(): Promise<Shape> {
  const lines = async (text: string) =>
    (await client.query<[string]>({ text, rowMode: 'array' })).rows.map(([line]) => line)
  const columns = await client.query<{
    place: string
    type: string
    required: boolean
    fallback: string | null
  }>(`
    select c.relname || '.' || a.attname as place, format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as required, pg_get_expr(d.adbin, d.adrelid) as fallback
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = 'oncue'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`)
  const isShared = (line: string) => !POSTGRES_ONLY.some((table) => line.startsWith(table))
  return {
    columns: columns.rows
      .map(({ place, type, required, fallback }) =>
        column(place, ON_SQLITE[type] ?? `${type} (unknown)`, required, fallback),
      )
      .filter(isShared)
      .sort(),
    primaryKeys: (
      await lines(`
        select conrelid::regclass || ' ' || replace(pg_get_constraintdef(oid), 'PRIMARY KEY ', '')
        from pg_constraint where connamespace = 'oncue'::regnamespace and contype = 'p'`)
    )
      .map((line) => line.replace('oncue.', ''))
      .filter(isShared)
      .sort(),
    indexes: (
      await lines(`
        select pg_get_indexdef(indexrelid) from pg_index
        where indrelid in (select oid from pg_class where relnamespace = 'oncue'::regnamespace) and not indisprimary`)
    )
      .map(plain)
      .sort(),
    checks: (
      await lines(
        `select conname from pg_constraint where connamespace = 'oncue'::regnamespace and contype = 'c' and conrelid <> 0`,
      )
    ).sort(),
  }
}

function shapeOfSqlite(): Shape {
  const all = <T>(text: string) => db.prepare(text).all() as T[]
  const tables = all<{ name: string; sql: string }>(
    `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name LIKE 'oncue\\_%' ESCAPE '\\'`,
  )
  const columns = tables.flatMap(({ name }) =>
    all<{ name: string; type: string; notnull: number; dflt_value: string | null; pk: number }>(
      `PRAGMA table_info('${name}')`,
    ).map((info) => ({ ...info, table: name.slice('oncue_'.length) })),
  )
  return {
    columns: columns
      .map(({ table, name, type, notnull, dflt_value }) =>
        column(`${table}.${name}`, type, notnull === 1, dflt_value),
      )
      .sort(),
    primaryKeys: tables
      .map(({ name }) => {
        const keys = columns
          .filter(({ table, pk }) => `oncue_${table}` === name && pk > 0)
          .sort((a, b) => a.pk - b.pk)
        return `${name.slice('oncue_'.length)} (${keys.map((key) => key.name).join(', ')})`
      })
      .sort(),
    indexes: all<{ sql: string }>(
      `SELECT sql FROM sqlite_schema WHERE type = 'index' AND name LIKE 'oncue\\_%' ESCAPE '\\'`,
    )
      .map(({ sql }) => plain(sql))
      .sort(),
    checks: tables
      .flatMap(({ sql }) => [...sql.matchAll(/CONSTRAINT "(\w+)" CHECK/g)].map((match) => String(match[1])))
      .sort(),
  }
}

function column(place: string, type: string, required: boolean, fallback: string | null): string {
  const value = fallback === null ? '' : ` default ${fallback.replace(/::[\w" ]+/g, '')}`
  return `${place} ${type}${required ? ' not null' : ''}${value}`
}

/** An index without quotes, redundant parentheses and the names of the two namespaces. */
function plain(sql: string): string {
  return (
    sql
      .toLowerCase()
      .replace(' using btree', '')
      .replaceAll(/oncue[._]|"|::oncue."status"|::text/g, '')
      // Postgres has one byte of the queue in the index (see its migration).
      .replace('(((hashtext(queue) >> 24))::char)', 'queue')
      .replace(/ where \(?(.*?)\)?$/, ' where $1')
  )
}
