import { eventually } from '@oncue/testing'
import pg from 'pg'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { openControl } from '../src/control/index.ts'
import { type BulkOperationRow, openStore, type Store } from '../src/index.ts'
import { openBatchesStatement } from '../src/portable/bulk-outcomes.ts'
import { toPostgres } from '../src/portable/sql.ts'
import type { Marks } from '../src/postgres/low-water.ts'
import * as postgres from '../src/postgres/sql.ts'
import { type Driver, loadDriver } from '../src/sqlite/driver.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import { sqliteFile } from '../src/url.ts'
import { anError, claiming, someJobs, TestClock, WORKER } from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

const MANY = 100_000
const BATCH = 500
const NO_MARKS: Marks = { queues: [], priorities: [], times: [], ids: [] }

async function begin(
  store: Store,
  filter: BulkOperationRow['filter'],
  asOf: Date,
): Promise<BulkOperationRow> {
  const { bulkOperations } = await openControl(store)
  return bulkOperations.create({
    ...{ action: filter.status === 'failed' ? 'requeue' : 'cancel', filter, asOf, spreadMs: 0 },
    ...{ idempotencyKey: 'k', actor: { id: 't1', name: 'Ada', kind: 'token' } },
    ...{ total: 0, totalIsExact: true },
  })
}

describe('a bulk operation on Postgres', () => {
  async function open() {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    const clock = new TestClock()
    const store = await openStore(database.url, { clock: clock.now })
    const clients: pg.Client[] = []
    onTestFinished(async () => {
      for (const client of clients) await client.end()
      await store.close()
      await database.drop()
    })
    const connect = async () => {
      const client = new pg.Client(database.url)
      await client.connect()
      clients.push(client)
      return client
    }
    return { store, clock, connect }
  }

  /** How many pages a claim of ten touches, and how many jobs it gets. Rolled back. */
  async function claimTen(session: pg.Client, now: Date) {
    const explained = async (limit: number) => {
      const { text, values } = postgres.claim(claiming({ limit }), NO_MARKS, now)
      await session.query('begin')
      const { rows } = await session.query(
        `explain (analyze, buffers, timing off, format json)
         select from (${text}) as row, string_to_table(row.jobs, E'\\x1e')`,
        values,
      )
      await session.query('rollback')
      return rows[0]['QUERY PLAN'][0].Plan
    }
    // Fills the session's caches.
    await explained(1)
    const plan = await explained(10)
    return { buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], jobs: plan['Actual Rows'] }
  }

  it('finds the batches with open outcomes among 10⁵ jobs without reading the others', async () => {
    const { connect } = await open()
    const session = await connect()
    const operation = '01900000-0000-7000-8000-000000000000'
    await session.query(
      `insert into oncue.bulk_batches (operation_id, step, jobs, open)
       select $1, n, '[]', (n % 1000 = 0)::integer from generate_series(1, $2) n`,
      [operation, MANY],
    )
    const { text, values } = toPostgres(openBatchesStatement(operation, 0))
    const { rows } = await session.query(`explain (analyze, buffers, format json) ${text}`, values)
    const plan = rows[0]['QUERY PLAN'][0].Plan
    expect(plan['Actual Rows']).toBe(MANY / 1_000)
    expect(JSON.stringify(plan)).toContain('bulk_batches_open')
    // One page for each of those batches, plus the index.
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(MANY / 1_000 + 20)
  })

  it('of 10⁵ jobs does not make claims more expensive, even while a batch is open', async () => {
    const { store, clock, connect } = await open()
    const [session, inTheWay] = [await connect(), await connect()]
    await session.query('alter table oncue.jobs set (autovacuum_enabled = off)')
    await session.query(
      `insert into oncue.history (id, queue, topic, payload, priority, max_retries, timeout_ms, created, run_at,
         status, run, retries, crashes, last_error, fingerprint, started_at, finished_at)
       select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'default', 'mail_digest', '1', 0, 3,
         600000, $1::timestamptz, null, 'failed', 1, 3, 0, $3::json, 'f00d', $1, $1 from generate_series(1, $2) n`,
      [clock.now(), MANY, JSON.stringify(anError)],
    )
    await store.enqueue(someJobs(1_000))
    clock.advance(1)
    expect(await store.bulkOperations.count({ status: 'failed' }, clock.now())).toEqual({
      total: MANY,
      totalIsExact: true,
    })
    const before = await claimTen(session, clock.now())
    expect(before.jobs).toBeGreaterThanOrEqual(10)

    // The batch has moved its jobs and now waits to write their events.
    await inTheWay.query('begin; lock table oncue.events in exclusive mode')
    const begun = await begin(store, { status: 'failed' }, clock.now())
    const batch = store.bulkOperations.advance(begun)
    await eventually(async () => {
      const { rowCount } = await session.query(
        `select from pg_locks where relation = 'oncue.events'::regclass and not granted`,
      )
      expect(rowCount).toBe(1)
    })
    const meanwhile = await claimTen(session, clock.now())
    expect(meanwhile.jobs).toBe(before.jobs)
    expect(meanwhile.buffers).toBeLessThanOrEqual(1.2 * before.buffers)
    expect((await store.claim(claiming({ limit: 10 }))).jobs).toHaveLength(10)

    await inTheWay.query('rollback')
    expect(await batch).toMatchObject({ done: BATCH, skipped: {} })
  })

  it('retries jobs that were locked by a claim a few times, and then counts them as BUSY', async () => {
    const { store, clock, connect } = await open()
    const session = await connect()
    const [first = '', second = ''] = await store.enqueue(someJobs(20))
    clock.advance(1)
    await session.query('begin')
    await session.query('select from oncue.jobs where id = any ($1) for update', [[first, second]])

    const begun = await begin(store, { status: 'pending' }, clock.now())
    const some = await store.bulkOperations.advance(begun)
    expect(some).toMatchObject({ status: 'running', done: 18, skipped: {} })
    expect(some?.position?.busy.toSorted()).toEqual([first, second].toSorted())

    await session.query('rollback; begin')
    await session.query('select from oncue.jobs where id = $1 for update', [first])
    let last = some
    for (let tries = 2; last?.status === 'running'; tries++) {
      expect(last.position).toMatchObject({ tries: tries - 1, next: null })
      last = await store.bulkOperations.advance(last)
      expect(tries).toBeLessThanOrEqual(5)
    }
    expect(last).toMatchObject({ status: 'completed', done: 19, skipped: { BUSY: 1 } })
    await session.query('rollback')
    expect((await store.get(first))?.status).toBe('pending')
    expect((await store.get(second))?.status).toBe('cancelled')
  })
})

describe('a bulk operation on SQLite', () => {
  it('writes no transaction that is longer than one batch, and lets claims in between', async () => {
    const database = await createSqliteDatabase()
    const { driver, written } = counting(await loadDriver())
    const store = new SqliteStore({ driver, file: sqliteFile(database.url) })
    onTestFinished(async () => {
      await store.close()
      await database.drop()
    })
    const count = 20 * BATCH
    await store.enqueue(someJobs(count))
    const { jobs } = await store.claim({ queues: ['default'], limit: count, worker: WORKER, leaseMs: 60_000 })
    await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'fail', error: anError })))

    let seen: BulkOperationRow | null = await begin(store, { status: 'failed' }, await store.now())
    written.length = 0
    let claimed = 0
    while (seen?.status === 'running') {
      seen = await store.bulkOperations.advance(seen)
      claimed += (await store.claim(claiming({ limit: 1 }))).jobs.length
    }
    expect(seen).toMatchObject({ status: 'completed', done: count })
    expect(claimed).toBe(seen?.step)
    // Each job is deleted from one table, inserted into the other and gets an event; the rest is the totals.
    expect(Math.max(...written)).toBeLessThanOrEqual(3 * BATCH + 10)
    expect(written.filter((rows) => rows > BATCH)).toHaveLength(count / BATCH)
  })
})

/** A driver that records how many rows each transaction changed. */
function counting(driver: Driver): { driver: Driver; written: number[] } {
  const written: number[] = []
  const counted = new Proxy(driver, {
    construct(Target, [file, options]) {
      const db = new Target(file, options)
      const prepare = db.prepare.bind(db)
      const changes = () => Number(prepare('SELECT total_changes()').raw().all().flat()[0])
      let before = 0
      db.prepare = ((source: string) => {
        const statement = prepare(source)
        const run = statement.run.bind(statement)
        statement.run = (...values) => {
          if (source === 'BEGIN IMMEDIATE') before = changes()
          if (source === 'COMMIT') written.push(changes() - before)
          return run(...values)
        }
        return statement
      }) as typeof db.prepare
      return db
    },
  })
  return { driver: counted, written }
}
