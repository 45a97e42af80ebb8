import type { Runtime } from '@oncue/runtime'
import type { PoolState } from '../store.ts'

/** What a statement may carry. JSON travels as text. */
export type Value = string | number | boolean | Date | null

export type PortableStatement = { readonly text: string; readonly values?: readonly Value[] }

/**
 * What cold code needs of a database, so that it is written once. Statements are portable SQL:
 * `{jobs}` is a table of ours, `?` is a value. Where the dialects differ, `dialect` tells.
 */
export interface Sql {
  readonly dialect: 'postgres' | 'sqlite'
  readonly runtime: Runtime
  /** Rows of a statement that only reads. */
  all<Row extends object>(statement: PortableStatement): Promise<Row[]>
  /** The same, along indexes whatever the planner knows or guesses about the tables: for walks that end early. */
  walk<Row extends object>(statement: PortableStatement): Promise<Row[]>
  /** One or more writes, as one transaction; answers how many rows the last one changed. */
  run(...statements: PortableStatement[]): Promise<number>
  /** One write with `returning`: its rows, column by column. */
  write(statement: PortableStatement): Promise<unknown[][]>
  /** A column that holds a time, as it came. */
  time(value: unknown): Date | null
  /** A column that holds JSON, as it came. */
  json(value: unknown): unknown
  /** The store's clock, also in tests. */
  now(): Promise<Date>
  /** The same as an expression, for a statement that wants to know it on the way. */
  clock(): Required<PortableStatement>
  /** Waits for claims that may not have seen what was committed just now. None do on SQLite, which has one writer. */
  claimsInFlight(): Promise<void>
  /** Null where there is no pool. */
  pool(): PoolState | null
}

const TABLE = /\{(\w+)\}/g

export function toPostgres({ text, values = [] }: PortableStatement): { text: string; values: unknown[] } {
  let n = 0
  return { text: text.replace(TABLE, 'oncue.$1').replace(/\?/g, () => `$${++n}`), values: [...values] }
}

export function toSqlite({ text, values = [] }: PortableStatement): { text: string; values: unknown[] } {
  return { text: text.replace(TABLE, 'oncue_$1'), values: sqliteValues(values) }
}

/** SQLite has no type for times and none for booleans. */
export function sqliteValues(values: readonly Value[]): (string | number | null)[] {
  return values.map((value) => {
    if (value instanceof Date) return value.getTime()
    return typeof value === 'boolean' ? Number(value) : value
  })
}
