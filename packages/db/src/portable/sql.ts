import type { Runtime } from '@oncue/runtime'
import { fieldOf } from '../job-columns.ts'
import type { PoolState } from '../store.ts'

/** A value of a statement. JSON is sent as text. */
export type Value = string | number | boolean | Date | null

/** SQL with its values, so that statements can be composed without counting `?`. */
export type Fragment = { readonly text: string; readonly values: readonly Value[] }

/**
 * The interface of a database for code outside the hot path, so that it is written once. Statements are portable
 * SQL: `{jobs}` is a table of ours, `?` is a value. Where the dialects differ, `dialect` says which it is.
 */
export interface Sql {
  readonly dialect: 'postgres' | 'sqlite'
  readonly runtime: Runtime
  /** Rows of a statement that only reads. */
  all<Row extends object>(statement: Fragment): Promise<Row[]>
  /** The same, but always along indexes, whatever the planner estimates: for walks that end early. */
  walk<Row extends object>(statement: Fragment): Promise<Row[]>
  /** One or more writes, as one transaction; returns how many rows the last one changed. */
  run(...statements: Fragment[]): Promise<number>
  /** One write with `returning`: its rows, column by column. */
  write(statement: Fragment): Promise<unknown[][]>
  /** A column that holds a time, as it came. */
  time(value: unknown): Date | null
  /** A column that holds JSON, as it came. */
  json(value: unknown): unknown
  /** The store's clock, also in tests. */
  now(): Promise<Date>
  /** The clock as an expression, for use inside a statement. */
  clock(): Fragment
  /** Waits for claims that may not have seen the last commit. Returns at once on SQLite, which has one writer. */
  claimsInFlight(): Promise<void>
  /** Null where there is no pool. */
  pool(): PoolState | null
}

const TABLE = /\{(\w+)\}/g

export function toPostgres({ text, values }: Fragment): { text: string; values: unknown[] } {
  let n = 0
  return { text: text.replace(TABLE, 'oncue.$1').replace(/\?/g, () => `$${++n}`), values: [...values] }
}

export function toSqlite({ text, values }: Fragment): { text: string; values: unknown[] } {
  return { text: text.replace(TABLE, 'oncue_$1'), values: sqliteValues(values) }
}

/** SQLite has no type for times and none for booleans. */
export function sqliteValues(values: readonly Value[]): (string | number | null)[] {
  return values.map((value) => {
    if (value instanceof Date) return value.getTime()
    return typeof value === 'boolean' ? Number(value) : value
  })
}

/** A time that is never null. */
export function timeOf(sql: Sql, value: unknown): Date {
  return sql.time(value) ?? new Date(0)
}

/** Rows of one insert: far below the number of values that a statement may carry. */
const CHUNK = 500

/** Inserts of rows with these columns, in their order. `rest` follows the values. */
export function insertRows(
  into: string,
  columns: string,
  rows: readonly (readonly Value[])[],
  rest = '',
): Fragment[] {
  const statements: Fragment[] = []
  for (let from = 0; from < rows.length; from += CHUNK) {
    const chunk = rows.slice(from, from + CHUNK)
    const values = join(
      chunk.map((row) => q`(${list(row)})`),
      ', ',
    )
    statements.push(q`insert into ${raw(`${into} (${columns})`)} values ${values} ${raw(rest)}`)
  }
  return statements
}

type Kinds = { readonly [column: string]: 'time' | 'json' }

/** Rows of a statement that only reads, as `fieldsOf` gives them. */
export async function readAll<Fields>(sql: Sql, statement: Fragment, kinds: Kinds = {}): Promise<Fields[]> {
  return (await sql.all(statement)).map((row) => fieldsOf(sql, row, kinds))
}

/** A row by our names of its columns, with those that hold a time or JSON decoded. */
export function fieldsOf<Fields>(sql: Sql, row: object, kinds: Kinds): Fields {
  const fields: Record<string, unknown> = {}
  for (const [column, value] of Object.entries(row)) {
    const kind = kinds[column]
    fields[fieldOf(column)] = kind ? sql[kind](value) : value
  }
  return fields as Fields
}

export type NativeResult = {
  readonly columns: readonly string[]
  /** Column by column: JSON as text, a time as a Date or in milliseconds. */
  readonly rows: unknown[][]
  /** How many rows were written, or returned. */
  readonly changes: number
}

/** What Control's Prisma client needs of a store: its connections, retries and errors. */
export interface Connection {
  readonly dialect: 'postgres' | 'sqlite'
  /** One statement in the dialect's own SQL. */
  send(statement: Fragment): Promise<NativeResult>
}

export function q(strings: TemplateStringsArray, ...parts: readonly (Fragment | Value)[]): Fragment {
  let text = strings[0] ?? ''
  const values: Value[] = []
  parts.forEach((part, i) => {
    if (isFragment(part)) {
      text += part.text
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += strings[i + 1] ?? ''
  })
  return { text, values }
}

/** Trusted SQL, inserted verbatim: never anything that came from a caller. */
export function raw(text: string): Fragment {
  return { text, values: [] }
}

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return {
    text: fragments.map(({ text }) => text).join(separator),
    values: fragments.flatMap(({ values }) => values),
  }
}

/** Values for `in (…)`. */
export function list(values: readonly Value[]): Fragment {
  return { text: values.map(() => '?').join(', '), values }
}

/** All of the conditions; true when there are none. */
export function all(conditions: readonly Fragment[]): Fragment {
  return conditions.length ? join(conditions, ' and ') : raw('1 = 1')
}

/** The `with` clause for these CTEs; empty when there are none. */
export function withCtes(ctes: readonly Fragment[]): Fragment {
  return ctes.length ? q`with recursive ${join(ctes, ', ')}` : raw('')
}

function isFragment(part: Fragment | Value): part is Fragment {
  return typeof part === 'object' && part !== null && 'text' in part
}
