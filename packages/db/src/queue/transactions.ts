import { isOncueError, OncueError, type Transactions } from '@oncue/core'
import type { Runtime } from '@oncue/runtime'
import { toOncueError as fromPostgres } from '../postgres/errors.ts'
import { renamed, renameTo } from '../schema.ts'
import { toOncueError as fromSqlite } from '../sqlite/errors.ts'
import type { Store } from '../store.ts'
import { assertPool, isInTransaction, PRISMA_TIMES, type PrismaHost, type SqliteHost } from './hosts.ts'
import { fromKnex, fromMikroOrm, fromPostgresJs, fromTypeOrm } from './orm-transactions.ts'
import { type DrizzleSql, type DrizzleTransaction, fromDrizzle, fromKysely } from './query-builders.ts'
import { driveIn, type Row, type Steps, type Transaction } from './transaction.ts'

/** The transaction that a method gives to its function. */
type TxOf<Method> = Method extends (work: (tx: infer Tx) => never, ...rest: never[]) => unknown ? Tx : never

/** The same of a method whose options come first. */
type SecondTxOf<Method> = Method extends (options: never, work: (tx: infer Tx) => never) => unknown
  ? Tx
  : never

/** What a Pool of pg lends. The second is its `connect` with a callback. */
type ClientOf<Connect> = Connect extends { (): Promise<infer Client>; (...rest: never[]): unknown }
  ? Client
  : never

// The compiler compares the parameters of callbacks strictly, so these name the methods only.
type PoolLike = { connect(): Promise<unknown> }
type Opens = (...args: never[]) => unknown
type KyselyLike = { transaction(): { execute: Opens } }
type DrizzleLike = { transaction: Opens }
type PostgresJsLike = { begin: Opens }
type KnexLike = { transaction: Opens }
type TypeOrmLike = { readonly manager: unknown; transaction: Opens }
type MikroOrmLike = { readonly em: { fork(): { transactional: Opens } } }

/** One of these: the connection of a service, which stays its owner's. */
type Connections = {
  readonly prisma?: PrismaHost
  readonly pool?: PoolLike
  readonly database?: SqliteHost
  readonly drizzle?: DrizzleLike
  readonly sql?: unknown
  readonly kysely?: KyselyLike
  readonly CompiledQuery?: unknown
  readonly postgresJs?: PostgresJsLike
  readonly knex?: KnexLike
  readonly typeOrm?: TypeOrmLike
  readonly mikroOrm?: MikroOrmLike
}

/**
 * How handlers' `ctx.commit` opens transactions of your own library: `defineWorkers(jobs, handlers, { transactions })`. The
 * connection must be to the database that the worker runs on. With better-sqlite3, also below Drizzle, they are
 * synchronous.
 */
export function transactionsOf<Prisma extends PrismaHost>(service: {
  /** A PrismaClient, on Postgres or SQLite. */
  readonly prisma: Prisma
}): Transactions<TxOf<Prisma['$transaction']>, 'async'>
export function transactionsOf<Pool extends PoolLike>(service: {
  /** A Pool of pg. */
  readonly pool: Pool
}): Transactions<ClientOf<Pool['connect']>, 'async'>
export function transactionsOf<Database extends SqliteHost>(service: {
  /** A connection of better-sqlite3 or bun:sqlite, or a `DatabaseSync` of node:sqlite. */
  readonly database: Database
}): Transactions<Database, 'sync'>
export function transactionsOf<Db extends DrizzleLike & { execute: Opens }, Sql, Part>(service: {
  /** A Drizzle database on node-postgres. */
  readonly drizzle: Db
  /** From drizzle-orm. */
  readonly sql: DrizzleSql<Sql, Part>
}): Transactions<TxOf<Db['transaction']>, 'async'>
export function transactionsOf<Db extends DrizzleLike, Sql, Part>(service: {
  /** A Drizzle database on better-sqlite3. */
  readonly drizzle: Db
  /** From drizzle-orm. */
  readonly sql: DrizzleSql<Sql, Part>
}): Transactions<TxOf<Db['transaction']>, 'sync'>
export function transactionsOf<Db extends KyselyLike>(service: {
  /** A Kysely database, on Postgres or SQLite. */
  readonly kysely: Db
  /** From kysely. */
  readonly CompiledQuery: { raw(sql: string, values: unknown[]): unknown }
}): Transactions<TxOf<ReturnType<Db['transaction']>['execute']>, 'async'>
export function transactionsOf<Sql extends PostgresJsLike>(service: {
  /** The `sql` of postgres.js. */
  readonly postgresJs: Sql
}): Transactions<SecondTxOf<Sql['begin']>, 'async'>
export function transactionsOf<Knex extends KnexLike>(service: {
  /** Knex, on Postgres or better-sqlite3. */
  readonly knex: Knex
}): Transactions<TxOf<Knex['transaction']>, 'async'>
export function transactionsOf<Source extends TypeOrmLike>(service: {
  /** A DataSource of TypeORM, on Postgres or better-sqlite3. */
  readonly typeOrm: Source
}): Transactions<Source['manager'], 'async'>
export function transactionsOf<Orm extends MikroOrmLike>(service: {
  /** MikroORM 7, on Postgres. */
  readonly mikroOrm: Orm
}): Transactions<Orm['em'], 'async'>
export function transactionsOf(service: Connections): Transactions {
  const given = toTransactions(service)
  if (given) return given
  const names =
    'prisma, pool, database, drizzle and sql, kysely and CompiledQuery, postgresJs, knex, typeOrm, mikroOrm'
  throw new OncueError('INVALID_INPUT', `transactionsOf takes one of: ${names}`)
}

function toTransactions(service: Connections): Transactions | undefined {
  const { prisma, pool, database, drizzle, sql, kysely, CompiledQuery } = service
  const { postgresJs, knex, typeOrm, mikroOrm } = service
  if (prisma) return asynchronous((work) => prisma.$transaction(work, PRISMA_TIMES), asItIs)
  if (pool) {
    assertPool(pool, 'transactionsOf')
    return asynchronous((work) => inPool(pool, work), asItIs)
  }
  if (database) return { mode: 'sync', open: async (work) => inSqlite(database, work), within: asItIs }
  if (drizzle && sql) return onDrizzle(drizzle, sql as DrizzleSql<unknown, unknown>)
  if (kysely && CompiledQuery) {
    const within = (trx: never) => fromKysely(trx, CompiledQuery as Parameters<typeof fromKysely>[1])
    return asynchronous((work) => call(kysely.transaction(), 'execute', work), within)
  }
  if (postgresJs) return asynchronous((work) => call(postgresJs, 'begin', work), fromPostgresJs)
  if (knex) return asynchronous((work) => call(knex, 'transaction', work), fromKnex)
  if (typeOrm) return asynchronous((work) => call(typeOrm, 'transaction', work), fromTypeOrm)
  if (mikroOrm) return asynchronous((work) => call(mikroOrm.em.fork(), 'transactional', work), fromMikroOrm)
  return undefined
}

type Work = (tx: unknown) => Promise<unknown>

const asItIs = (tx: object) => tx

/** A method whose types were checked by the overloads. */
function call<Name extends string>(library: Record<Name, Opens>, name: Name, ...args: unknown[]): unknown {
  return library[name](...(args as never[]))
}

function asynchronous(open: (work: Work) => unknown, within: (tx: never) => object): Transactions {
  return {
    mode: 'async',
    async open(work) {
      await open(async (tx) => work(tx))
    },
    within: within as Transactions['within'],
  }
}

function onDrizzle(db: DrizzleLike, sql: DrizzleSql<unknown, unknown>): Transactions {
  const within = (tx: never) => fromDrizzle(tx as DrizzleTransaction<unknown>, sql)
  if ('execute' in db) return asynchronous((work) => call(db, 'transaction', work), within)
  return {
    mode: 'sync',
    async open(work) {
      call(db, 'transaction', (tx: unknown) => void work(tx), { behavior: 'immediate' })
    },
    within: within as Transactions['within'],
  }
}

type Client = {
  query(sql: string): Promise<unknown>
  release(destroy?: boolean): void
  on?(event: 'error', heard: () => void): unknown
  off?(event: 'error', heard: () => void): unknown
}

/** A connection that breaks while it is lent also says so by an event, which would end the process. */
const heard = () => {}

async function inPool(pool: PoolLike, work: Work): Promise<void> {
  const client = (await pool.connect()) as Client
  let isBroken = true
  client.on?.('error', heard)
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
    isBroken = false
  } catch (error) {
    // A connection that cannot roll back is not used again.
    isBroken = await client.query('rollback').then(
      () => false,
      () => true,
    )
    throw error
  } finally {
    client.off?.('error', heard)
    client.release(isBroken)
  }
}

function inSqlite(database: SqliteHost, work: (database: SqliteHost) => unknown): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    work(database)
    database.exec('COMMIT')
  } catch (error) {
    if (isInTransaction(database)) database.exec('ROLLBACK')
    throw error
  }
}

// --- for the worker

/** Names that no other process uses, for as long as the check takes. */
const CHECK_MS = 60_000

/** Throws OTHER_DATABASE unless rows that the store writes are seen in these transactions. */
export async function assertSameDatabase(
  store: Store,
  transactions: Transactions,
  runtime: Runtime,
): Promise<void> {
  const name = `transactions:${runtime.uuid()}`
  const by = runtime.uuid()
  await store.lead(name, by, CHECK_MS)
  try {
    const isSeen = await sees(store, transactions, name)
    if (isSeen) return
  } catch (cause) {
    if (isRepeatable(cause) || isOncueError(cause)) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw otherDatabase(`: ${why}`, { cause })
  } finally {
    await store.stepDown(name, by).catch(() => {})
  }
  throw otherDatabase('')
}

function otherDatabase(why: string, options?: { cause: unknown }): OncueError {
  const message = `the transactions given to defineWorkers are not on the database of the worker${why}`
  return new OncueError('OTHER_DATABASE', message, options)
}

async function sees(store: Store, { open, within }: Transactions, name: string): Promise<boolean> {
  const mark = store.dialect === 'postgres' ? '$1' : '?'
  const table = store.dialect === 'postgres' ? 'oncue.leaders' : 'oncue_leaders'
  function* steps(): Steps<Row[]> {
    return yield { text: `select name from ${table} where name = ${mark}`, values: [name], reads: true }
  }
  let seen: Promise<Row[]> = Promise.resolve([])
  await open((tx) => {
    seen = driveIn(within(tx) as Transaction, renamed(steps(), renameTo(store.schema, store.dialect)))
    // A failure reaches the library, which rolls back.
    return seen
  })
  return (await seen).length > 0
}

const REPEATABLE = new Set<string>(['DATABASE_CONFLICT', 'DATABASE_BUSY', 'DATABASE_UNAVAILABLE'])
const MAX_CAUSES = 5

/** Whether a transaction that failed with this may succeed when it is repeated. Libraries wrap the error of the driver. */
export function isRepeatable(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth++) {
    // Prisma's own code for a conflict.
    if ('code' in cause && cause.code === 'P2034') return true
    if (REPEATABLE.has(fromPostgres(cause).code) || REPEATABLE.has(fromSqlite(cause).code)) return true
    const { cause: inner, driverError } = cause as { cause?: unknown; driverError?: unknown }
    cause = inner ?? driverError
  }
  return false
}
