import type { Database } from 'better-sqlite3'
import { type PortableStatement, type Sql, toSqlite } from '../sql.ts'
import type { SqliteWriter } from './client.ts'
import { toOncueError } from './errors.ts'

/** Portable SQL on SQLite: reads on a connection of their own, writes through the one writer. */
export function sqliteSql(
  reader: Database,
  writerDb: Database,
  writer: SqliteWriter,
  now: () => number,
): Sql {
  const all = async <Row extends object>(statement: PortableStatement) => {
    const { text, values } = toSqlite(statement)
    // SQLite answers within the call. Without a turn of the event loop a caller that reads in a loop
    // would let nothing else of this process happen.
    await writer.runtime.sleep(0)
    try {
      return reader.prepare(text).all(values) as Row[]
    } catch (error) {
      throw toOncueError(error)
    }
  }
  return {
    dialect: 'sqlite',
    runtime: writer.runtime,
    all,
    // There the indexes are named in the statement.
    walk: all,
    run: (...statements) =>
      writer.write(() => {
        let changes = 0
        for (const { text, values } of statements.map(toSqlite))
          changes = writerDb.prepare(text).run(values).changes
        return changes
      }),
    write: (statement) =>
      writer.write(() => {
        const { text, values } = toSqlite(statement)
        return writerDb.prepare(text).raw().all(values) as unknown[][]
      }),
    time: (value) => (value === null || value === undefined ? null : new Date(value as number)),
    json: (value) => (typeof value === 'string' ? JSON.parse(value) : value),
    now: async () => new Date(now()),
    clock: () => ({ text: '?', values: [new Date(now())] }),
    pool: () => null,
  }
}
