import { until } from '@oncue/testing'
import pg from 'pg'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { openStore } from '../src/open.ts'
import { aJob, claimOne, complete, someJobs } from './conformance/harness.ts'
import { borrowPostgresDatabase, connectPostgres, createPostgresDatabase } from './support/index.ts'

it('on Postgres a job by request id costs one statement, and a job by key one transaction', async () => {
  const database = await borrowPostgresDatabase(inject('postgresUrl'))
  const store = await openStore(database.url)
  onTestFinished(async () => {
    await store.close()
    await database.drop()
  })
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  /** Counts the statements of an enqueue, without the wake-up that follows and the opening of a connection. */
  async function countOf(work: () => Promise<unknown>): Promise<number> {
    query.mockClear()
    await work()
    const texts = query.mock.calls.map(([sent]) =>
      typeof sent === 'string' ? sent : (sent as pg.QueryConfig).text,
    )
    return texts.filter((text) => /^(begin|commit)|oncue\./.test(text) && !/notify/i.test(text)).length
  }

  const first = { ...aJob(), request: 'first' } as const
  const many = someJobs(100).map((job) => ({ ...job, request: 'first' }) as const)
  const repeats = [first, ...many].map((job) => ({ ...job, request: 'repeat' }) as const)
  expect(await countOf(() => store.enqueue([aJob({ idempotencyKey: 'k' })]))).toBe(3)
  expect(await countOf(() => store.enqueue([first]))).toBe(1)
  expect(await countOf(() => store.enqueue(many))).toBe(1)
  expect(await countOf(() => store.enqueue(repeats))).toBe(1)
  const [one] = someJobs(1).map((job) => ({ ...job, request: 'repeat' }) as const)
  expect(await countOf(() => store.enqueue(one ? [one] : []))).toBe(2)
})

it('two requests with the same ids in opposite orders make each job once, without a deadlock', async () => {
  // A new one: the counters of a database that other tests have used are not at zero.
  const database = await createPostgresDatabase(inject('postgresUrl'))
  const store = await openStore(database.url)
  onTestFinished(() => database.drop())
  for (let round = 0; round < 5; round++) {
    const jobs = someJobs(500).map((job) => ({ ...job, request: 'first' }) as const)
    const orders = [jobs, jobs.toReversed(), jobs, jobs.toReversed()]
    const outcomes = await Promise.all(orders.map((order) => store.enqueueWithOutcomes(order)))
    expect(outcomes.flat().filter(({ kind }) => kind === 'created')).toHaveLength(jobs.length)
  }
  // A session reports its counters when it ends.
  await store.close()
  const client = new pg.Client(database.url)
  await client.connect()
  const { rows } = await client.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  await client.end()
  expect(rows).toEqual([{ deadlocks: 0 }])
})

it('a repeat with a key makes no second job if the first finishes while it waits for the key', async () => {
  const database = await borrowPostgresDatabase(inject('postgresUrl'))
  const store = await openStore(database.url)
  const session = await connectPostgres(database.url)
  onTestFinished(async () => {
    await session.end()
    await store.close()
    await database.drop()
  })
  const job = { ...aJob(), request: 'first' } as const
  const { id, topic } = job
  await session.query('begin')
  await session.query(`insert into oncue.keys (topic, key, job_id) values ($1, $2, $3)`, [
    topic,
    `i:${id}`,
    aJob().id,
  ])
  const repeating = store.enqueueWithOutcomes([{ ...job, idempotencyKey: id, request: 'repeat' }])
  const blocked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await until(async () => (await session.query(blocked)).length > 0)
  await store.enqueue([job])
  await store.settle([complete(await claimOne(store))])
  await session.query('rollback')
  expect(await repeating).toEqual([{ id, kind: 'existing' }])
  expect(await store.stats()).toMatchObject({ pending: 0, completed: 1 })
})
