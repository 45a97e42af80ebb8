import type { Rename } from '../schema.ts'
import type { Migration } from './files.ts'
import type { FunctionSet } from './functions.ts'

export interface AppliedMigration {
  name: string
  checksum: string
  appliedAt: Date
  /** Stored for code that is older than its file. */
  needs: string
}

/** A set of functions that is installed. */
export interface InstalledFunctions {
  hash: string
  /** The version of the build that installed it. */
  release: string
  /** The migration whose tables it was written for. */
  needs: string
  lastSeen: Date
  /** A worker or an API used it within the last 7 days. */
  inUse: boolean
}

/** What a dialect provides so that migrations can be applied to it. May also be called inside `alone`. */
export interface MigrationDatabase {
  /** A statement as it is written for this installation. Executed statements are converted automatically. */
  readonly rename: Rename
  /** Whether a set of functions is installed. Every role may ask. SQLite needs none. */
  hasFunctions(hash: string): Promise<boolean>
  /** The installed sets of functions, oldest release first. None on SQLite, or where the role may not see them. */
  functionSets(): Promise<InstalledFunctions[]>
  /** How many rows a table holds, by its name as migrations write it; with a column, those that have a value in it. */
  rowsOf(table: string, column?: string): Promise<number>
  /** Workers that run now. 0 if there is no table of workers. */
  liveWorkers(): Promise<number>
  /** The applied migrations, by name; null where Oncue is not installed. Takes no lock and changes nothing. */
  applied(): Promise<AppliedMigration[] | null>
  /**
   * One transaction during which no other process migrates. All of it happens, or nothing: both
   * databases roll back table definitions as they roll back rows.
   */
  alone<T>(work: (ledger: Ledger) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** What may be called inside `alone`. */
export interface Ledger {
  /** Creates the record of migrations if it is missing, and returns it, by name. */
  open(): Promise<AppliedMigration[]>
  execute(statement: string): Promise<void>
  /** A hint for an error of `execute`, where there is a better one than that it failed. */
  hintOf(error: unknown): string | undefined
  record(migration: Migration): Promise<void>
  recordFunctions(set: Pick<InstalledFunctions, 'hash' | 'release' | 'needs'>): Promise<void>
  /** Makes the SQL API call the newest installed set. Without any set, removes the API. */
  pointApi(functions: FunctionSet): Promise<void>
  /** Removes a set and its record. */
  dropFunctions(hash: string): Promise<void>
  forget(name: string): Promise<void>
  /** After the last rollback: leaves the database as it was before Oncue was installed. */
  remove(): Promise<void>
}
