// biome-ignore-all lint/suspicious/noThenProperty: an option of a batch, and no function
import type { JobId } from '@oncue/core'
import type BetterSqlite3 from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Knex } from 'knex'
import { CompiledQuery, type Kysely } from 'kysely'
import type pg from 'pg'
import type postgres from 'postgres'
import type { DataSource } from 'typeorm'
import { describe, expectTypeOf, test } from 'vitest'
import type { PrismaClient } from '../src/generated/postgres/client.ts'
import type { PrismaClient as SqlitePrismaClient } from '../src/generated/sqlite/client.ts'
import type { PoolHost, PrismaHost, SqliteHost } from '../src/queue/hosts.ts'
import { fromKnex, fromPostgresJs, fromTypeOrm } from '../src/queue/orm-transactions.ts'
import { fromDrizzle, fromKysely } from '../src/queue/query-builders.ts'
import type { Queue, QueueOptions } from '../src/queue/queue.ts'
import type { jobs } from './support/queue-hosts.ts'

type Jobs = typeof jobs
/** Compiled, never called. */
type Compiled = (queue: Queue<Jobs>, tx: pg.PoolClient) => unknown

describe('the compiler checks of a queue', () => {
  test('topics, payloads and options', () => {
    expectTypeOf<Parameters<Queue<Jobs>['enqueue']>[0]>().toEqualTypeOf<'check_payment' | 'mail_digest'>()
    expectTypeOf<ReturnType<Queue<Jobs>['enqueue']>>().toEqualTypeOf<Promise<JobId>>()
    const accepted: Compiled = (queue, tx) => [
      queue.enqueue('mail_digest', { userId: '1' }, { tx, delay: 5 }),
      queue.enqueueMany([{ topic: 'check_payment', payload: { orderId: '1' }, priority: 2 }], { tx }),
    ]
    const signals: Compiled = (queue, tx) => [
      queue.signal('id', 'bank', { ok: true }, { tx, key: 'a' }),
      // @ts-expect-error no such signal
      queue.signal('id', 'visa', { ok: true }),
      // @ts-expect-error does not fit the signal
      queue.signal('id', 'bank', { ok: 'yes' }),
      // @ts-expect-error no such option
      queue.signal('id', 'bank', { ok: true }, { by: 'me' }),
    ]
    expectTypeOf(signals).toBeFunction()
    const refused: Compiled = (queue, tx) => [
      // @ts-expect-error no such topic
      queue.enqueue('mail', { userId: '1' }),
      // @ts-expect-error the payload of another topic
      queue.enqueue('mail_digest', { orderId: '1' }),
      // @ts-expect-error no such option
      queue.enqueue('mail_digest', { userId: '1' }, { prio: 1 }),
      // @ts-expect-error not a transaction
      queue.enqueue('mail_digest', { userId: '1' }, { tx: 'tx' }),
      // @ts-expect-error the payload of another topic
      queue.enqueueMany([{ topic: 'mail_digest', payload: { orderId: '1' } }], { tx }),
      // @ts-expect-error one transaction is for all of them
      queue.enqueueMany([{ topic: 'mail_digest', payload: { userId: '1' }, tx }]),
    ]
    expectTypeOf(accepted).toBeFunction()
    expectTypeOf(refused).toBeFunction()
  })

  test('batches and flows', () => {
    const mail = { topic: 'mail_digest', payload: { userId: '1' } } as const
    const check = { topic: 'check_payment', payload: { orderId: '1' } } as const
    const accepted: Compiled = (queue, tx) => [
      queue.batch([mail, check, { ...mail, priority: 2 }], { then: check, onFailure: mail, tx }),
      queue.batch([mail], { onFailure: { ...mail, delay: 5 } }),
      queue.batch([mail], { then: { ...mail, onParentFailure: 'cancel' } }),
    ]
    const flow = (queue: Queue<Jobs>, tx: pg.PoolClient) =>
      queue.flow({ nodes: { mail, check: { ...check, maxRetries: 1 } }, edges: [['mail', 'check']] }, { tx })
    expectTypeOf(flow).returns.resolves.toEqualTypeOf<{ readonly mail: JobId; readonly check: JobId }>()
    const inline: Compiled = (queue) =>
      queue.flow({
        nodes: { a: { topic: 'mail_digest', payload: { userId: '1' } }, b: check },
        edges: [['a', 'b']],
      })
    const refused: Compiled = (queue) => [
      // @ts-expect-error nothing follows it
      queue.batch([mail], {}),
      // @ts-expect-error no such topic
      queue.batch([{ topic: 'mail', payload: null }], { then: mail }),
      // @ts-expect-error the payload of another topic
      queue.batch([mail], { then: { topic: 'mail_digest', payload: { orderId: '1' } } }),
      // @ts-expect-error what follows has no key
      queue.batch([mail], { then: { ...mail, unique: { key: 'a' } } }),
      // @ts-expect-error the batch says what it waits for
      queue.batch([mail], { then: { ...mail, after: ['id'] } }),
      // @ts-expect-error it is for failures
      queue.batch([mail], { onFailure: { ...mail, onParentFailure: 'stop' } }),
      // @ts-expect-error no such topic
      queue.flow({ nodes: { a: { topic: 'mail', payload: null } } }),
      // @ts-expect-error the payload of another topic
      queue.flow({ nodes: { a: { topic: 'mail_digest', payload: { orderId: '1' } } } }),
      // @ts-expect-error no such node
      queue.flow({ nodes: { mail, check }, edges: [['mail', 'post']] }),
      // @ts-expect-error it would wait for itself
      queue.flow({ nodes: { mail, check }, edges: [['mail', 'mail']] }),
      // @ts-expect-error no such option
      queue.flow({ nodes: { mail, check } }, { prio: 1 }),
    ]
    expectTypeOf(accepted).toBeFunction()
    expectTypeOf(inline).toBeFunction()
    expectTypeOf(refused).toBeFunction()
  })

  test('a queue of all jobs is assignable to one of some of them, and not the other way round', () => {
    type Some = Pick<Jobs, 'mail_digest'>
    type Other = { readonly mail_digest: Jobs['check_payment'] }
    expectTypeOf<Queue<Jobs>>().toExtend<Queue<Some>>()
    expectTypeOf<Queue<Some>>().not.toExtend<Queue<Jobs>>()
    expectTypeOf<Queue<Other>>().not.toExtend<Queue<Some>>()
    const passed: Compiled = (queue) => {
      const some: Queue<Some> = queue
      return some.enqueue('mail_digest', { userId: '1' })
    }
    expectTypeOf(passed).toBeFunction()
  })

  test('connections', () => {
    expectTypeOf<PrismaClient>().toExtend<PrismaHost>()
    expectTypeOf<SqlitePrismaClient>().toExtend<PrismaHost>()
    const extended = (prisma: PrismaClient) => prisma.$extends({ name: 'soft delete' })
    expectTypeOf(extended).returns.toExtend<PrismaHost>()
    expectTypeOf<pg.Pool>().toExtend<PoolHost>()
    expectTypeOf<BetterSqlite3.Database>().toExtend<SqliteHost>()
    expectTypeOf<pg.Client>().not.toExtend<PoolHost>()
    expectTypeOf<{ jobs: Jobs }>().not.toExtend<QueueOptions<Jobs>>()
    expectTypeOf<{ jobs: Jobs; pool: pg.Pool; prisma: PrismaClient }>().not.toExtend<QueueOptions<Jobs>>()
  })

  test('the database of a query builder is not its transaction', () => {
    const refused = (db: NodePgDatabase, kysely: Kysely<object>) => [
      // @ts-expect-error the database
      fromDrizzle(db, sql),
      // @ts-expect-error the database
      fromKysely(kysely, CompiledQuery),
    ]
    expectTypeOf(refused).toBeFunction()
    const others = (knex: Knex, sql: postgres.Sql, source: DataSource) => [
      // @ts-expect-error the database
      fromKnex(knex),
      // @ts-expect-error the database
      fromPostgresJs(sql),
      // @ts-expect-error the database
      fromTypeOrm(source),
    ]
    expectTypeOf(others).toBeFunction()
  })
})
