import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { claiming, LEASE, someJobs, WORKER } from '../src/conformance/harness.ts'
import { openStore } from '../src/open.ts'
import type { Store } from '../src/store.ts'
import { createPostgresDatabase, type TestDatabase } from '../src/testing/index.ts'

describe('a limit on Postgres that is set while a claim is under way', () => {
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
      `select from oncue.claim_v1(null, $1, $2, '{default}', null, $3, $3, '{}', '{}', '{}', '{}')`,
      [WORKER, LEASE, limit],
    )
  }

  it('counts what that claim took without having seen the limit', async () => {
    await store.enqueue(someJobs(10))
    await claimUncommitted(3)
    const limited = store.limit({ queue: 'default' }, { maxRunning: 4 })
    // Committed, and already in effect for others; the claim under way is waited for.
    const rows = () =>
      other.query(`select from oncue.slots where key = 'q:default'`).then(({ rowCount }) => rowCount)
    await expect.poll(rows).toBe(1)
    await other.query('commit')
    await limited
    expect((await store.claim(claiming())).jobs).toHaveLength(1)
  })

  it('waits for nobody who only reads for long, such as a dump', async () => {
    await store.enqueue(someJobs(2))
    await other.query('begin')
    await other.query('select from oncue.slots')
    await store.limit({ queue: 'default' }, { maxRunning: 1 })
    expect((await store.claim(claiming())).jobs).toHaveLength(1)
  })
})
