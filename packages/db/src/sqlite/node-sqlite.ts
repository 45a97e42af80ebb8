import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { Database, Driver, DriverOptions, Statement } from './driver.ts'

/** `node:sqlite` as a driver, or null where this runtime has none, or one that lacks what the store needs. */
export function nodeDriver(): Driver | null {
  const sqlite = quietly(() => process.getBuiltinModule?.('node:sqlite'))
  if (!sqlite || !isComplete(sqlite.DatabaseSync)) return null
  return class extends NodeDatabase {
    constructor(file: string, options?: DriverOptions) {
      super(sqlite.DatabaseSync, file, options)
    }
  }
}

/** Node before 24.15 warns that the module is experimental. Its user did not choose it, and cannot act on that. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Node before 22.16 does not tell of an open transaction, Deno 2.9 not the number of every error. */
function isComplete(DatabaseSync: typeof import('node:sqlite').DatabaseSync): boolean {
  const db = new DatabaseSync(':memory:')
  try {
    if (db.isTransaction !== false) return false
    db.exec('ROLLBACK')
    return false
  } catch (error) {
    return typeof (error as { errcode?: unknown }).errcode === 'number'
  } finally {
    db.close()
  }
}

class NodeDatabase implements Database {
  readonly #db: DatabaseSync

  constructor(
    DatabaseSync: typeof import('node:sqlite').DatabaseSync,
    file: string,
    { readonly = false, fileMustExist = false, timeout = 0 }: DriverOptions = {},
  ) {
    const url = pathToFileURL(file)
    if (fileMustExist) url.searchParams.set('mode', 'rw')
    this.#db = new DatabaseSync(readonly ? file : url, { readOnly: readonly, timeout })
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  prepare(source: string): Statement {
    return new NodeStatement(this.#db.prepare(source), source)
  }

  exec(source: string): void {
    this.#db.exec(source)
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

class NodeStatement implements Statement {
  readonly #statement: StatementSync
  readonly #source: string

  constructor(statement: StatementSync, source: string) {
    this.#statement = statement
    this.#source = source
  }

  get reader(): boolean {
    return this.#statement.columns().length > 0
  }

  get readonly(): boolean {
    return /^\s*select\b/i.test(this.#source)
  }

  columns(): { readonly name: string }[] {
    return this.#statement.columns() as { name: string }[]
  }

  raw(): this {
    this.#statement.setReturnArrays(true)
    return this
  }

  run(...values: unknown[]): { readonly changes: number } {
    return this.#statement.run(...bound(values)) as { changes: number }
  }

  get(...values: unknown[]): unknown {
    return this.#statement.get(...bound(values))
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement.all(...bound(values))
  }
}

/** Unlike better-sqlite3, it takes no undefined. */
function bound(values: unknown[]): never[] {
  return (values.includes(undefined) ? values.map((value) => value ?? null) : values) as never[]
}
