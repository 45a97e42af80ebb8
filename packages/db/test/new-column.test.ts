import './support/tenant-column.ts' // First: modules make SQL of the table while they load.

import type { NewJob } from '@oncue/core'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { buildFunctions, readSources } from '../../../prisma/functions.ts'
import { installable } from '../src/migrate/functions.ts'
import { openStore } from '../src/open.ts'
import { FUNCTION_SET } from '../src/postgres/function-set.ts'
import { loadDriver } from '../src/sqlite/driver.ts'
import type { Store } from '../src/store.ts'
import { sqliteFile } from '../src/url.ts'
import {
  aJob,
  anError,
  claiming,
  claimOne,
  complete,
  MINUTE,
  TestClock,
  WORKER,
} from './conformance/harness.ts'
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from './support/index.ts'
import type { WithTenant } from './support/tenant-column.ts'

/** Has the column in both tables, and the functions that the table of columns builds for it. */
const DATABASES: Record<string, () => Promise<TestDatabase>> = {
  async Postgres() {
    const database = await createPostgresDatabase(inject('postgresUrl'))
    const client = new pg.Client(database.url)
    await client.connect()
    const { sql } = buildFunctions(await readSources())
    await client.query(
      `alter table oncue.jobs add column tenant text; alter table oncue.history add column tenant text`,
    )
    const dropped = (await client.query(DROP_FUNCTIONS)) as unknown as pg.QueryResult[]
    await client.query(dropped[1]?.rows[0].rest)
    await client.query(installable({ hash: FUNCTION_SET, sql }))
    await client.end()
    return database
  },
  async SQLite() {
    const database = await createSqliteDatabase()
    const Driver = await loadDriver()
    const db = new Driver(sqliteFile(database.url))
    db.exec('ALTER TABLE oncue_jobs ADD COLUMN tenant TEXT; ALTER TABLE oncue_history ADD COLUMN tenant TEXT')
    db.close()
    return database
  },
}

/** Drops the functions of this build in one statement; dropping the type drops those that return it. */
const DROP_FUNCTIONS = `drop type oncue.work_row_${FUNCTION_SET} cascade;
select string_agg(format('drop function if exists %s cascade', p.oid::regprocedure), ';') as rest
from pg_proc p where p.pronamespace = 'oncue'::regnamespace and p.proname like '%\\_${FUNCTION_SET}'`

describe.each(Object.keys(DATABASES))('a column that only the table of columns names, on %s', (name) => {
  const clock = new TestClock()
  let database: TestDatabase
  let store: Store
  beforeEach(async () => {
    database = (await DATABASES[name]?.()) ?? expect.unreachable()
    store = await openStore(database.url, { clock: clock.now })
  })
  afterEach(async () => {
    await store.close()
    await database.drop()
  })

  const ofTenant = (tenant: string, options?: Parameters<typeof aJob>[0]): WithTenant<NewJob> => ({
    ...aJob(options),
    tenant,
  })

  /** `get` and `list` must return the same. */
  async function tenantOf(id: string): Promise<string | null | undefined> {
    const job: WithTenant<object> | null = await store.get(id)
    const { items } = await store.list()
    const listed: WithTenant<object> | undefined = items.find((item) => item.id === id)
    expect(listed?.tenant).toBe(job?.tenant)
    return job?.tenant
  }

  async function claimedTenants(): Promise<Record<string, string | null | undefined>> {
    const { jobs } = await store.claim(claiming({ limit: 100 }))
    return Object.fromEntries(jobs.map((job: WithTenant<(typeof jobs)[number]>) => [job.id, job.tenant]))
  }

  test.each<[string, NewJob[]]>([
    ['one job', [ofTenant('a')]],
    ['jobs of one tenant', [ofTenant('a'), ofTenant('a')]],
    ['jobs of several, and of none', [ofTenant('a'), ofTenant('b'), aJob()]],
    ['jobs with keys', [ofTenant('a', { unique: { key: 'k' } }), ofTenant('b', { idempotencyKey: 'k' })]],
    [
      'jobs with much payload and meta',
      [ofTenant('a', { meta: { n: 1 } }), ofTenant('b', { payload: 'x'.repeat(5_000) })],
    ],
  ])('is stored, read and claimed: %s', async (_, jobs: WithTenant<NewJob>[]) => {
    await store.enqueue(jobs)
    for (const { id, tenant = null } of jobs) expect(await tenantOf(id)).toBe(tenant)
    const claimed = await claimedTenants()
    for (const { id, tenant = null } of jobs) expect(claimed[id]).toBe(tenant)
  })

  test.each<[string, 'completed' | 'failed' | 'cancelled', (id: string) => Promise<unknown>]>([
    ['completes', 'completed', async () => store.settle([complete(await claimOne(store))])],
    [
      'fails',
      'failed',
      async () => store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }]),
    ],
    ['is cancelled while it waits', 'cancelled', (id) => store.cancel([id])],
    ['crashes too often', 'failed', () => crash()],
  ])('goes to history and comes back with a job that %s', async (_, status, end) => {
    const [id = ''] = await store.enqueue([ofTenant('a', { maxRetries: 0 })])
    await end(id)
    expect((await store.get(id))?.status).toBe(status)
    expect(await tenantOf(id)).toBe('a')
    expect(await store.requeue([id])).toMatchObject({ done: 1 })
    expect((await store.get(id))?.status).toBe('pending')
    expect(await tenantOf(id)).toBe('a')
    expect(await claimedTenants()).toEqual({ [id]: 'a' })
  })

  /** The lease expires, and the next claim finds it. */
  async function crash(): Promise<void> {
    await store.claim(claiming({ leaseMs: MINUTE, worker: WORKER }))
    clock.advance(2 * MINUTE)
    await store.claim(claiming())
  }

  test('goes to history with a job that ends at its enqueue', async () => {
    const [parent = ''] = await store.enqueue([aJob()])
    await store.cancel([parent])
    const [id = ''] = await store.enqueue([ofTenant('a', { after: [parent], onParentFailure: 'stop' })])
    expect((await store.get(id))?.status).toBe('failed')
    expect(await tenantOf(id)).toBe('a')
  })

  test('is replaced, by a later call and by the same call', async () => {
    const unique = { key: 'k', onConflict: 'replace' } as const
    const [id = ''] = await store.enqueue([ofTenant('a', { unique }), ofTenant('b', { unique })])
    expect(await tenantOf(id)).toBe('b')
    expect(await store.enqueue([ofTenant('c', { unique })])).toEqual([id])
    expect(await tenantOf(id)).toBe('c')
  })
})
