import { isOncueError, type JobId, type NewJob, OncueError } from '@oncue/core'
import type { Runtime } from '@oncue/runtime'
import type { Pool } from 'pg'
import { idsOf, wakeNames } from '../portable/enqueue.ts'
import type { NewSignal } from '../portable/outcomes.ts'
import { signalSteps as postgresSignal, signalAlone, signalIn } from '../postgres/durable.ts'
import { enqueueAlone, enqueueAndWake, enqueueIn, toCallersError } from '../postgres/enqueue.ts'
import { toOncueError as fromPostgres } from '../postgres/errors.ts'
import { PostgresNotifier } from '../postgres/notifier.ts'
import { DEFAULT_SCHEMA, migrationHint, type Rename, renamed, renameTo, toSchema } from '../schema.ts'
import { enqueueSteps } from '../sqlite/enqueue.ts'
import { toOncueError as fromSqlite } from '../sqlite/errors.ts'
import { signalSteps as sqliteSignal } from '../sqlite/work/durable.ts'
import type { EnqueueOutcome, Store } from '../store.ts'
import type { DialectName } from '../url.ts'
import { jobIdsOf } from '../uuid.ts'
import {
  driveIn,
  type PrismaTransaction,
  type SqliteTransaction,
  type Steps,
  type Transaction,
} from './transaction.ts'

/** A `PrismaClient`, whatever its schema and its database. */
export type PrismaHost = {
  $transaction<T>(
    work: (tx: PrismaTransaction) => Promise<T>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<T>
}

/** A `pg.Pool`. */
export type PoolHost = {
  connect(): Promise<{ query(sql: string, values: unknown[]): unknown; release(destroy?: boolean): void }>
}

/** A connection of better-sqlite3 or bun:sqlite, or a `DatabaseSync` of node:sqlite. */
export type SqliteHost = SqliteTransaction & { exec(sql: string): unknown } & (
    | { readonly inTransaction: boolean }
    | { readonly isTransaction: boolean }
  )

export function isInTransaction(database: SqliteHost): boolean {
  return 'isTransaction' in database ? database.isTransaction : database.inTransaction
}

/** Opens a transaction, gives it to `work`, and commits when that has ended. */
export type TransactionHost = (work: (tx: Transaction) => Promise<void>) => PromiseLike<unknown>

/** Where a queue writes. */
type Home = {
  /** In a transaction of its own. */
  alone(jobs: readonly NewJob[]): Promise<JobId[]>
  /** In the caller's. */
  within(tx: Transaction, jobs: readonly NewJob[]): Promise<JobId[]>
  /** Sends a signal, in the caller's transaction if there is one. */
  signal(signal: NewSignal, tx: Transaction | undefined): Promise<void>
}

/** The connection that a queue writes through. It belongs to its owner: Oncue opens and closes nothing. */
export type Hosts = {
  /** A PrismaClient, on Postgres or SQLite. */
  readonly prisma: PrismaHost
  /** A Pool of pg, not a Client. */
  readonly pool: PoolHost
  /** A connection of better-sqlite3 or bun:sqlite, or a `DatabaseSync` of node:sqlite. */
  readonly database: SqliteHost
  /** Any other library: `(work) => knex.transaction((trx) => work(fromKnex(trx)))`, on Postgres or SQLite. */
  readonly transaction: TransactionHost
  /** For a process that has a store anyway. */
  readonly store: Store
}

type Given = { readonly [Host in keyof Hosts]?: Hosts[Host] | undefined } & {
  readonly schema?: string | undefined
}

export function toHome(
  { store, prisma, pool, database, transaction, ...rest }: Given,
  runtime: Runtime,
): Home {
  const schema = toSchema(rest.schema)
  const given = [store, prisma, pool, database, transaction].filter((host) => host !== undefined)
  if (given.length === 1) {
    if (pool) assertPool(pool, 'createQueue')
    if (typeof store?.enqueue === 'function') return onStore(store, rest.schema)
    if (typeof prisma?.$transaction === 'function')
      return naming(
        schema,
        onTransactions((work) => prisma.$transaction(work, PRISMA_TIMES), schema, runtime),
      )
    if (typeof transaction === 'function')
      return naming(schema, onTransactions(resultOf(transaction), schema, runtime))
    if (typeof pool?.connect === 'function') return naming(schema, onPool(pool, schema, runtime))
    if (typeof database?.prepare === 'function') return naming(schema, onSqlite(database, schema, runtime))
  }
  throw new OncueError(
    'INVALID_INPUT',
    'createQueue takes one of: prisma, a PrismaClient; pool, a Pool of pg; database, a connection of better-sqlite3 or node:sqlite; transaction, a function that opens one; store, from openStore',
  )
}

/** MIGRATION_NEEDED says which schema is to be migrated. */
function naming(schema: string, home: Home): Home {
  if (schema === DEFAULT_SCHEMA) return home
  const named = (error: unknown): never => {
    if (!isOncueError(error, 'MIGRATION_NEEDED')) throw error
    const { message, details, cause } = error
    throw new OncueError('MIGRATION_NEEDED', message, { cause, details, hint: migrationHint(schema) })
  }
  const naming = <T>(call: () => Promise<T>): Promise<T> => {
    // On better-sqlite3 it throws before it returns.
    try {
      return call().catch(named)
    } catch (error) {
      return named(error)
    }
  }
  return {
    within: home.within,
    alone: (jobs) => naming(() => home.alone(jobs)),
    signal: (signal, tx) => naming(() => home.signal(signal, tx)),
  }
}

/** A pg client has a `connect` too, but it returns nothing, and a client of a pool must not be connected again. */
export function assertPool(pool: object, call: string): void {
  if (!('connectionParameters' in pool || 'release' in pool)) return
  throw new OncueError('INVALID_INPUT', `${call}: pool is a single pg client, not a Pool`, {
    hint: "Pass a Pool as pool. Pass a transaction's client to the call: queue.enqueue(topic, payload, { tx: client }).",
  })
}

function onStore(store: Store, schema = store.schema): Home {
  if (store.schema !== schema) {
    const message = `createQueue: the store has the schema ${store.schema}, not ${schema}`
    throw new OncueError('INVALID_INPUT', message, { hint: 'Omit schema: a store has its own.' })
  }
  return {
    alone: (jobs) => store.enqueue(jobs),
    within: (tx, jobs) => store.enqueue(jobs, { tx }),
    signal: (signal, tx) => store.durable.signal(signal, { tx }),
  }
}

function onPool(pool: PoolHost, schema: string, runtime: Runtime): Home {
  const rename = renameTo(schema, 'postgres')
  const newId = jobIdsOf(runtime)
  let opening: ReturnType<typeof open> | undefined
  async function open() {
    // Imported when it is needed: a service with another database need not load the driver.
    const { PostgresClient } = await import('../postgres/client.ts')
    const client = new PostgresClient(pool as Pool, undefined, runtime, schema)
    const notifier = new PostgresNotifier('oncue', (query) => client.query(query), false, runtime)
    return { client, notifier }
  }
  return {
    async alone(jobs) {
      opening ??= open()
      const { client, notifier } = await opening
      const outcomes = await enqueueAlone(client, jobs, null)
      notifier.notify(wakeNames(jobs, runtime.now()))
      return idsOf(outcomes)
    },
    within: (tx, jobs) => enqueueIn(tx, jobs, null, runtime, rename).then(idsOf),
    async signal(signal, tx) {
      if (tx) return signalIn(tx, signal, newId(), null, rename)
      opening ??= open()
      const { client } = await opening
      await signalAlone(client, signal, newId(), null)
    },
  }
}

function onSqlite(database: SqliteHost, schema: string, runtime: Runtime): Home {
  const rename = renameTo(schema, 'sqlite')
  const within = (tx: Transaction, jobs: readonly NewJob[]) =>
    driveIn(tx, renamed(enqueueSteps(jobs, runtime.now()), rename)).then(idsOf)
  const newId = jobIdsOf(runtime)
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    // Everything on this connection is part of its open transaction, wanted or not.
    if (isInTransaction(database)) return work()
    try {
      database.exec('BEGIN IMMEDIATE')
      const done = work()
      database.exec('COMMIT')
      return done
    } catch (error) {
      if (isInTransaction(database)) database.exec('ROLLBACK')
      throw fromSqlite(error)
    }
  }
  const send = (tx: Transaction, signal: NewSignal) =>
    driveIn(tx, renamed(sqliteSignal(signal, newId(), runtime.now()), rename))
  return {
    within,
    alone: (jobs) => alone(() => within(database, jobs)),
    signal: (signal, tx) => (tx ? send(tx, signal) : alone(() => send(database, signal))),
  }
}

/** Timeout of a transaction for one enqueue; Prisma's default is too short for a hundred thousand jobs. */
export const PRISMA_TIMES = { maxWait: 10_000, timeout: 60_000 }

/** Opens a transaction that commits when `work` has ended, and returns what it returned. */
type Begin = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>

/** A library may return something else from its transaction than what its function returned. */
function resultOf(transaction: TransactionHost): Begin {
  return async <T>(work: (tx: Transaction) => Promise<T>) => {
    let result: { readonly value: T } | undefined
    await transaction(async (tx) => {
      result = { value: await work(tx) }
    })
    if (result) return result.value
    throw new OncueError('INVALID_INPUT', 'createQueue: `transaction` ended before its work', {
      hint: 'Return what the work returns: (work) => knex.transaction((trx) => work(fromKnex(trx))).',
    })
  }
}

function onTransactions(begin: Begin, schema: string, runtime: Runtime): Home {
  let dialect: DialectName | undefined
  let rename: Rename | undefined
  function* steps(jobs: readonly NewJob[]): Steps<EnqueueOutcome[]> {
    dialect ??= yield* findDialect()
    rename ??= renameTo(schema, dialect)
    const enqueuing =
      dialect === 'postgres' ? enqueueAndWake(jobs, null, runtime) : enqueueSteps(jobs, runtime.now())
    return yield* renamed(enqueuing, rename)
  }
  const newId = jobIdsOf(runtime)
  function* sending(signal: NewSignal): Steps<void> {
    dialect ??= yield* findDialect()
    rename ??= renameTo(schema, dialect)
    const sent =
      dialect === 'postgres'
        ? postgresSignal(signal, newId(), null)
        : sqliteSignal(signal, newId(), runtime.now())
    yield* renamed(sent, rename)
  }
  const within = (tx: Transaction, jobs: readonly NewJob[]) =>
    driveIn(tx, steps(jobs)).then(idsOf, (error) => {
      throw toCallersError(error)
    })
  const alone: Begin = (work) =>
    begin(work).catch((error) => {
      throw dialect === 'sqlite' ? fromSqlite(error) : fromPostgres(error)
    })
  return {
    within,
    alone: (jobs) => alone((tx) => within(tx, jobs)),
    // On Postgres a worker that hears of the commit delivers it.
    signal: (signal, tx) =>
      tx ? driveIn(tx, sending(signal)) : alone((own) => driveIn(own, sending(signal))),
  }
}

/**
 * A client does not say which database it talks to. Queried once, inside the transaction: on a second connection the
 * query might wait for that very transaction. Postgres rounds, SQLite truncates.
 */
function* findDialect(): Steps<DialectName> {
  const [row] = yield { text: 'select cast(2.5 as integer) as n', values: [], reads: true }
  return Number(row?.n) === 2 ? 'sqlite' : 'postgres'
}
