import {
  type Connection,
  type Fragment,
  type NativeResult,
  type Sql,
  sqliteValues,
  toSqlite,
} from '../portable/sql.ts'
import type { SqliteWriter } from './client.ts'
import type { Database } from './driver.ts'
import { toOncueError } from './errors.ts'

/** Portable SQL on SQLite: reads on a connection of their own, writes through the one writer. */
export function sqliteSql(
  reader: Database,
  writerDb: Database,
  writer: SqliteWriter,
  now: () => number,
): Sql {
  const all = async <Row extends object>(statement: Fragment) => {
    const { text, values } = toSqlite(statement)
    // SQLite returns within the call. Without a turn of the event loop, a caller that reads in a loop
    // would block everything else in this process.
    await writer.runtime.sleep(0)
    try {
      return reader.prepare(text).all(...values) as Row[]
    } catch (error) {
      throw toOncueError(error)
    }
  }
  return {
    dialect: 'sqlite',
    runtime: writer.runtime,
    all,
    // On SQLite the indexes are named in the statement.
    walk: all,
    run: (...statements) =>
      writer.write(() => statements.reduce((_, statement) => run(writerDb, statement), 0)),
    write: (statement) =>
      writer.write(() => {
        const { text, values } = toSqlite(statement)
        return writerDb
          .prepare(text)
          .raw()
          .all(...values) as unknown[][]
      }),
    time: (value) => (value === null || value === undefined ? null : new Date(value as number)),
    json: (value) => (typeof value === 'string' ? JSON.parse(value) : value),
    now: async () => new Date(now()),
    clock: () => ({ text: '?', values: [new Date(now())] }),
    claimsInFlight: async () => {},
    pool: () => null,
  }
}

/** Returns how many rows it changed. */
export function run(db: Database, statement: Fragment): number {
  const { text, values } = toSqlite(statement)
  return db.prepare(text).run(...values).changes
}

/** Prisma's SQL on SQLite: reads on their own connection, writes through the one writer. */
export function sqliteConnection(reader: Database, writerDb: Database, writer: SqliteWriter): Connection {
  return {
    dialect: 'sqlite',
    async send(statement) {
      try {
        if (!reader.prepare(statement.text).readonly)
          return await writer.write(() => send(writerDb, statement))
        // As above: lets other work of this process run between two reads.
        await writer.runtime.sleep(0)
        return send(reader, statement)
      } catch (error) {
        throw toOncueError(error)
      }
    },
  }
}

function send(db: Database, { text, values }: Fragment): NativeResult {
  const statement = db.prepare(text)
  const plain = sqliteValues(values)
  if (!statement.reader) return { columns: [], rows: [], changes: statement.run(...plain).changes }
  const rows = statement.raw().all(...plain) as unknown[][]
  return { columns: statement.columns().map(({ name }) => name), rows, changes: rows.length }
}
