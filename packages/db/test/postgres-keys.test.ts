import type { NewJob } from '@oncue/core'
import { eventually, Relay } from '@oncue/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import type { Store } from '../src/store.ts'
import { aJob, anError, claiming, claimOne, complete, read, someJobs } from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'

let database: TestDatabase
let store: Store
let clients: pg.Client[]
beforeEach(async () => {
  database = await createPostgresDatabase(inject('postgresUrl'))
  store = await openStore(database.url)
  clients = []
})
afterEach(async () => {
  for (const client of clients) await client.end()
  await store.close()
  await database.drop()
})

async function newClient(): Promise<pg.Client> {
  const client = new pg.Client(database.url)
  clients.push(client)
  await client.connect()
  return client
}

/** How many sessions of this database wait for another. Outside a transaction, or the result stays the same. */
async function waiting(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

describe('contended keys on Postgres', () => {
  /** In a transaction of the caller, where Oncue does not retry. */
  async function inTransaction(client: pg.Client, jobs: readonly NewJob[]): Promise<string[]> {
    await client.query('begin')
    const ids = await store.enqueue(jobs, { tx: client })
    await client.query('commit')
    return ids
  }

  const keyed = (n: number) =>
    aJob({ unique: { key: `user-${n}`, onConflict: 'replace' }, idempotencyKey: `order-${999 - n}` })

  it('calls with many keys meet no deadlock with calls that have few of them', async () => {
    const run = async (round: number) => {
      const once = (name: string, options: object = {}) =>
        aJob({ idempotencyKey: `${name}-${round}`, ...options })
      const unique = (name: string) => ({ unique: { key: `${name}-${round}` } })
      const many = [
        once('b'),
        ...Array.from({ length: 400 }, (_, n) => once(`z-${n}`)),
        once('a', unique('many')),
      ]
      await Promise.all([store.enqueue(many), store.enqueue([once('a'), once('b', unique('few'))])])
    }
    for (let round = 0; round < 60; round++) await run(round)
    const { rows } = await (await newClient()).query(
      `select pg_stat_force_next_flush(), deadlocks::int from pg_stat_database where datname = current_database()`,
    )
    expect(rows[0].deadlocks).toBe(0)
  })

  it.each([
    ['replace', { onConflict: 'replace' }],
    ['want', { onConflict: 'existing' }],
    ['take over', { onConflict: 'existing', within: 1 }],
  ] as const)(
    'calls that %s several of few, beside claims and settles, meet no deadlock',
    async (_, unique) => {
      const ORDERS = [
        [0, 1, 2],
        [2, 0, 3],
        [3, 1, 0],
        [1, 3, 2],
      ]
      const actor = async (n: number) => {
        for (let round = 0; round < 25; round++) {
          const keys = ORDERS[(n + round) % ORDERS.length] ?? []
          await store.enqueue(keys.map((key) => aJob({ unique: { key: `user-${key}`, ...unique } })))
          const { jobs } = await store.claim(claiming({ limit: 2 }))
          await store.settle(jobs.map((job) => complete(job)))
        }
      }
      await Promise.all(Array.from({ length: 8 }, (_, n) => actor(n)))
      // A session reports its counters when it ends.
      await store.close()
      const client = await newClient()
      const { rows } = await client.query(
        'select deadlocks::int from pg_stat_database where datname = current_database()',
      )
      expect(rows).toEqual([{ deadlocks: 0 }])
    },
  )

  it.each(['existing', 'replace'] as const)(
    'transactions that share no key (%s) do not wait for each other',
    async (onConflict) => {
      const [a, b] = [await newClient(), await newClient()]
      await a.query('begin')
      await b.query('begin')
      for (let n = 0; n < 100; n++) {
        for (const [tx, name] of [[a, 'order'] as const, [b, 'mail'] as const])
          await store.enqueue([aJob({ unique: { key: `${name}-${n}`, onConflict } })], { tx })
      }
      await b.query('commit')
      await a.query('commit')
    },
  )

  it('a transaction with many idempotency keys keeps no other key waiting, and no schedule', async () => {
    const tx = await newClient()
    await tx.query('begin')
    await store.enqueue(
      Array.from({ length: 2_000 }, (_, n) => aJob({ idempotencyKey: `row-${n}` })),
      { tx },
    )
    await store.enqueue([aJob({ idempotencyKey: 'another' })])
    await store.enqueue([aJob({ unique: { key: 'user-1', onConflict: 'replace' } })])
    await store.enqueue(Array.from({ length: 20 }, (_, n) => keyed(n)))
    await store.schedules.tick()
    await tx.query('rollback')
  })

  it('two calls that name them in opposite orders do not deadlock', async () => {
    const [a, b] = [await newClient(), await newClient()]
    for (let round = 0; round < 3; round++) {
      const jobs = Array.from({ length: 150 }, (_, n) => keyed(n + round * 200))
      const again = jobs.map((job) => ({ ...job, id: crypto.randomUUID() })).toReversed()
      const [first, second] = await Promise.all([inTransaction(a, jobs), inTransaction(b, again)])
      expect(second.toReversed()).toEqual(first)
    }
  })

  it('two calls that replace jobs in opposite orders, while these are settled, do not deadlock', async () => {
    const [a, b] = [await newClient(), await newClient()]
    const key = (n: number) => ({ unique: { key: `user-${n}`, onConflict: 'replace' as const } })
    for (let round = 0; round < 3; round++) {
      const jobs = () => Array.from({ length: 100 }, (_, n) => aJob(key(n + round * 200)))
      await store.enqueue(jobs())
      const { jobs: runs } = await store.claim(claiming({ limit: 50 }))
      await Promise.all([
        inTransaction(a, jobs()),
        inTransaction(b, jobs().toReversed()),
        store.settle(runs.toReversed().map((run) => complete(run))),
      ])
    }
  })
})

describe('a job on Postgres that is replaced by a transaction that is still open', () => {
  it.each(['retry', 'release', 'complete'] as const)(
    'a settle (%s) waits for that transaction, and sees its result',
    async (kind) => {
      const [tx, other] = [await newClient(), await newClient()]
      const unique = { key: 'digest:123', onConflict: 'replace' as const }
      await store.enqueue([aJob({ payload: 'v1', unique })])
      const { id, run } = await claimOne(store)
      await tx.query('begin')
      const [next = ''] = await store.enqueue([aJob({ payload: 'v2', unique })], { tx })
      const settled = store.settle([
        kind === 'retry' ? { id, run, kind, delayMs: 0, error: anError } : { id, run, kind },
      ])
      await eventually(async () => expect(await waiting(other)).toBe(1))
      await tx.query('commit')
      expect((await settled).stale).toEqual([])
      expect(await read(store, id)).toMatchObject({ status: kind === 'complete' ? 'completed' : 'cancelled' })
      const { jobs } = await store.claim(claiming())
      expect(jobs.map((job) => [job.id, job.payload])).toEqual([[next, 'v2']])
    },
  )
})

describe('an enqueue on Postgres whose connection breaks before the reply', () => {
  let proxy: Relay
  let remote: Store
  beforeEach(async () => {
    proxy = await Relay.start(database.url)
    remote = await openStore(proxy.url)
  })
  afterEach(async () => {
    await remote.close()
    await proxy.close()
  })

  it.each([
    ['jobs', () => someJobs(3)],
    ['one job', () => someJobs(1)],
  ])('%s: recognises what the server stored after all as its own, not as duplicates', async (_, jobs) => {
    const [first, second, other] = [await newClient(), await newClient(), await newClient()]
    const lock = async (client: pg.Client) => {
      await client.query('begin')
      await client.query('lock table oncue.jobs in share mode')
    }
    await lock(first)
    const given = jobs()
    const enqueued = remote.enqueue(given)
    await eventually(async () => expect(await waiting(other)).toBe(1))
    // Locks are granted in the order of the requests.
    const locked = lock(second)
    await eventually(async () => expect(await waiting(other)).toBe(2))
    proxy.cut()
    // No row is there yet, so the enqueue is sent again, and waits too.
    await eventually(async () => expect(await waiting(other)).toBe(3))
    await first.query('commit')
    await locked
    await second.query('commit')
    expect(await enqueued).toEqual(given.map((job) => job.id))
    expect((await store.stats()).pending).toBe(given.length)
  })

  it('with keys: each gets the id of the job that holds the key', async () => {
    const unique = { key: 'digest:123' }
    const [holder] = await store.enqueue([aJob({ unique })])
    const given = [aJob(), aJob({ unique }), aJob({ unique: { key: 'digest:456' } })]
    proxy.loseAnswerTo = 'commit'
    expect(await remote.enqueue(given)).toEqual([given[0]?.id, holder, given[2]?.id])
    expect(proxy.loseAnswerTo).toBeUndefined()
    expect((await store.stats()).pending).toBe(3)
  })
})
