import { MikroORM } from '@mikro-orm/postgresql'
import type { Transactions } from '@oncue/core'
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaPg } from '@prisma/adapter-pg'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { drizzle as drizzleOnSqlite } from 'drizzle-orm/better-sqlite3'
import { drizzle } from 'drizzle-orm/node-postgres'
import createKnex, { type Knex } from 'knex'
import { CompiledQuery, Kysely, PostgresDialect, SqliteDialect } from 'kysely'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { PrismaClient } from '../../src/generated/postgres/client.ts'
import { PrismaClient as SqlitePrismaClient } from '../../src/generated/sqlite/client.ts'
import { transactionsOf } from '../../src/queue/transactions.ts'
import { sqliteFile } from '../../src/url.ts'
import { openPool } from './postgres-pool.ts'

/** A service with a single connection, whose handlers commit through it. */
export interface TransactionService {
  readonly transactions: Transactions
  /** A statement through the library; has happened when it returns if the library is synchronous. */
  run(tx: unknown, sql: string): unknown
  close(): Promise<unknown>
}

interface Host {
  readonly name: string
  readonly dialect: 'postgres' | 'sqlite'
  open(url: string): TransactionService | Promise<TransactionService>
}

const onlyOne = (url: string) => openPool({ connectionString: url, max: 1, connectionTimeoutMillis: 5_000 })
/** Waits for no lock: whatever fails so is repeated. */
const connect = (url: string) => new Database(sqliteFile(url), { timeout: 0 })

/** The compiler checks that `run` fits the library's own type of `tx`. */
function service<Tx>(
  transactions: Transactions<Tx>,
  run: (tx: Tx, sql: string) => unknown,
  close: () => Promise<unknown>,
): TransactionService {
  return { transactions, run: run as TransactionService['run'], close } as TransactionService
}

export const transactionHosts: readonly Host[] = [
  {
    name: 'Prisma',
    dialect: 'postgres',
    open(url) {
      const pool = onlyOne(url)
      const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
      return service(
        transactionsOf({ prisma }),
        (tx, text) => tx.$executeRawUnsafe(text),
        () => prisma.$disconnect().then(() => pool.end()),
      )
    },
  },
  {
    name: 'Prisma',
    dialect: 'sqlite',
    open(url) {
      const prisma = new SqlitePrismaClient({ adapter: new PrismaBetterSqlite3({ url }) })
      return service(
        transactionsOf({ prisma }),
        (tx, text) => tx.$executeRawUnsafe(text),
        () => prisma.$disconnect(),
      )
    },
  },
  {
    name: 'pg',
    dialect: 'postgres',
    open(url) {
      const pool = onlyOne(url)
      return service(
        transactionsOf({ pool }),
        (tx, text) => tx.query(text),
        () => pool.end(),
      )
    },
  },
  {
    name: 'better-sqlite3',
    dialect: 'sqlite',
    open(url) {
      const database = connect(url)
      return service(
        transactionsOf({ database }),
        (tx, text) => void tx.prepare(text).run(),
        async () => database.close(),
      )
    },
  },
  {
    name: 'Drizzle',
    dialect: 'postgres',
    open(url) {
      const pool = onlyOne(url)
      return service(
        transactionsOf({ drizzle: drizzle(pool), sql }),
        (tx, text) => tx.execute(text),
        () => pool.end(),
      )
    },
  },
  {
    name: 'Drizzle',
    dialect: 'sqlite',
    open(url) {
      const database = connect(url)
      return service(
        transactionsOf({ drizzle: drizzleOnSqlite(database), sql }),
        (tx, text) => void tx.run(text),
        async () => database.close(),
      )
    },
  },
  {
    name: 'Kysely',
    dialect: 'postgres',
    open(url) {
      const pool = onlyOne(url)
      const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
      return service(
        transactionsOf({ kysely, CompiledQuery }),
        (trx, text) => trx.executeQuery(CompiledQuery.raw(text)),
        () => pool.end(),
      )
    },
  },
  {
    name: 'Kysely',
    dialect: 'sqlite',
    open(url) {
      const database = connect(url)
      const kysely = new Kysely<object>({ dialect: new SqliteDialect({ database }) })
      return service(
        transactionsOf({ kysely, CompiledQuery }),
        (trx, text) => trx.executeQuery(CompiledQuery.raw(text)),
        async () => database.close(),
      )
    },
  },
  {
    name: 'postgres.js',
    dialect: 'postgres',
    open(url) {
      // A service may have all its columns renamed.
      const postgresJs = postgres(url, { max: 1, transform: postgres.camel })
      return service(
        transactionsOf({ postgresJs }),
        (tx, text) => tx.unsafe(text),
        () => postgresJs.end(),
      )
    },
  },
  { name: 'Knex', dialect: 'postgres', open: (url) => onKnex({ client: 'pg', connection: url }) },
  {
    name: 'Knex',
    dialect: 'sqlite',
    open: (url) => onKnex({ client: 'better-sqlite3', connection: sqliteFile(url), useNullAsDefault: true }),
  },
  {
    name: 'TypeORM',
    dialect: 'postgres',
    open: (url) => onTypeOrm(new DataSource({ type: 'postgres', url, poolSize: 1 })),
  },
  {
    name: 'TypeORM',
    dialect: 'sqlite',
    open: (url) =>
      onTypeOrm(new DataSource({ type: 'better-sqlite3', database: sqliteFile(url), timeout: 0 })),
  },
  {
    name: 'MikroORM',
    dialect: 'postgres',
    async open(url) {
      const mikroOrm = await MikroORM.init({
        clientUrl: url,
        entities: [],
        discovery: { warnWhenNoEntities: false },
        pool: { min: 0, max: 1 },
      })
      return service(
        transactionsOf({ mikroOrm }),
        (em, text) => em.execute(text),
        () => mikroOrm.close(),
      )
    },
  },
]

function onKnex(config: Knex.Config): TransactionService {
  const knex = createKnex({ ...config, pool: { min: 0, max: 1 } })
  return service(
    transactionsOf({ knex }),
    (trx, text) => trx.raw(text),
    () => knex.destroy(),
  )
}

async function onTypeOrm(source: DataSource): Promise<TransactionService> {
  const typeOrm = await source.initialize()
  return service(
    transactionsOf({ typeOrm }),
    (manager, text) => manager.query(text),
    () => typeOrm.destroy(),
  )
}

/** The ids in a table of the service, as another connection sees them. */
export async function idsIn(url: string, table: string): Promise<string[]> {
  const text = `select id from ${table} order by id`
  if (!url.startsWith('postgres')) {
    const database = new Database(sqliteFile(url), { readonly: true })
    const rows = database.prepare(text).all() as { id: string }[]
    database.close()
    return rows.map(({ id }) => id)
  }
  const pool = onlyOne(url)
  const { rows } = await pool.query<{ id: string }>(text)
  await pool.end()
  return rows.map(({ id }) => id)
}
