import { readFile } from 'node:fs/promises'
import { connectPostgres, createPostgresDatabase, type TestDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { PrismaPg } from '@prisma/adapter-pg'
import { createQueue, openStore, type RunningWorker, type Store, silentLogger, startWorker } from 'oncue'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { pathOf, run } from '../programs.ts'
import { PrismaClient } from './generated/client.ts'
import { jobs } from './jobs.ts'
import { Shop } from './shop.ts'
import { createWorkers } from './workers.ts'

describe('a payment check in a Prisma transaction', () => {
  let database: TestDatabase
  let store: Store
  let prisma: PrismaClient
  let shop: Shop
  let worker: RunningWorker | undefined

  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    const session = await connectPostgres(database.url)
    await session.query(await readFile(pathOf('payment-check/migrations/0001_orders/migration.sql'), 'utf8'))
    await session.end()
    store = await openStore(database.url)
    prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
    shop = new Shop(prisma, createQueue({ prisma, jobs }))
  })
  afterEach(async () => {
    await worker?.stop()
    worker = undefined
    await prisma.$disconnect()
    await store.close()
    await database.drop()
  })

  const work = async () => {
    worker = await startWorker({ store, workers: createWorkers(shop), pollMs: 50, log: silentLogger })
  }

  test('the program tells paid orders from unpaid ones', async () => {
    expect(await run('payment-check/main.ts', database.url)).toEqual([
      'order of 40: paid, its job: completed',
      'order of 7: expired, its job: completed',
    ])
  })

  test('an order links to its job, which waits as long as the customer may', async () => {
    const { id, jobId } = await shop.placeOrder(40)
    const job = await store.get(jobId ?? '')
    expect(job).toMatchObject({ topic: 'check_payment', queue: 'high', payload: { orderId: id } })
    expect(job?.runAt.getTime()).toBe((job?.created.getTime() ?? 0) + 15 * 60_000)
    expect(await shop.look(id, store)).toEqual({ order: 'open', job: 'pending' })
    const { items } = await store.list({ meta: { order: id } })
    expect(items.map((item) => item.id)).toEqual([jobId])
  })

  test('an order that is rolled back leaves no job', async () => {
    await expect(shop.placeOrder(0)).rejects.toThrow('an order costs something')
    expect(await prisma.order.count()).toBe(0)
    expect((await store.list()).total).toBe(0)
  })

  test('a worker decides by the state of the order', async () => {
    await work()
    const { id } = await shop.placeOrder(7, 0)
    await eventually(async () =>
      expect(await shop.look(id, store)).toEqual({ order: 'expired', job: 'completed' }),
    )
  })

  test('an order whose job was pruned can still be shown', async () => {
    await work()
    const { id, jobId } = await shop.placeOrder(7, 0)
    await eventually(async () => expect((await store.get(jobId ?? ''))?.status).toBe('completed'))
    await store.prune({ status: 'completed', finishedBefore: new Date(Date.now() + 60_000) })
    expect(await shop.look(id, store)).toEqual({ order: 'expired', job: 'pruned' })
  })
})
