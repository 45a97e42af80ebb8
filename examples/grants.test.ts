import { randomBytes } from 'node:crypto'
import { defineJobs, job, prepareJob } from '@oncue/core'
import { createQueue, openStore, type Store } from '@oncue/db'
import {
  connectPostgres,
  createPostgresDatabase,
  openPool,
  type PostgresSession,
  type TestDatabase,
} from '@oncue/db/testing'
import { silentLogger, startWorker } from '@oncue/worker'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { blocksOf } from './markdown.ts'

const WORKER = '01900000-0000-7000-8000-00000000000a'
const jobs = defineJobs({ report: job({ input: z.unknown(), signals: { stop: z.null() } }) })

describe('the grants of docs/guides/production.md', () => {
  // Roles belong to the server, not to the database of a test.
  const suffix = randomBytes(4).toString('hex')
  const roles = ['oncue_worker', 'oncue_producer'].map((role) => `${role}_${suffix}`)
  let database: TestDatabase
  let owner: PostgresSession

  const as = (role: string) => {
    const url = new URL(database.url)
    // Not as the user of the server's URL, because the server may require a password.
    url.searchParams.set('options', `-c role=${role}_${suffix}`)
    return url.href
  }

  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    owner = await connectPostgres(database.url)
    const [block] = blocksOf('docs/guides/production.md').filter(({ info }) => info === 'sql')
    const statements = block?.code.replaceAll(/oncue_(worker|producer)\b/g, `$&_${suffix}`) ?? ''
    await owner.query(statements)
  })
  afterEach(async () => {
    for (const role of roles) await owner.query(`drop owned by ${role}`)
    for (const role of roles) await owner.query(`drop role ${role}`)
    await owner.end()
    await database.drop()
  })

  async function withStore(url: string, use: (store: Store) => Promise<void>): Promise<void> {
    const store = await openStore(url)
    await use(store).finally(() => store.close())
  }

  test('are enough for a worker: jobs, keys, limits, schedules, pruning', () =>
    withStore(as('oncue_worker'), async (store) => {
      const worker = await startWorker({ store, workers: { report: () => 'done' }, log: silentLogger })
      await store.enqueue([
        prepareJob('report', 'x'.repeat(5_000), { unique: { key: 'a' }, meta: { a: 1 } }),
        prepareJob('report', null, { concurrencyKey: 'k' }),
      ])
      await worker.drain()
      await store.limit({ queue: 'default' }, { maxRunning: 5 })
      await store.schedules.tick()
      await store.rollUp()
      expect(await store.stats()).toMatchObject({ completed: 2 })
      const finishedBefore = new Date(Date.now() + 60_000)
      expect(await store.prune({ status: 'completed', finishedBefore })).toBe(2)
      await worker.stop()
    }))

  test('are enough for a producer: with keys that are free, held or replaced, and parents', async () => {
    const pool = openPool({ connectionString: as('oncue_producer'), max: 1 })
    const queue = createQueue({ pool, jobs })
    const unique = { key: 'a', onConflict: 'replace' } as const
    const big = 'x'.repeat(5_000)
    const first = await queue.enqueue('report', big, { unique, meta: { a: 1 } })
    expect(await queue.enqueue('report', big, { unique, meta: { b: 1 } })).toBe(first)
    await queue.enqueue('report', null, { idempotencyKey: 'i', after: [first] })
    await queue.signal(first, 'stop', null)
    await queue.batch([{ topic: 'report', payload: null }], { onFailure: { topic: 'report', payload: null } })
    const [[count] = []] = await owner.query('select count(*)::int from oncue.jobs')
    expect(count).toBe(4)
    await expect(pool.query('delete from oncue.history')).rejects.toThrow('permission denied')
    await pool.end()
  })

  test('are enough for a producer whose jobs depend on one that has failed', async () => {
    const policies = ['wait', 'stop', 'cancel', 'go_on'] as const
    const parent = prepareJob('report', null)
    await withStore(database.url, async (store) => {
      await store.enqueue([parent])
      const { jobs: claimed } = await store.claim({
        queues: ['default'],
        limit: 1,
        worker: WORKER,
        leaseMs: 60_000,
      })
      const error = { class: 'Error', message: 'no', fingerprint: 'no' }
      await store.settle(claimed.map(({ id, run }) => ({ id, run, kind: 'fail', error })))
    })
    const pool = openPool({ connectionString: as('oncue_producer'), max: 1 })
    const queue = createQueue({ pool, jobs })
    const big = 'x'.repeat(5_000)
    const children: string[] = []
    for (const onParentFailure of policies) {
      const options = {
        after: [parent.id],
        onParentFailure,
        meta: { a: 1 },
        unique: { key: onParentFailure },
      }
      children.push(await queue.enqueue('report', big, options))
    }
    await pool.end()
    const [...rows] = await owner.query(
      `select w.n, coalesce(j.status, h.status)::text from unnest($1::uuid[]) with ordinality as w(id, n)
       left join oncue.jobs j using (id) left join oncue.history h using (id) order by w.n`,
      [children],
    )
    expect(rows.map(([, status]) => status)).toEqual(['blocked', 'failed', 'cancelled', 'pending'])
  })

  test('are enough for a producer that enqueues by SQL', async () => {
    const pool = openPool({ connectionString: as('oncue_producer'), max: 1 })
    const enqueue = 'select oncue.enqueue($1, $2, $3) as id'
    const options = { unique: { key: 'a', onConflict: 'replace' }, idempotencyKey: 'i', meta: { a: 1 } }
    const first = await pool.query(enqueue, ['report', JSON.stringify('x'.repeat(5_000)), options])
    const again = await pool.query(enqueue, ['report', 'null', { unique: options.unique }])
    expect(again.rows).toEqual(first.rows)
    await pool.query(enqueue, ['report', 'null', { after: [first.rows[0].id] }])
    await pool.end()
    const [[count] = []] = await owner.query('select count(*)::int from oncue.jobs')
    expect(count).toBe(2)
  })

  test('a producer of plain jobs needs less', async () => {
    const role = roles[1]
    await owner.query(`revoke all on all tables in schema oncue from ${role}`)
    await owner.query(`grant insert on oncue.jobs, oncue.payloads, oncue.job_meta to ${role}`)
    await owner.query(`grant select on oncue.jobs to ${role}`)
    const pool = openPool({ connectionString: as('oncue_producer'), max: 1 })
    const queue = createQueue({ pool, jobs })
    await queue.enqueue('report', 'x'.repeat(5_000), { meta: { a: 1 }, concurrencyKey: 'k' })
    await queue.enqueue('report', null)
    await pool.end()
    const [[count] = []] = await owner.query('select count(*)::int from oncue.jobs')
    expect(count).toBe(2)
  })
})
