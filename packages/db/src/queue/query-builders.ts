import {
  notInside,
  type QueryTransaction,
  type SqliteTransaction,
  type Transaction,
  unsupported,
} from './transaction.ts'

/** Kysely's transaction: `db.transaction().execute((trx) => …)`. */
export type KyselyTransaction<Query> = {
  /** False on the database itself. */
  readonly isTransaction: true
  withoutPlugins(): { executeQuery(query: Query): Promise<unknown> }
}

/** `fromKysely(trx, CompiledQuery)`: the `tx` of an enqueue, with `CompiledQuery` from kysely. */
export function fromKysely<Query>(
  trx: KyselyTransaction<Query>,
  CompiledQuery: { raw(sql: string, values: unknown[]): Query },
): QueryTransaction {
  if (!trx.isTransaction) throw notInside('the Kysely database itself', 'the transaction instead')
  // Without plugins, which could rename the columns that we read.
  const plain = trx.withoutPlugins()
  return { query: (text, values) => plain.executeQuery(CompiledQuery.raw(text, values)) }
}

/** Drizzle's transaction on node-postgres or better-sqlite3: `db.transaction((tx) => …)`. */
export type DrizzleTransaction<Sql> = {
  /** The database itself has no such property. */
  rollback(): unknown
} & ({ execute(query: Sql): PromiseLike<unknown> } | { run(query: Sql): unknown; all(query: Sql): unknown })

/** Drizzle's tag, and the three of its functions that are used. */
export type DrizzleSql<Sql, Part> = {
  raw(text: string): Sql & Part
  param(value: unknown): Part
  join(parts: Part[]): Sql
}

/** `fromDrizzle(tx, sql)`: the `tx` of an enqueue, with `sql` from drizzle-orm. */
export function fromDrizzle<Sql, Part>(tx: DrizzleTransaction<Sql>, sql: DrizzleSql<Sql, Part>): Transaction {
  if (typeof tx.rollback !== 'function')
    throw notInside('the Drizzle database itself', 'the transaction instead')
  const toSql = (text: string, values: unknown[]) => sql.join(partsOf(text, values, sql))
  return 'execute' in tx
    ? { query: (text, values) => unwrapped(tx.execute(toSql(text, values))) }
    : synchronous(
        (text, values) => tx.run(toSql(text, values)),
        (text, values) => tx.all(toSql(text, values)),
      )
}

type Execute = (text: string, values: unknown[]) => unknown

function synchronous(run: Execute, all: Execute): SqliteTransaction {
  return {
    prepare: (text) => ({
      run: (...values) => resultOf(run(text, values)),
      all: (...values) => resultOf(all(text, values)) as unknown[],
    }),
  }
}

/** With an asynchronous driver, Drizzle returns a query that was not sent yet. */
function resultOf(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('then' in result)) return result
  throw unsupported('fromDrizzle uses an asynchronous SQLite driver: only better-sqlite3 is supported')
}

/** Drizzle wraps the driver's error. */
async function unwrapped(sending: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await sending
  } catch (error) {
    throw (error as { cause?: unknown } | null)?.cause ?? error
  }
}

/** Drizzle numbers its parameters itself: a statement of ours is cut at `$1` and `?`. */
function partsOf<Part>(text: string, values: unknown[], sql: DrizzleSql<unknown, Part>): Part[] {
  let next = 0
  return text
    .split(/(\$\d+|\?)/)
    .map((part, i) =>
      i % 2 === 0
        ? (sql.raw(part) as Part)
        : sql.param(values[part === '?' ? next++ : Number(part.slice(1)) - 1]),
    )
}
