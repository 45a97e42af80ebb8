import { isOncueError, type JobId } from '@oncue/core'
import { eventually } from '@oncue/testing'
import { PrismaPg } from '@prisma/adapter-pg'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { drizzle as drizzleOnPostgres } from 'drizzle-orm/node-postgres'
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { PrismaClient } from '../src/generated/postgres/client.ts'
import { openStore } from '../src/open.ts'
import { fromDrizzle, fromKysely } from '../src/queue/query-builders.ts'
import { createQueue } from '../src/queue/queue.ts'
import type { Transaction } from '../src/queue/transaction.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import {
  connectPostgres,
  createPostgresDatabase,
  createSqliteDatabase,
  type TestDatabase,
} from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'
import { hosts, jobs, type Service } from './support/queue-hosts.ts'

class Rollback extends Error {}
const rollBack = () => {
  throw new Rollback()
}
const PAYMENT = { orderId: '456' }
const UNIQUE = { unique: { key: 'order-456' } } as const

describe.each(hosts)('createQueue: $name on $dialect', ({ dialect, open }) => {
  let database: TestDatabase
  let store: Store
  let service: Service

  beforeEach(async () => {
    database = await (dialect === 'postgres'
      ? createPostgresDatabase(inject('postgresUrl'))
      : createSqliteDatabase())
    store = await openStore(database.url)
    service = open(database.url)
  })
  afterEach(async () => {
    await service.close()
    await store.close()
    await database.drop()
  })

  /** The result of an enqueue in a transaction, once it is committed. */
  async function committed<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let answer: Promise<T> | undefined
    await service.transaction((tx) => {
      answer = work(tx)
      return answer
    })
    return answer as Promise<T>
  }

  test("a job in the service's transaction exists once it commits, with the options of its definition", async () => {
    const { queue } = service
    const id = await committed((tx) =>
      queue.enqueue('check_payment', PAYMENT, { tx, priority: 3, meta: { tenant: 'a' } }),
    )
    expect(await store.get(id)).toMatchObject({
      topic: 'check_payment',
      queue: 'high',
      payload: PAYMENT,
      priority: 3,
      maxRetries: 5,
      meta: { tenant: 'a' },
      status: 'pending',
    })
  })

  test('a job of a rolled-back transaction is never seen', async () => {
    const { queue } = service
    const end = service.transaction((tx) => queue.enqueue('check_payment', PAYMENT, { tx }), rollBack)
    await expect(end).rejects.toThrow(Rollback)
    expect((await store.list()).total).toBe(0)
  })

  test('batches and flows are part of a transaction', async () => {
    const { queue } = service
    const check = { topic: 'check_payment', payload: PAYMENT } as const
    const [then, onFailure] = [{ ...check, priority: 1 }, check]
    const nodes = { first: check, second: check }
    const undone = service.transaction(
      (tx) =>
        // At once: a transaction of better-sqlite3 is over before a promise is.
        Promise.all([
          queue.batch([check], { then, onFailure, tx }),
          queue.flow({ nodes, edges: [['first', 'second']] }, { tx }),
        ]),
      rollBack,
    )
    await expect(undone).rejects.toThrow(Rollback)
    expect((await store.list()).total).toBe(0)

    const { ids, thenId, onFailureId } = await committed((tx) =>
      queue.batch([check, check], { then, onFailure, tx }),
    )
    expect(await store.get(thenId ?? '')).toMatchObject({ status: 'blocked', depsLeft: 2, priority: 1 })
    expect(
      (await store.tree(ids[0] ?? ''))?.jobs.map(({ id, name, after }) => ({ id, name, after })),
    ).toEqual(
      [
        ...ids.map((id) => ({ id, name: null, after: [] })),
        { id: thenId, name: 'then', after: [...ids].sort() },
        { id: onFailureId, name: 'onFailure', after: [...ids].sort() },
      ].sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1)),
    )
    const flow = await committed((tx) => queue.flow({ nodes, edges: [['first', 'second']] }, { tx }))
    expect(await store.get(flow.first)).toMatchObject({ status: 'pending' })
    expect(await store.get(flow.second)).toMatchObject({ status: 'blocked', depsLeft: 1 })
  })

  test('batches and flows that cannot be are refused, and nothing is written', async () => {
    const { queue } = service
    const check = { topic: 'check_payment', payload: PAYMENT } as const
    const then = check
    const nodes = { a: check, b: check, c: check }
    const refusals: [() => Promise<unknown>, object][] = [
      [() => queue.batch([], { then }), { code: 'INVALID_INPUT' }],
      [() => queue.batch([check], {} as never), { code: 'INVALID_INPUT' }],
      [() => queue.batch(Array(10_001).fill(check), { then }), { code: 'BATCH_TOO_LARGE' }],
      [
        () => queue.batch([check], { onFailure: { ...check, unique: { key: 'a' } } as never }),
        { code: 'INVALID_INPUT', message: 'onFailure waits for other jobs, so it cannot have a key' },
      ],
      [
        () => queue.batch([check], { onFailure: { ...check, payload: {} } as never }),
        { code: 'INVALID_PAYLOAD', message: expect.stringMatching(/^onFailure: /) },
      ],
      [
        () => queue.flow({ nodes: { ...nodes, d: { topic: 'no_topic', payload: 1 } } } as never),
        { code: 'UNKNOWN_TOPIC', message: expect.stringMatching(/^nodes\.d: /) },
      ],
      [
        () => queue.flow({ nodes, edges: [['a', 'x' as 'b']] }),
        { code: 'INVALID_INPUT', message: 'edges[0] names "x", which is not one of the nodes' },
      ],
      [
        () =>
          queue.flow({
            nodes,
            edges: [
              ['a', 'b'],
              ['b', 'c'],
              ['c', 'b'],
            ],
          }),
        { code: 'DEPENDENCY_CYCLE', details: { nodes: ['b', 'c'] } },
      ],
      [
        () => queue.flow({ nodes: { a: check, b: { ...check, ...UNIQUE } }, edges: [['a', 'b']] }),
        { code: 'INVALID_INPUT', message: 'nodes.b waits for other jobs, so it cannot have a key' },
      ],
      [() => queue.flow({ nodes: {} }), { code: 'INVALID_INPUT' }],
    ]
    // A better-sqlite3 connection throws before the call returns.
    for (const [call, error] of refusals) await expect(async () => call()).rejects.toMatchObject(error)
    expect((await store.list()).total).toBe(0)
  })

  test('keys and parents work inside a transaction', async () => {
    const { queue } = service
    const first = await queue.enqueue('check_payment', PAYMENT, UNIQUE)
    const again = await committed((tx) => queue.enqueue('check_payment', PAYMENT, { ...UNIQUE, tx }))
    expect(again).toBe(first)
    const after = await committed((tx) =>
      queue.enqueue('mail_digest', { userId: '1' }, { after: [first], tx }),
    )
    expect((await store.get(after))?.status).toBe('blocked')
  })

  test('a key that another job holds is named in the error, and the transaction is rolled back', async () => {
    const { queue } = service
    await queue.enqueue('check_payment', PAYMENT, UNIQUE)
    const refused = service.transaction((tx) =>
      queue.enqueue('check_payment', PAYMENT, { unique: { ...UNIQUE.unique, onConflict: 'reject' }, tx }),
    )
    await expect(refused).rejects.toMatchObject({ code: 'UNIQUE_KEY_LIVE' })
    expect((await store.list()).total).toBe(1)
  })

  test("a signal, in the service's transaction or alone, reaches its job, checked by the definition", async () => {
    const { queue } = service
    const id = await queue.enqueue('check_payment', PAYMENT)
    await queue.signal(id, 'bank', { ok: false })
    await committed((tx) => queue.signal(id, 'bank', { ok: true }, { tx, key: 'once' }))
    await queue.signal(id, 'bank', { ok: true }, { key: 'once' })
    const end = service.transaction((tx) => queue.signal(id, 'bank', { ok: true }, { tx }), rollBack)
    await expect(end).rejects.toThrow(Rollback)
    const { jobs: claimed } = await store.claim({
      ...{ queues: ['high'], limit: 1, leaseMs: 60_000 },
      worker: '01900000-0000-7000-8000-00000000000a',
    })
    const run = claimed.map(({ id, run }) => ({ id, run, after: 0, outcomes: [] }))
    const { recorded } = await store.durable.record(run)
    expect(recorded.get(id)?.map(({ data }) => data)).toEqual([{ ok: false }, { ok: true }])

    const mail = await queue.enqueue('mail_digest', { userId: '1' })
    const sent = async (...args: Parameters<typeof queue.signal>) => queue.signal(...args)
    await expect(() => sent(id, 'bank', { ok: 'yes' as never })).rejects.toMatchObject({
      code: 'INVALID_SIGNAL',
      message: expect.stringContaining('signal.ok'),
    })
    await expect(() => sent(mail, 'bank', { ok: true })).rejects.toMatchObject({ code: 'UNKNOWN_SIGNAL' })
    await expect(() => sent(id, 'visa' as 'bank', { ok: true })).rejects.toMatchObject({
      code: 'UNKNOWN_SIGNAL',
      message: 'check_payment has no signal "visa": it has "bank"',
    })
    await store.cancel([mail])
    await expect(() => sent(mail, 'bank', { ok: true })).rejects.toMatchObject({ code: 'JOB_FINISHED' })
  })

  test('many jobs in one transaction keep their order', async () => {
    const many = Array.from({ length: 1_200 }, (_, i) =>
      i % 2
        ? { topic: 'check_payment' as const, payload: { orderId: `${i}` }, priority: 1 }
        : { topic: 'mail_digest' as const, payload: { userId: 'x'.repeat(i === 10 ? 5_000 : 3) } },
    )
    const ids = await committed((tx) => service.queue.enqueueMany(many, { tx }))
    expect(ids).toHaveLength(1_200)
    expect(await store.stats()).toMatchObject({ pending: 1_200 })
    expect(await store.get(ids[10] as JobId)).toMatchObject(many[10] ?? {})
    expect(await store.get(ids[11] as JobId)).toMatchObject(many[11] ?? {})
  })

  test('without a transaction a job is written at once, and wakes its workers', async () => {
    const wake = vi.fn()
    const subscription = await store.onWake(['high'], wake)
    const id = await service.queue.enqueue('check_payment', PAYMENT)
    expect(await store.get(id)).toMatchObject({ status: 'pending', payload: PAYMENT })
    await eventually(() => expect(wake).toHaveBeenCalled())
    await subscription.close()
  })

  test('without a transaction many are written all or none', async () => {
    const [, missing] = await service.queue.enqueueMany([
      { topic: 'check_payment', payload: PAYMENT },
      { topic: 'mail_digest', payload: { userId: '1' }, delay: 60_000 },
    ])
    await store.delete([missing as JobId])
    const refused = async () =>
      service.queue.enqueueMany([
        { topic: 'check_payment', payload: PAYMENT },
        { topic: 'mail_digest', payload: { userId: '1' }, after: [missing as JobId] },
      ])
    await expect(refused).rejects.toMatchObject({ code: 'UNKNOWN_PARENT' })
    expect((await store.list()).total).toBe(1)
    expect(await service.queue.enqueueMany([])).toEqual([])
  })
})

test.each(['postgres', 'sqlite'])('a process that has a store can pass it, on %s', async (dialect) => {
  const database = await (dialect === 'postgres'
    ? createPostgresDatabase(inject('postgresUrl'))
    : createSqliteDatabase())
  const store = await openStore(database.url)
  const id = await createQueue({ store, jobs }).enqueue('check_payment', PAYMENT)
  expect(await store.get(id)).toMatchObject({ queue: 'high', payload: PAYMENT })
  await store.close()
  await database.drop()
})

describe('on Postgres', () => {
  let database: TestDatabase
  let pool: pg.Pool
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    pool = openPool({ connectionString: database.url, max: 1 })
  })
  afterEach(async () => {
    await pool.end()
    await database.drop()
  })

  test('a connection that is cut during an enqueue neither loses the job nor duplicates it', async () => {
    const queue = createQueue({ pool, jobs })
    const other = await connectPostgres(database.url)
    await other.query('begin')
    await other.query('lock table oncue.jobs')
    const enqueued = queue.enqueue('check_payment', PAYMENT)
    const cut = `select pg_terminate_backend(pid) from pg_locks
      where relation = 'oncue.jobs'::regclass and not granted`
    await eventually(async () => expect(await other.query(cut)).toEqual([[true]]))
    await other.query('commit')
    const id = await enqueued
    expect(await other.query('select id from oncue.jobs')).toEqual([[id]])
    await other.end()
  })

  test('a Prisma client with extensions is accepted too', async () => {
    const prisma = new PrismaClient({ adapter: new PrismaPg(pool) }).$extends({ name: 'none' })
    const queue = createQueue({ prisma, jobs })
    await prisma.$transaction(async (tx) => {
      await queue.enqueue('check_payment', PAYMENT, { tx })
    })
    await expect(queue.enqueue('check_payment', PAYMENT, { tx: prisma })).rejects.toMatchObject({
      code: 'UNSUPPORTED_TRANSACTION',
    })
    await queue.enqueue('check_payment', PAYMENT)
    expect((await pool.query('select from oncue.jobs')).rowCount).toBe(2)
    await prisma.$disconnect()
  })

  test('the transaction of a query builder needs its adapter, and the error says which', async () => {
    const queue = createQueue({ pool, jobs })
    const forgotten = drizzleOnPostgres(pool).transaction((tx) =>
      queue.enqueue('check_payment', PAYMENT, { tx: tx as never }),
    )
    await expect(forgotten).rejects.toMatchObject({
      code: 'UNSUPPORTED_TRANSACTION',
      message: expect.stringContaining('fromDrizzle(tx, sql)'),
    })
  })
})

describe('invalid calls are refused before any statement', () => {
  const untouchable = new Proxy(
    { $transaction: () => {} },
    {
      get: (target, name) =>
        name === '$transaction'
          ? () => expect.unreachable('the database was asked')
          : Reflect.get(target, name),
    },
  )
  const queue = createQueue({ prisma: untouchable as never, jobs })

  test.each([
    ['an unknown topic', 'UNKNOWN_TOPIC', 'mail', {}, {}],
    ['a property that every object has', 'UNKNOWN_TOPIC', 'toString', {}, {}],
    ['a payload that does not fit', 'INVALID_PAYLOAD', 'mail_digest', { userId: 7 }, {}],
    ['an unknown option', 'INVALID_INPUT', 'mail_digest', { userId: '7' }, { prio: 1 }],
    ['an invalid option', 'INVALID_PRIORITY', 'mail_digest', { userId: '7' }, { priority: 1e9 }],
    ['something else as tx', 'UNSUPPORTED_TRANSACTION', 'mail_digest', { userId: '7' }, { tx: 'tx' }],
    ['null as tx', 'UNSUPPORTED_TRANSACTION', 'mail_digest', { userId: '7' }, { tx: null }],
    ['any object as tx', 'UNSUPPORTED_TRANSACTION', 'mail_digest', { userId: '7' }, { tx: { hello: 1 } }],
  ])('%s: %s', async (_, code, topic, payload, options) => {
    await expect(queue.enqueue(topic as never, payload as never, options as never)).rejects.toMatchObject({
      code,
    })
  })

  test('the error of a batch says which job is wrong', async () => {
    const many = [{ topic: 'mail_digest' as const, payload: { userId: '1' } }, { topic: 'mail_digest' }]
    await expect(queue.enqueueMany(many as never)).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: expect.stringContaining('jobs[1]: '),
    })
  })

  test.each([
    ['no connection', {}],
    ['two connections', { prisma: untouchable, pool: { connect: () => {} } }],
    ['something else', { pool: { hello: 'world' } }],
  ])('createQueue with %s', (_, connection) => {
    expect(() => createQueue({ jobs, ...connection } as never)).toThrow(/takes one of: prisma/)
  })
})

describe('on better-sqlite3, whose transactions do not wait for promises', () => {
  let file: TestDatabase
  let database: Database.Database
  beforeEach(async () => {
    file = await createSqliteDatabase()
    database = new Database(sqliteFile(file.url))
    database.exec('CREATE TABLE orders (id TEXT)')
  })
  afterEach(async () => {
    database.close()
    await file.drop()
  })
  const orders = () => database.prepare('SELECT id FROM orders').all()

  test('a refused job throws at once and rolls the transaction back, also when no tx is given', () => {
    const queue = createQueue({ database, jobs })
    const order = database.transaction((options: object) => {
      database.exec("INSERT INTO orders VALUES ('456')")
      void queue.enqueue('check_payment', { orderId: 456 } as never, options)
    })
    for (const options of [{}, { tx: database }]) {
      expect(() => order(options)).toThrow(
        expect.toSatisfy((error) => isOncueError(error, 'INVALID_PAYLOAD')),
      )
    }
    expect(orders()).toEqual([])
  })

  test('without tx a job belongs to the transaction that is open on the connection', () => {
    const queue = createQueue({ database, jobs })
    const order = database.transaction(() => {
      void queue.enqueue('check_payment', PAYMENT)
      throw new Rollback()
    })
    expect(order).toThrow(Rollback)
    expect(database.prepare('SELECT id FROM oncue_jobs').all()).toEqual([])
  })

  test('the database of Drizzle and of Kysely is not a transaction', async () => {
    const db = drizzle(database)
    const kysely = new Kysely<object>({ dialect: new SqliteDialect({ database }) })
    expect(() => fromDrizzle(db as never, sql)).toThrow(/the Drizzle database itself/)
    expect(() => fromKysely(kysely as never, CompiledQuery)).toThrow(/the Kysely database itself/)
  })

  test('an asynchronous driver of Drizzle is refused, instead of losing jobs silently', () => {
    const queue = createQueue({ database, jobs })
    const later = { rollback: () => {}, run: () => Promise.resolve(), all: () => Promise.resolve([]) }
    const tx = fromDrizzle(later, sql)
    expect(() => queue.enqueue('check_payment', PAYMENT, { tx })).toThrow(/asynchronous SQLite driver/)
  })
})

test('the error for a wrong topic lists the topics that exist', async () => {
  const queue = createQueue({ jobs, pool: { connect: () => Promise.reject(new Error('not asked')) } })
  // @ts-expect-error no such topic
  await expect(queue.enqueue('mail', {})).rejects.toThrow(
    `"mail" is not defined in the jobs of this queue: there are ${Object.keys(jobs).join(', ')}`,
  )
  expect(queue.jobs).toBe(jobs)
})

describe('createQueue with a client of pg as its pool', () => {
  const refusal = expect.objectContaining({
    code: 'INVALID_INPUT',
    message: 'createQueue: pool is a single pg client, not a Pool',
    hint: expect.stringContaining('{ tx: client }'),
  })

  test('is refused at once: a client of its own', () => {
    const client = new pg.Client(inject('postgresUrl'))
    // @ts-expect-error a client is not a pool
    expect(() => createQueue({ jobs, pool: client })).toThrow(refusal)
  })

  test('is refused at once: a client of a pool', async () => {
    const pool = openPool({ connectionString: inject('postgresUrl') })
    const client = await pool.connect()
    try {
      // @ts-expect-error a client is not a pool
      expect(() => createQueue({ jobs, pool: client })).toThrow(refusal)
      expect(createQueue({ jobs, pool })).toHaveProperty('enqueue')
    } finally {
      client.release()
      await pool.end()
    }
  })
})
