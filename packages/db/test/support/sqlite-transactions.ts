import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import Database from 'better-sqlite3'
import { CamelCasePlugin, CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { PrismaClient } from '../../src/generated/sqlite/client.ts'
import { fromKysely } from '../../src/queue/query-builders.ts'
import type { TransactionKind } from '../conformance/index.ts'

async function inTransaction(url: string, body: (db: Database.Database) => Promise<unknown>): Promise<void> {
  const db = new Database(url.slice('file:'.length))
  db.exec('BEGIN IMMEDIATE')
  try {
    await body(db)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  } finally {
    db.close()
  }
}

/** Each way in which a caller can have a transaction on SQLite. */
export const transactions: TransactionKind[] = [
  {
    name: 'Prisma',
    async run(url, body) {
      const prisma = new PrismaClient({ adapter: new PrismaBetterSqlite3({ url }) })
      await prisma.$transaction((tx) => body(tx), { timeout: 30_000 }).finally(() => prisma.$disconnect())
    },
  },
  { name: 'better-sqlite3', run: (url, body) => inTransaction(url, body) },
  {
    name: 'Kysely',
    async run(url, body) {
      const dialect = new SqliteDialect({ database: new Database(url.slice('file:'.length)) })
      await using db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin()] })
      await db.transaction().execute((trx) => body(fromKysely(trx, CompiledQuery)))
    },
  },
  {
    name: 'anything with query(sql, params)',
    run: (url, body) =>
      inTransaction(url, (db) =>
        body({
          query: async (sql, values) => {
            const statement = db.prepare(sql)
            return statement.reader ? statement.all(values) : statement.run(values)
          },
        }),
      ),
  },
]
