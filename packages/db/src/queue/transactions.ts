import { OncueError, type Transactions } from '@oncue/core'
import { assertPool, isInTransaction, PRISMA_TIMES, type PrismaHost, type SqliteHost } from './hosts.ts'
import { fromKnex, fromMikroOrm, fromPostgresJs, fromTypeOrm } from './orm-transactions.ts'
import { type DrizzleSql, type DrizzleTransaction, fromDrizzle, fromKysely } from './query-builders.ts'

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
