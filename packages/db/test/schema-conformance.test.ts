import { readFile, writeFile } from 'node:fs/promises'
import { getEnvironmentData } from 'node:worker_threads'
import type pg from 'pg'
import { afterAll, expect, inject, test, vi } from 'vitest'
import { migrate } from '../src/migrate/migrate.ts'
import { describeStore } from './conformance/index.ts'
import { createEmptyPostgresDatabase, createEmptySqliteDatabase, type TestDatabase } from './support/index.ts'
import { transactions as onNodeSqlite } from './support/node-sqlite-transactions.ts'
import { transactions as onPostgres, withClient } from './support/postgres-transactions.ts'

/**
 * The conformance suite without the default schema name: a statement that was not renamed fails. On SQLite also with the
 * second driver, through which the renamed statements pass like any others.
 */

// Before a file is opened. Processes that the suite starts inherit it.
vi.stubEnv('ONCUE_SQLITE', 'node:sqlite')

/** The slowest areas, whose statements the others send too. */
const WITHOUT = ['paging', 'processes'] as const

let shared: Promise<TestDatabase> | undefined
afterAll(async () => (await shared)?.drop())

describeStore(
  {
    name: 'Postgres, schema billing:',
    schema: 'billing',
    transactions: onPostgres,
    async createDatabase() {
      shared ??= createEmptyPostgresDatabase(inject('postgresUrl')).then(async (database) => {
        await migrate(database.url, { schema: 'billing' })
        return database
      })
      const { url } = await shared
      return { url, drop: () => withClient(url, emptyPostgres) }
    },
    cutPresence: (url, worker) =>
      withClient(url, async (client) => {
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncue presence ' || $1::text`,
          [worker],
        )
      }),
  },
  WITHOUT,
)

async function emptyPostgres(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ text: string }>(
    `select string_agg(format('delete from billing.%I', relname), ';') as text from pg_class
     where relnamespace = 'billing'::regnamespace and relkind = 'r' and relname not in ('migrations', 'function_sets')`,
  )
  await client.query(String(rows[0]?.text))
}

/** Begins with the default name, so that a name that is replaced twice would show. */
const SQLITE = 'oncue_eu'
let template: Promise<Buffer> | undefined

describeStore(
  {
    name: 'SQLite through node:sqlite, prefix oncue_eu_:',
    schema: SQLITE,
    transactions: onNodeSqlite,
    async createDatabase() {
      template ??= makeSqlite()
      const database = await createEmptySqliteDatabase()
      await writeFile(database.url.slice('file:'.length), await template)
      return database
    },
  },
  ['paging'],
)

test('the driver is node:sqlite', () => {
  expect(getEnvironmentData('oncue.sqlite')).toBe('node:sqlite')
})

async function makeSqlite(): Promise<Buffer> {
  const { url, drop } = await createEmptySqliteDatabase()
  await migrate(url, { schema: SQLITE })
  const file = await readFile(url.slice('file:'.length))
  await drop()
  return file
}
