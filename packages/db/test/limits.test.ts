import Database from 'better-sqlite3'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { sqliteFile } from '../src/url.ts'
import {
  aJob,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  LEASE,
  someJobs,
} from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase } from './support/index.ts'

/** Returns rows, column by column. */
type Run = (text: string) => Promise<unknown[][]>

/** States that no call of a store brings about on purpose: a leaked slot, a job that was overlooked. */
const DIALECTS: (Dialect & { connect(url: string): Promise<{ run: Run; close(): Promise<void> }> })[] = [
  {
    name: 'Postgres',
    createDatabase: () => createPostgresDatabase(inject('postgresUrl')),
    transactions: [],
    async connect(url) {
      const client = new pg.Client(url)
      await client.connect()
      return {
        run: async (text) =>
          (await client.query({ text: text.replaceAll('oncue_', 'oncue.'), rowMode: 'array' })).rows,
        close: () => client.end(),
      }
    },
  },
  {
    name: 'SQLite',
    createDatabase: createSqliteDatabase,
    transactions: [],
    async connect(url) {
      const db = new Database(sqliteFile(url))
      return {
        async run(text) {
          const statement = db.prepare(text)
          if (statement.reader) return statement.raw().all() as unknown[][]
          statement.run()
          return []
        },
        close: async () => void db.close(),
      }
    },
  },
]

describe.each(DIALECTS)('limits heal on $name', (dialect) => {
  const bench = new Bench(dialect)
  let run: Run
  let close: () => Promise<void>
  beforeEach(async () => {
    ;({ run, close } = await dialect.connect(bench.url))
  })
  afterEach(() => close())

  it.each([
    ['queue', {}],
    ['concurrency key', { concurrencyKey: 'k' }],
  ])('a slot of a %s whose run is over is freed when its lease would have expired', async (_, options) => {
    const store = await bench.openWithClock()
    if (!('concurrencyKey' in options)) await store.limit({ queue: 'default' }, { maxRunning: 1 })
    await store.enqueue(someJobs(2, options))
    const { id } = await claimOne(store)
    // The run has ended, and nothing that should follow was done.
    await run(`delete from oncue_jobs where id = '${id}'`)
    expect((await store.claim(claiming())).jobs).toEqual([])
    bench.clock.advance(LEASE + 1)
    await store.rescue()
    expect((await store.claim(claiming())).jobs).toHaveLength(1)
  })

  it('throttled jobs start when there is room, however many keys there are', async () => {
    const store = await bench.openWithClock()
    const keys = Array.from({ length: 450 }, (_, n) => `user:${n}`)
    await store.enqueue(keys.map((concurrencyKey) => aJob({ concurrencyKey })))
    await run(`update oncue_jobs set visible_at = null`)
    await run(
      `insert into oncue_slots (key, waiting) select 'k:' || concurrency_key, cast(1 as boolean) from oncue_jobs`,
    )
    const found: number[] = []
    for (let poll = 0; poll < 10; poll++) {
      await store.rescue()
      const { jobs } = await store.claim(claiming({ limit: 450 }))
      found.push(jobs.length)
      await store.settle(jobs.map((job) => complete(job)))
    }
    expect(Math.max(...found)).toBe(200)
    expect(found.reduce((sum, count) => sum + count)).toBe(450)
  })

  it('slots without runs and without settings are removed, however many there are', async () => {
    const store = await bench.openWithClock()
    const keys = Array.from({ length: 450 }, (_, n) => `user:${n}`)
    await store.limit({ queue: 'default' }, { maxRunning: 1_000 })
    await store.limit({ concurrencyKey: 'limited' }, { maxRunning: 1 })
    await store.rescue()
    await store.enqueue(keys.map((concurrencyKey) => aJob({ concurrencyKey })))
    const { jobs } = await store.claim(claiming({ limit: 450 }))
    await store.settle(jobs.slice(1).map((job) => complete(job)))
    for (let poll = 0; poll < 10; poll++) await store.rescue()
    const left = await run('select key from oncue_slots')
    expect(left.flat().sort()).toEqual([`k:${jobs[0]?.concurrencyKey}`, 'k:limited', 'q:default'].sort())
  })
})
