import { type Runtime, systemRuntime } from '@oncue/runtime'
import { eventually, until } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { aJob, claiming, newWorkerId } from './conformance/harness.ts'
import { type PostgresServer, startPostgres } from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'
import { withClient } from './support/postgres-transactions.ts'

const HOUR = 3_600_000

describe('connections to a server that has become read-only', () => {
  let server: PostgresServer
  beforeEach(async () => {
    server = await startPostgres({ settings: { fsync: 'off' } })
  })
  afterEach(() => server.stop())

  /**
   * As after a failover: open sessions follow the server's setting from now on, which is read-only,
   * while new ones find a database that accepts writes.
   */
  async function demote(): Promise<void> {
    await withClient(server.url, async (client) => {
      await client.query('alter database postgres set default_transaction_read_only = off')
      await client.query('alter system set default_transaction_read_only = on')
      await client.query('select pg_reload_conf()')
      const readOnly = () => client.query('show default_transaction_read_only')
      await eventually(async () =>
        expect((await readOnly()).rows[0]).toEqual({ default_transaction_read_only: 'on' }),
      )
    })
  }

  const backends = (application: string) =>
    withClient(server.url, async (client) => {
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where application_name like $1 order by pid`,
        [application],
      )
      return rows.map((row) => row.pid)
    })

  it('are all replaced, and the refused call is sent again', async () => {
    const store = await openStore(server.url, { migrate: true, poolSize: 3 })
    await Promise.all([store.now(), store.now(), store.now()])
    const before = await backends('oncue')
    expect(before).toHaveLength(3)
    await demote()
    await eventually(async () => {
      await store.enqueue([aJob(), aJob({ unique: { key: crypto.randomUUID() } })])
      expect((await backends('oncue')).filter((pid) => before.includes(pid))).toEqual([])
    })
    expect((await store.claim(claiming({ limit: 1 }))).jobs).toHaveLength(1)
    await store.close()
  })

  it('are replaced one by one in a pool of the caller', async () => {
    const pool = openPool({ connectionString: server.url, max: 2 })
    const client = new PostgresClient(pool)
    const ask = { text: 'select 1', values: [] }
    await Promise.all([client.query(ask), client.query(ask)])
    await demote()
    await client.queryOnce({ text: 'create table made (n integer)', values: [] })
    await client.transaction([{ text: 'insert into made values (1)', values: [] }])
    await pool.end()
  })

  it('are given up by presence and listener as soon as a write is refused', async () => {
    // Without their pings, which would notice too, but seconds later.
    const every: Runtime['every'] = (_, work) => systemRuntime.every(HOUR, work)
    const store = await openStore(server.url, { migrate: true, runtime: { ...systemRuntime, every } })
    const id = newWorkerId()
    const worker = { id, host: 'h', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    const presence = await store.attend(worker)
    let wakes = 0
    const subscription = await store.onWake(['default'], () => {
      wakes += 1
    })
    const before = [...(await backends('oncue presence%')), ...(await backends('oncue listener'))]
    expect(before).toHaveLength(2)
    await demote()
    await until(async () => {
      await store.enqueue([aJob()])
      const now = [...(await backends('oncue presence%')), ...(await backends('oncue listener'))]
      return now.length === 2 && !now.some((pid) => before.includes(pid))
    })
    wakes = 0
    await store.enqueue([aJob()])
    await eventually(() => expect(wakes).toBeGreaterThan(0))
    expect((await store.rescue()).rescued).toEqual([])
    expect(await store.workers()).toMatchObject([{ id, missingSince: null }])
    await subscription.close()
    await presence.leave()
    await store.close()
  })
})
