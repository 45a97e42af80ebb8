import { PrismaPg } from '@prisma/adapter-pg'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { PrismaClient } from '../../src/generated/postgres/client.ts'
import { fromDrizzle, fromKysely } from '../../src/queue/query-builders.ts'
import type { TransactionKind } from '../conformance/index.ts'
import { openPool } from './postgres-pool.ts'

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const inTransaction = (url: string, body: (client: pg.Client) => Promise<unknown>) =>
  withClient(url, async (client) => {
    await client.query('begin')
    try {
      await body(client)
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  })

/** Each way in which a caller can have a transaction on Postgres. */
export const transactions: TransactionKind[] = [
  {
    name: 'Prisma',
    async run(url, body) {
      const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
      await prisma.$transaction((tx) => body(tx), { timeout: 30_000 }).finally(() => prisma.$disconnect())
    },
  },
  { name: 'pg', run: (url, body) => inTransaction(url, body) },
  {
    name: 'Drizzle',
    run: (url, body) =>
      withClient(url, async (client) => {
        await drizzle(client).transaction((tx) => body(fromDrizzle(tx, sql)))
      }),
  },
  {
    name: 'Kysely',
    async run(url, body) {
      const dialect = new PostgresDialect({ pool: openPool({ connectionString: url }) })
      await using db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin()] })
      await db.transaction().execute((trx) => body(fromKysely(trx, CompiledQuery)))
    },
  },
  {
    name: 'anything with query(sql, params)',
    run: (url, body) =>
      inTransaction(url, (client) => body({ query: (sql, values) => client.query(sql, values) })),
  },
]
