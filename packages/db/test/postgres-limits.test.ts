import { systemRuntime } from '@oncue/runtime'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openControl } from '../src/control/index.ts'
import { openStore } from '../src/open.ts'
import { decodeWork, TYPES } from '../src/postgres/decode.ts'
import { LowWater } from '../src/postgres/low-water.ts'
import * as sql from '../src/postgres/sql.ts'
import { fn } from '../src/postgres/sql.ts'
import type { Store } from '../src/store.ts'
import { aJob, Bench, claiming, complete, LEASE, MINUTE, someJobs, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'

describe('a limit on Postgres that is set while a claim is in progress', () => {
  let database: TestDatabase
  let store: Store
  let other: pg.Client
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    store = await openStore(database.url)
    other = new pg.Client(database.url)
    await other.connect()
  })
  afterEach(async () => {
    await other.end()
    await store.close()
    await database.drop()
  })

  async function claimUncommitted(limit: number): Promise<void> {
    await other.query('begin')
    await other.query(
      `select from ${fn('claim')}(null, $1, $2, '{default}', null, $3, $3, '{}', '{}', '{}', '{}')`,
      [WORKER, LEASE, limit],
    )
  }

  it('counts what that claim took without seeing the limit', async () => {
    await store.enqueue(someJobs(10))
    await claimUncommitted(3)
    const limited = store.limit({ queue: 'default' }, { maxRunning: 4 })
    // Committed, and already in effect for others; only the claim in progress is waited for.
    const rows = () =>
      other.query(`select from oncue.slots where key = 'q:default'`).then(({ rowCount }) => rowCount)
    await expect.poll(rows).toBe(1)
    await other.query('commit')
    await limited
    expect((await store.claim(claiming())).jobs).toHaveLength(1)
  })

  it('does not wait for transactions that only read, such as a dump', async () => {
    await store.enqueue(someJobs(2))
    await other.query('begin')
    await other.query('select from oncue.slots')
    await store.limit({ queue: 'default' }, { maxRunning: 1 })
    expect((await store.claim(claiming())).jobs).toHaveLength(1)
  })
})

describe('the low-water mark and limits', () => {
  const bench = new Bench({
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
  })
  let store: Store
  let client: pg.Client
  beforeEach(async () => {
    store = await bench.openWithClock()
    client = new pg.Client(bench.url)
    await client.connect()
  })
  afterEach(() => client.end())

  /** Claims as a store does between two sweeps: the first took 100 ms, so that the next is due after a second. */
  function claims(options: Parameters<typeof claiming>[0] = {}) {
    const water = new LowWater()
    const request = claiming(options)
    let elapsedMs = 0
    return async () => {
      const marks = water.marks(request, elapsedMs)
      const { rows } = await client.query({
        ...sql.claim(request, marks, bench.clock.now()),
        rowMode: 'array',
        types: TYPES,
      })
      const { jobs, now, unseen } = decodeWork(rows)
      elapsedMs += 100
      water.learn(request, jobs, now, elapsedMs, unseen)
      return jobs
    }
  }
  const finish = (jobs: Awaited<ReturnType<ReturnType<typeof claims>>>) =>
    store.settle(jobs.map((job) => complete(job)))

  it('a claim that stopped at the limit of a queue does not move the mark past the rest', async () => {
    await store.enqueue(someJobs(8))
    await store.limit({ queue: 'default' }, { maxRunning: 2 })
    bench.clock.advance(MINUTE)
    const claim = claims()
    for (let round = 0; round < 4; round++) {
      const jobs = await claim()
      expect(jobs).toHaveLength(2)
      expect(await claim()).toEqual([])
      await finish(jobs)
    }
  })

  it('a store remembers what such a claim left until the next sweep', async () => {
    // Every reading of the clock is later: the first sweep takes time, and the next is due after twenty times that.
    let readings = 0
    const runtime = { ...systemRuntime, monotonic: () => readings++ }
    const own = await bench.open({ runtime })
    const isPast = { runAt: new Date(Date.now() - MINUTE) }
    await own.enqueue(someJobs(4, isPast))
    await own.limit({ queue: 'default' }, { maxRunning: 2 })
    for (let round = 0; round < 2; round++) {
      const { jobs } = await own.claim(claiming())
      expect(jobs).toHaveLength(2)
      expect((await own.claim(claiming())).jobs).toEqual([])
      await own.settle(jobs.map((job) => complete(job)))
    }
  })

  it('a claim that stopped at its rate does not either', async () => {
    await store.enqueue(someJobs(6))
    await store.limit({ queue: 'default' }, { rate: { count: 2, intervalMs: 1_000 } })
    bench.clock.advance(MINUTE)
    const claim = claims()
    for (let round = 0; round < 3; round++) {
      expect(await claim()).toHaveLength(2)
      expect(await claim()).toEqual([])
      bench.clock.advance(1_000)
    }
  })

  it('a claim of a paused queue does not either', async () => {
    const claim = claims({ limit: 1 })
    await store.enqueue(someJobs(1))
    expect(await claim()).toHaveLength(1)
    await store.pause('default')
    await store.enqueue(someJobs(1))
    bench.clock.advance(MINUTE)
    expect(await claim()).toEqual([])
    await store.resume('default')
    expect(await claim()).toHaveLength(1)
  })

  it('a claim that found the slot of a concurrency key locked does not either', async () => {
    const claim = claims()
    await store.enqueue(someJobs(1))
    await finish(await claim())
    await store.enqueue(someJobs(2, { concurrencyKey: 'k', concurrencyLimit: 2 }))
    bench.clock.advance(MINUTE)
    const other = new pg.Client(bench.url)
    await other.connect()
    try {
      await other.query(`insert into oncue.slots (key) values ('k:k')`)
      await other.query('begin')
      await other.query(`select from oncue.slots where key = 'k:k' for update`)
      expect(await claim()).toEqual([])
      await other.query('rollback')
      expect(await claim()).toHaveLength(2)
    } finally {
      await other.end()
    }
  })

  it('a claim that was full of aged jobs does not either', async () => {
    const secondsAgo = (seconds: number, priority: number) =>
      aJob({ priority, runAt: new Date(bench.clock.now().getTime() - seconds * 1_000) })
    await (await openControl(store)).queues.configure('default', { ageingMs: 1_000 })
    await store.enqueue([secondsAgo(5, 0), secondsAgo(1, 0), secondsAgo(1, 1), secondsAgo(1, 1)])
    const claim = claims({ limit: 3 })
    const priorities = async () => (await claim()).map((job) => job.priority)
    expect(await priorities()).toEqual([0, 1, 1])
    await store.enqueue([secondsAgo(5, 0), secondsAgo(1, 1)])
    // The last is the job that the first claim left behind, at a priority of which it had taken another job.
    expect(await priorities()).toEqual([0, 1, 0])
  })
})
