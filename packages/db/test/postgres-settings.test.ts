import { defineJobs, job } from '@oncue/core'
import { PrismaPg } from '@prisma/adapter-pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PrismaClient } from '../src/generated/postgres/client.ts'
import { openStore } from '../src/open.ts'
import { createQueue } from '../src/queue/queue.ts'
import { describeStore } from './conformance/index.ts'
import { borrowPostgresDatabase, type PostgresServer, startPostgres } from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'
import { transactions, withClient } from './support/postgres-transactions.ts'

/** Every setting that changes results, or how transactions see each other, has an unusual value. */
const SETTINGS = {
  timezone: 'Asia/Kathmandu',
  datestyle: 'German',
  intervalstyle: 'sql_standard',
  extra_float_digits: '-15',
  default_transaction_isolation: 'repeatable read',
  // As on the server of the other tests: nothing here has to survive a power cut.
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
}

describe('on a server with another time zone, date style and isolation', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres({ settings: SETTINGS })
  })
  afterAll(() => server.stop())

  it('a job that was enqueued through a pool or Prisma client of the caller is due at its time', async () => {
    const database = await borrowPostgresDatabase(server.url)
    const pool = openPool({ connectionString: database.url })
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
    const store = await openStore(database.url)
    const jobs = defineJobs({ mail: job({ input: z.object({}) }) })
    const runAt = new Date(Date.now() + 3_600_000)
    for (const queue of [createQueue({ jobs, pool }), createQueue({ jobs, prisma })]) {
      for (const options of [{ runAt }, { runAt, unique: { key: crypto.randomUUID() } }]) {
        const id = await queue.enqueue('mail', {}, options)
        expect(await store.get(id)).toMatchObject({ runAt, visibleAt: runAt })
        const { items } = await store.list({ status: 'pending' })
        expect(items.find((item) => item.id === id)).toMatchObject({ runAt })
      }
    }
    await Promise.all([store.close(), pool.end(), prisma.$disconnect()])
    await database.drop()
  })

  describeStore({
    name: 'Postgres',
    createDatabase: () => borrowPostgresDatabase(server.url),
    transactions,
    cutPresence: (url, worker) =>
      withClient(url, async (client) => {
        await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncue presence ' || $1::text`,
          [worker],
        )
      }),
  })
})
