import Database from 'better-sqlite3'
import pg from 'pg'
import { toPostgres, toSqlite, type Value } from '../../src/portable/sql.ts'
import { dialectOf, sqliteFile } from '../../src/url.ts'

type Row = { readonly [column: string]: unknown }

/** Rows of a portable statement, read beside the store. */
export type Reader = ((text: string, values?: Value[]) => Promise<Row[]>) & {
  readonly dialect: 'postgres' | 'sqlite'
  close(): Promise<void>
}

export async function openReader(url: string): Promise<Reader> {
  if (dialectOf(url) === 'postgres') {
    const client = new pg.Client({ connectionString: url, application_name: 'model reader' })
    await client.connect()
    const read = async (text: string, values: Value[] = []) =>
      (await client.query<Row>(toPostgres({ text, values }))).rows
    return Object.assign(read, { dialect: 'postgres' as const, close: () => client.end() })
  }
  const db = new Database(sqliteFile(url), { readonly: true })
  const read = async (text: string, values: Value[] = []) => {
    const statement = toSqlite({ text, values })
    return db.prepare<unknown[], Row>(statement.text).all(statement.values)
  }
  return Object.assign(read, { dialect: 'sqlite' as const, close: async () => void db.close() })
}
