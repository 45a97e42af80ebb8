import { OncueError } from '@oncue/core'

/** Prisma's `tx` inside `$transaction`. */
export type PrismaTransaction = {
  $executeRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<number>
}

/** A `pg` client, or anything else with `query(sql, params)`. */
export type QueryTransaction = { query(sql: string, values: unknown[]): PromiseLike<unknown> }

/** A better-sqlite3 connection. */
export type SqliteTransaction = { prepare(sql: string): { run(...values: unknown[]): unknown } }

export type Transaction = PrismaTransaction | QueryTransaction | SqliteTransaction

export type Statement = { readonly text: string; readonly values: unknown[] }

/**
 * Runs statements in the caller's transaction. Not an async function on purpose: on a
 * better-sqlite3 connection everything has happened, or thrown, before it returns.
 */
export function executeIn(tx: Transaction, statements: readonly Statement[]): Promise<void> {
  if (isPrisma(tx)) return inTurn(statements, (s) => tx.$executeRawUnsafe(s.text, ...s.values))
  if (isSqlite(tx)) {
    for (const { text, values } of statements) tx.prepare(text).run(...values)
    return Promise.resolve()
  }
  if (isQuery(tx)) return inTurn(statements, (s) => tx.query(s.text, s.values))
  throw new OncueError(
    'UNSUPPORTED_TRANSACTION',
    'The `tx` given to enqueue is no transaction that Oncue knows',
  )
}

async function inTurn(statements: readonly Statement[], execute: (s: Statement) => PromiseLike<unknown>) {
  for (const statement of statements) await execute(statement)
}

function isPrisma(tx: Transaction): tx is PrismaTransaction {
  if (!('$executeRawUnsafe' in tx)) return false
  // Inside `$transaction` the client has no `$connect`.
  if ('$connect' in tx && typeof tx.$connect === 'function')
    throw notInside('the PrismaClient itself', '`tx`')
  return true
}

function isSqlite(tx: Transaction): tx is SqliteTransaction {
  return 'prepare' in tx && typeof tx.prepare === 'function'
}

function isQuery(tx: Transaction): tx is QueryTransaction {
  if (!('query' in tx && typeof tx.query === 'function')) return false
  // Each query of a pool may run on another connection, and outlives the caller's rollback.
  if ('totalCount' in tx && 'idleCount' in tx) throw notInside('a pool', 'a client that it gave out')
  return true
}

function notInside(what: string, instead: string): OncueError {
  return new OncueError(
    'UNSUPPORTED_TRANSACTION',
    `The \`tx\` given to enqueue is ${what}, so the jobs would not belong to your transaction: pass ${instead}`,
  )
}
