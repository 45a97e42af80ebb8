import { defineJobs, job } from '@oncue/core'
import { type Runtime, simulate } from '@oncue/runtime'
import { until } from '@oncue/testing'
import { expect, inject, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { openStore } from '../src/open.ts'
import { createQueue } from '../src/queue/queue.ts'
import { connectPostgres, createPostgresDatabase } from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'

const jobs = defineJobs({ mail: job({ input: z.number() }) })

async function onPoolOfOne(options: { runtime?: Runtime } = {}) {
  const database = await createPostgresDatabase(inject('postgresUrl'))
  onTestFinished(() => database.drop())
  const pool = openPool({ connectionString: database.url, max: 1, application_name: 'small' })
  onTestFinished(() => pool.end())
  return { url: database.url, pool, queue: createQueue({ pool, jobs, ...options }) }
}

async function countOf(url: string): Promise<number> {
  const store = await openStore(url, { poolSize: 1 })
  const { pending } = await store.stats()
  await store.close()
  return pending
}

it('a pool of one connection is enough for many enqueues at once, also in transactions', async () => {
  const { url, pool, queue } = await onPoolOfOne()
  await Promise.all([
    ...Array.from({ length: 20 }, (_, n) => queue.enqueue('mail', n)),
    ...Array.from({ length: 20 }, async (_, n) => {
      const tx = await pool.connect()
      try {
        await tx.query('begin')
        await queue.enqueue('mail', n, { tx, unique: { key: `${n}` } })
        await tx.query('commit')
      } finally {
        tx.release()
      }
    }),
  ])
  expect(await countOf(url)).toBe(40)
})

it('an enqueue survives that its connection was closed between two requests', async () => {
  const { url, queue } = await onPoolOfOne()
  const session = await connectPostgres(url)
  onTestFinished(() => session.end())
  for (let n = 0; n < 10; n++) {
    await queue.enqueue('mail', n)
    const cut =
      session.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'small'
      and datname = current_database()`)
    await Promise.all([cut, queue.enqueue('mail', n)])
  }
  expect(await countOf(url)).toBe(20)
})

it('an enqueue that waits for the transaction of its caller fails, and leaves the pool as it was', async () => {
  const runtime = simulate()
  const { url, pool, queue } = await onPoolOfOne({ runtime })
  const tx = await pool.connect()
  let error: unknown
  const failing = queue.enqueue('mail', 1).catch((reason: unknown) => {
    error = reason
  })
  await until(async () => {
    await runtime.advance(1_000)
    return error
  })
  await failing
  expect(error).toMatchObject({ code: 'DATABASE_BUSY', hint: expect.stringContaining('{ tx }') })
  // It did not wait once more.
  expect(runtime.monotonic()).toBeLessThan(20_000)
  tx.release()
  await queue.enqueue('mail', 2)
  expect(await countOf(url)).toBe(1)
})
