import { OncueError } from '@oncue/core'

/** Prisma's `tx` inside `$transaction`. */
export type PrismaTransaction = {
  $executeRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<number>
  /** For jobs with keys or parents, whose rows are read first. */
  $queryRawUnsafe?(sql: string, ...values: unknown[]): PromiseLike<unknown>
}

/** A `pg` client, or anything else with `query(sql, params)` that returns rows, or `{ rows }`. */
export type QueryTransaction = { query(sql: string, values: unknown[]): PromiseLike<unknown> }

/** A connection of better-sqlite3, node:sqlite or bun:sqlite. */
export type SqliteTransaction = {
  prepare(sql: string): { run(...values: unknown[]): unknown; all?(...values: unknown[]): unknown[] }
}

/** A transaction of your library, for `tx`. */
export type Transaction = PrismaTransaction | QueryTransaction | SqliteTransaction

export type Statement = { readonly text: string; readonly values: unknown[] }

export type Row = Record<string, unknown>

/** A statement whose rows are wanted, or one that only writes. */
export type Step = Statement & { readonly reads: boolean }

/**
 * Work that reads before it writes. It is described once, as the statements that it wants to run, and
 * driven by the owner of the connection, synchronously or not.
 */
export type Steps<T> = Generator<Step, T, Row[]>

/**
 * Runs steps in the caller's transaction. Not an async function on purpose: on a better-sqlite3
 * connection everything has happened, or thrown, before it returns.
 */
export function driveIn<T>(tx: Transaction, steps: Steps<T>): Promise<T> {
  if (typeof tx === 'object' && tx !== null) {
    if (isPrisma(tx)) return driveAsync(steps, (step) => runOnPrisma(tx, step))
    if (isSqlite(tx)) return Promise.resolve(drive(steps, (step) => runOnSqlite(tx, step)))
    if (isQuery(tx)) return driveAsync(steps, (step) => runOnQuery(tx, step))
  }
  throw unsupported(
    'enqueue is not a supported transaction (pass fromDrizzle(tx, sql), fromKysely(trx, CompiledQuery), fromPostgresJs(sql), fromKnex(trx), fromTypeOrm(manager) or fromMikroOrm(em))',
  )
}

/** Runs steps one after the other, on a connection that returns synchronously. */
export function drive<T>(steps: Steps<T>, run: (step: Step) => Row[]): T {
  let next = steps.next()
  while (!next.done) next = steps.next(run(next.value))
  return next.value
}

export async function driveAsync<T>(steps: Steps<T>, run: (step: Step) => Promise<Row[]>): Promise<T> {
  let next = steps.next()
  while (!next.done) next = steps.next(await run(next.value))
  return next.value
}

async function runOnPrisma(tx: PrismaTransaction, { text, values, reads }: Step): Promise<Row[]> {
  if (!reads) await tx.$executeRawUnsafe(text, ...values)
  else if (tx.$queryRawUnsafe) return rowsOf(await tx.$queryRawUnsafe(text, ...values))
  else throw cannotRead('$queryRawUnsafe')
  return []
}

function runOnSqlite(tx: SqliteTransaction, { text, values, reads }: Step): Row[] {
  const statement = tx.prepare(text)
  if (!reads) statement.run(...values)
  else if (statement.all) return statement.all(...values) as Row[]
  else throw cannotRead('all')
  return []
}

async function runOnQuery(tx: QueryTransaction, { text, values, reads }: Step): Promise<Row[]> {
  const result = await tx.query(text, values)
  return reads ? rowsOf(result) : []
}

/** Throws for an unknown result instead of returning no rows: a key that is held would count as free. */
function rowsOf(result: unknown): Row[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows
  if (!Array.isArray(rows)) throw cannotRead('query that returns rows')
  return rows
}

function cannotRead(method: string): OncueError {
  return unsupported(`enqueue has no ${method}, which a job with a key or with parents needs`)
}

function isPrisma(tx: Transaction): tx is PrismaTransaction {
  if (!('$executeRawUnsafe' in tx)) return false
  // Inside `$transaction` the client has no `$connect`.
  if ('$connect' in tx && typeof tx.$connect === 'function')
    throw notInside('the PrismaClient itself', '`tx`')
  return true
}

/** Everything on it happens, or throws, before the call returns. */
export function isSqlite(tx: object): tx is SqliteTransaction {
  return 'prepare' in tx && typeof tx.prepare === 'function'
}

function isQuery(tx: Transaction): tx is QueryTransaction {
  if (!('query' in tx && typeof tx.query === 'function')) return false
  // Each query of a pool may run on another connection, and would survive the caller's rollback.
  if ('totalCount' in tx && 'idleCount' in tx) throw notInside('a pool', 'a client checked out from it')
  // Its results depend on the statement, and its DataSource has the same method outside of any transaction.
  if ('getRepository' in tx || 'isTransactionActive' in tx)
    throw unsupported(
      "enqueue is TypeORM's own: pass fromTypeOrm(manager), with the manager of the transaction",
    )
  return true
}

export function notInside(what: string, instead: string): OncueError {
  return unsupported(`enqueue is ${what}, so the jobs would not be part of your transaction: pass ${instead}`)
}

export function unsupported(what: string): OncueError {
  return new OncueError('UNSUPPORTED_TRANSACTION', `The \`tx\` given to ${what}`)
}
