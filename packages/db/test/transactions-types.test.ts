import type { MikroORM, EntityManager as MikroOrmManager } from '@mikro-orm/postgresql'
import { defineJobs, defineWorkers, type JobContext, job } from '@oncue/core'
import type BetterSqlite3 from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Knex } from 'knex'
import { CompiledQuery, type Kysely, type Transaction as KyselyTransaction } from 'kysely'
import type pg from 'pg'
import type postgres from 'postgres'
import type { DataSource, EntityManager } from 'typeorm'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Prisma, PrismaClient } from '../src/generated/postgres/client.ts'
import { transactionsOf } from '../src/queue/transactions.ts'

const jobs = defineJobs({
  book: job({ input: z.object({ id: z.string() }), output: z.object({ booked: z.boolean() }) }),
  tidy: job({ input: z.unknown() }),
})

/** Compiled, never called. */
type Compiled<Service> = (service: Service) => unknown
type Orders = { orders: { id: string } }

describe('the compiler checks of ctx.commit and ctx.complete', () => {
  test('tx has the type of the library', () => {
    const prisma: Compiled<PrismaClient> = (prisma) =>
      defineWorkers(
        jobs,
        {
          async book(_, ctx) {
            const count = await ctx.commit('row', (tx) => {
              expectTypeOf(tx).toEqualTypeOf<Prisma.TransactionClient>()
              return tx.queue.count()
            })
            expectTypeOf(count).toEqualTypeOf<number>()
            await prisma.$transaction((tx) => ctx.complete(tx, { booked: true }))
            return { booked: true }
          },
        },
        { transactions: transactionsOf({ prisma }) },
      )
    const pool: Compiled<pg.Pool> = (pool) =>
      defineWorkers(
        jobs,
        {
          async book({ payload }, { commit }) {
            await commit('row', async (tx) => {
              expectTypeOf(tx).toEqualTypeOf<pg.PoolClient>()
              await tx.query('insert into orders values ($1)', [payload.id])
            })
            return { booked: true }
          },
          tidy: (_, ctx) => ctx.commit('row', () => 1),
        },
        { transactions: transactionsOf({ pool }), complete: true },
      )
    const drizzle: Compiled<NodePgDatabase> = (drizzle) => {
      const transactions = transactionsOf({ drizzle, sql })
      expectTypeOf(transactions.mode).toEqualTypeOf<'async'>()
      type Tx = Parameters<Parameters<typeof drizzle.transaction>[0]>[0]
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toEqualTypeOf<Tx>()
    }
    const kysely: Compiled<Kysely<Orders>> = (kysely) => {
      const transactions = transactionsOf({ kysely, CompiledQuery })
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toEqualTypeOf<KyselyTransaction<Orders>>()
    }
    const postgresJs: Compiled<postgres.Sql> = (postgresJs) => {
      const transactions = transactionsOf({ postgresJs })
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toEqualTypeOf<postgres.TransactionSql>()
    }
    const knex: Compiled<Knex> = (knex) => {
      const transactions = transactionsOf({ knex })
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toEqualTypeOf<Knex.Transaction>()
    }
    const typeOrm: Compiled<DataSource> = (typeOrm) => {
      const transactions = transactionsOf({ typeOrm })
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toEqualTypeOf<EntityManager>()
    }
    const mikroOrm: Compiled<MikroORM> = (mikroOrm) => {
      const transactions = transactionsOf({ mikroOrm })
      expectTypeOf<Parameters<typeof transactions.within>[0]>().toExtend<MikroOrmManager>()
    }
    expectTypeOf([prisma, pool, drizzle, kysely, postgresJs, knex, typeOrm, mikroOrm]).not.toBeAny()
  })

  test('synchronous transactions take synchronous work', () => {
    const compiled: Compiled<[BetterSqlite3.Database, BetterSQLite3Database]> = ([database, drizzle]) => [
      defineWorkers(
        jobs,
        {
          async book(_, ctx) {
            await ctx.commit('row', (tx) => {
              expectTypeOf(tx).toEqualTypeOf<BetterSqlite3.Database>()
              return tx.prepare('SELECT 1').all().length
            })
            // @ts-expect-error the transaction would end before the work
            await ctx.commit('later', async () => 1)
            return { booked: true }
          },
        },
        { transactions: transactionsOf({ database }) },
      ),
      expectTypeOf(transactionsOf({ drizzle, sql }).mode).toEqualTypeOf<'sync'>(),
    ]
    expectTypeOf(compiled).toBeFunction()
  })

  test('what does not fit is refused', () => {
    const compiled: Compiled<pg.Pool> = (pool) => [
      defineWorkers(jobs, {
        async book(_, ctx) {
          // @ts-expect-error there are no transactions
          await ctx.commit('row', () => 1)
          // @ts-expect-error there are no transactions
          await ctx.complete(pool, { booked: true })
          return { booked: true }
        },
      }),
      defineWorkers(
        jobs,
        {
          async book(_, ctx) {
            // @ts-expect-error cannot be stored
            await ctx.commit('row', () => new Map())
            await ctx.commit('row', async (tx) => {
              // @ts-expect-error another result than the output says
              await ctx.complete(tx, { booked: 'yes' })
              // @ts-expect-error no result
              await ctx.complete(tx)
            })
            // @ts-expect-error a pool is no transaction
            await ctx.complete(pool, { booked: true })
            return { booked: true }
          },
          async tidy(_, ctx) {
            await ctx.complete(await pool.connect())
          },
        },
        { transactions: transactionsOf({ pool }) },
      ),
      // @ts-expect-error nothing that opens a transaction
      transactionsOf({ pool: { query: pool.query } }),
      // @ts-expect-error without its sql
      transactionsOf({ drizzle: pool }),
    ]
    expectTypeOf(compiled).toBeFunction()
  })

  test('a function for any handler takes the context of one with transactions', () => {
    const help = (ctx: JobContext) => ctx.attempt
    const compiled: Compiled<pg.Pool> = (pool) =>
      defineWorkers(
        jobs,
        {
          async book(_, ctx) {
            help(ctx)
            return { booked: true }
          },
        },
        { transactions: transactionsOf({ pool }) },
      )
    expectTypeOf(compiled).toBeFunction()
  })
})
