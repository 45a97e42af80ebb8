import { MikroORM } from '@mikro-orm/postgresql'
import { defineJobs, job } from '@oncue/core'
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
import { z } from 'zod'
import { PrismaClient } from '../../src/generated/postgres/client.ts'
import { PrismaClient as SqlitePrismaClient } from '../../src/generated/sqlite/client.ts'
import { fromKnex, fromMikroOrm, fromPostgresJs, fromTypeOrm } from '../../src/queue/orm-transactions.ts'
import { fromDrizzle, fromKysely } from '../../src/queue/query-builders.ts'
import { createQueue, type Queue } from '../../src/queue/queue.ts'
import type { Transaction } from '../../src/queue/transaction.ts'
import { sqliteFile } from '../../src/url.ts'
import { openPool } from './postgres-pool.ts'

export const jobs = defineJobs({
  check_payment: job({
    input: z.object({ orderId: z.string() }),
    queue: 'high',
    retry: { max: 5 },
    signals: { bank: z.object({ ok: z.boolean() }) },
  }),
  mail_digest: job({ input: z.object({ userId: z.string() }) }),
})

/** A service with a single connection, and a queue on it. */
export interface Service {
  readonly queue: Queue<typeof jobs>
  /** A transaction as the library offers it, synchronous where the library is; rolled back when `end` throws. */
  transaction(work: (tx: Transaction) => Promise<unknown>, end?: () => void): Promise<unknown>
  close(): Promise<unknown>
}

interface Host {
  readonly name: string
  readonly dialect: 'postgres' | 'sqlite'
  open(url: string, schema?: string): Service
}

/** One connection: code that needs a second one inside a transaction would wait for ever. */
const onlyOne = (url: string) => openPool({ connectionString: url, max: 1, connectionTimeoutMillis: 5_000 })
const connect = (url: string) => new Database(sqliteFile(url))

export const hosts: readonly Host[] = [
  {
    name: 'Prisma',
    dialect: 'postgres',
    open(url, schema) {
      const pool = onlyOne(url)
      const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
      return {
        queue: createQueue({ prisma, jobs, schema }),
        transaction: (work, end) => prisma.$transaction((tx) => work(tx).then(end)),
        close: () => prisma.$disconnect().then(() => pool.end()),
      }
    },
  },
  {
    name: 'Prisma',
    dialect: 'sqlite',
    open(url, schema) {
      const prisma = new SqlitePrismaClient({ adapter: new PrismaBetterSqlite3({ url }) })
      return {
        queue: createQueue({ prisma, jobs, schema }),
        transaction: (work, end) => prisma.$transaction((tx) => work(tx).then(end)),
        close: () => prisma.$disconnect(),
      }
    },
  },
  {
    name: 'pg',
    dialect: 'postgres',
    open(url, schema) {
      const pool = onlyOne(url)
      return {
        queue: createQueue({ pool, jobs, schema }),
        async transaction(work, end) {
          const client = await pool.connect()
          try {
            await client.query('begin')
            await work(client).then(end)
            await client.query('commit')
          } catch (error) {
            await client.query('rollback')
            throw error
          } finally {
            client.release()
          }
        },
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'better-sqlite3',
    dialect: 'sqlite',
    open(url, schema) {
      const database = connect(url)
      return {
        queue: createQueue({ database, jobs, schema }),
        transaction: async (work, end) =>
          database.transaction(() => {
            void work(database)
            end?.()
          })(),
        close: async () => database.close(),
      }
    },
  },
  {
    name: 'Drizzle',
    dialect: 'postgres',
    open(url, schema) {
      const pool = onlyOne(url)
      return {
        queue: createQueue({ pool, jobs, schema }),
        transaction: (work, end) =>
          drizzle(pool).transaction((tx) => work(fromDrizzle(tx, sql)).then(() => end?.())),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Drizzle',
    dialect: 'sqlite',
    open(url, schema) {
      const database = connect(url)
      return {
        queue: createQueue({ database, jobs, schema }),
        transaction: async (work, end) =>
          drizzleOnSqlite(database).transaction((tx) => {
            void work(fromDrizzle(tx, sql))
            end?.()
          }),
        close: async () => database.close(),
      }
    },
  },
  {
    name: 'Kysely',
    dialect: 'postgres',
    open(url, schema) {
      const pool = onlyOne(url)
      const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
      return {
        queue: createQueue({ pool, jobs, schema }),
        transaction: (work, end) =>
          db.transaction().execute((trx) => work(fromKysely(trx, CompiledQuery)).then(() => end?.())),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Kysely',
    dialect: 'sqlite',
    open(url, schema) {
      const database = connect(url)
      const db = new Kysely<object>({ dialect: new SqliteDialect({ database }) })
      return {
        queue: createQueue({ database, jobs, schema }),
        transaction: (work, end) =>
          db.transaction().execute((trx) => work(fromKysely(trx, CompiledQuery)).then(() => end?.())),
        close: async () => database.close(),
      }
    },
  },
  {
    name: 'postgres.js',
    dialect: 'postgres',
    open(url, schema) {
      // A service may have all its columns renamed.
      const sql = postgres(url, { max: 1, transform: postgres.camel })
      const transaction = (work: (tx: Transaction) => Promise<unknown>, end?: () => void) =>
        sql.begin((own) => work(fromPostgresJs(own)).then(end))
      return { queue: createQueue({ transaction, jobs, schema }), transaction, close: () => sql.end() }
    },
  },
  {
    name: 'Knex',
    dialect: 'postgres',
    open: (url, schema) => onKnex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } }, schema),
  },
  {
    name: 'Knex',
    dialect: 'sqlite',
    open: (url, schema) =>
      onKnex(
        {
          client: 'better-sqlite3',
          connection: sqliteFile(url),
          useNullAsDefault: true,
          pool: { min: 0, max: 1 },
        },
        schema,
      ),
  },
  {
    name: 'TypeORM',
    dialect: 'postgres',
    open: (url, schema) => onTypeOrm(new DataSource({ type: 'postgres', url, poolSize: 1 }), schema),
  },
  {
    name: 'TypeORM',
    dialect: 'sqlite',
    open: (url, schema) =>
      onTypeOrm(new DataSource({ type: 'better-sqlite3', database: sqliteFile(url) }), schema),
  },
  {
    name: 'MikroORM',
    dialect: 'postgres',
    open(url, schema) {
      const opening = MikroORM.init({
        clientUrl: url,
        entities: [],
        discovery: { warnWhenNoEntities: false },
        pool: { min: 0, max: 1 },
      })
      const transaction = async (work: (tx: Transaction) => Promise<unknown>, end?: () => void) =>
        (await opening).em.fork().transactional((em) => work(fromMikroOrm(em)).then(end))
      return {
        queue: createQueue({ transaction, jobs, schema }),
        transaction,
        close: async () => (await opening).close(),
      }
    },
  },
]

function onKnex(config: Knex.Config, schema: string | undefined): Service {
  const knex = createKnex({ ...config, postProcessResponse: inCamelCase })
  const transaction = (work: (tx: Transaction) => Promise<unknown>, end?: () => void) =>
    knex.transaction((trx) => work(fromKnex(trx)).then(end))
  return { queue: createQueue({ transaction, jobs, schema }), transaction, close: () => knex.destroy() }
}

function onTypeOrm(source: DataSource, schema: string | undefined): Service {
  const opening = source.initialize()
  const transaction = async (work: (tx: Transaction) => Promise<unknown>, end?: () => void) =>
    (await opening).transaction((manager) => work(fromTypeOrm(manager)).then(end))
  return {
    queue: createQueue({ transaction, jobs, schema }),
    transaction,
    close: async () => (await opening).destroy(),
  }
}

/** As the mappers of services do. */
function inCamelCase(response: unknown): unknown {
  if (Array.isArray(response)) return response.map((row: object) => camelKeys(row))
  const rows = (response as { rows?: unknown } | undefined)?.rows
  return Array.isArray(rows) ? { rows: rows.map((row: object) => camelKeys(row)) } : response
}

function camelKeys(row: object): object {
  const toCamel = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [toCamel(name), value]))
}
