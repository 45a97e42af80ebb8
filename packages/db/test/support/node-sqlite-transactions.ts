import { DatabaseSync } from 'node:sqlite'
import type { TransactionKind } from '../conformance/index.ts'

async function inTransaction(url: string, body: (db: DatabaseSync) => Promise<unknown>): Promise<void> {
  const db = new DatabaseSync(url.slice('file:'.length), { timeout: 5_000 })
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

/** A caller's own transaction where the store uses node:sqlite: better-sqlite3 would be a second SQLite in the process. */
export const transactions: TransactionKind[] = [
  { name: 'node:sqlite', run: (url, body) => inTransaction(url, body) },
  {
    name: 'anything with query(sql, params)',
    run: (url, body) =>
      inTransaction(url, (db) =>
        body({ query: async (sql, values) => db.prepare(sql).all(...(values as string[])) }),
      ),
  },
]
