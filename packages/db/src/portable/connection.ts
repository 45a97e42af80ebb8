import type { Value } from './sql.ts'

/** One statement in the dialect's own SQL. */
export type NativeStatement = { readonly text: string; readonly values: readonly Value[] }

export type NativeResult = {
  readonly columns: readonly string[]
  /** Column by column: JSON as text, a time as a Date or in milliseconds. */
  readonly rows: unknown[][]
  /** How many rows were written, or returned. */
  readonly changes: number
}

/** Statements that are committed together. SQLite writes nothing else meanwhile, so they must follow at once. */
export interface Batch {
  send(statement: NativeStatement): Promise<NativeResult>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** What Control's Prisma client needs of a store: its connections, retries and errors. */
export interface Connection {
  readonly dialect: 'postgres' | 'sqlite'
  send(statement: NativeStatement): Promise<NativeResult>
  begin(): Promise<Batch>
}
