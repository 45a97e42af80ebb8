import { eventually } from '@oncue/testing'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import type { Presence, Store } from '../src/store.ts'
import { aJob, newWorkerId, TestClock } from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'
import { withClient } from './support/postgres-transactions.ts'

describe('workers on Postgres whose presence is missing', () => {
  let database: TestDatabase
  let clock: TestClock
  let store: Store
  let presences: Presence[]
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    clock = new TestClock()
    store = await openStore(database.url, { clock: clock.now })
    presences = []
  })
  afterEach(async () => {
    for (const presence of presences) await presence.leave()
    await store.close()
    await database.drop()
  })

  const admin = <T>(use: (client: pg.Client) => Promise<T>) => withClient(database.url, use)
  const dead = async (worker?: string) => (await store.rescue(worker)).rescued.map((one) => one.worker)

  async function present(): Promise<string> {
    const id = newWorkerId()
    presences.push(await store.attend({ id, host: 'h', pid: 1, queues: [], concurrency: 1, version: '0' }))
    return id
  }

  /** A worker whose presence lock no session holds. */
  async function missing(): Promise<string> {
    const id = newWorkerId()
    await admin((client) =>
      client.query(
        `insert into oncue.workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
         values ($1, 'h', 1, '[]', 1, '0', (random() * 1e9)::bigint, $2, $2)`,
        [id, clock.now()],
      ),
    )
    return id
  }

  /** For a while after its own start, and after that of the server, a store declares no worker dead. */
  async function untilCalm(): Promise<void> {
    const one = await missing()
    await store.rescue()
    clock.advance(60_000)
    await eventually(async () => expect(await dead()).toEqual([one]))
  }

  it('keep their own row behind a pooler, however long they were silent', async () => {
    await untilCalm()
    const ids = [await missing(), await missing()]
    await admin((client) => client.query('update oncue.workers set presence = null'))
    clock.advance(2 * 3_600_000)
    await store.rescue(ids[0])
    expect((await store.workers()).map(({ id }) => id)).toEqual([ids[0]])
    // The other one is remembered as lost, with what is known: when it was heard of last.
    const lost = await store.worker(ids[1] ?? '')
    expect(lost).toMatchObject({ ended: { how: 'lost', at: clock.now(), released: 0, failed: 0 }, runs: [] })
    expect(lost?.lastBeat).toEqual(new Date(clock.now().getTime() - 2 * 3_600_000))
  })

  it('are remembered once, with all that they held, where some of it was locked at first', async () => {
    await untilCalm()
    const gone = await missing()
    const jobs = [aJob(), aJob()]
    await store.enqueue(jobs)
    await store.claim({ queues: ['default'], limit: 2, worker: gone, leaseMs: 600_000 })
    await store.rescue()
    clock.advance(60_000)
    await admin(async (client) => {
      await client.query('begin')
      await client.query('select from oncue.jobs where id = $1 for update', [jobs[0]?.id])
      await eventually(async () => expect(await dead()).toEqual([gone]))
      expect((await store.workers()).map(({ id }) => id)).toEqual([gone])
      await client.query('rollback')
    })
    await eventually(async () => expect(await dead()).toEqual([gone]))
    expect(await store.workers()).toEqual([])
    const found = await store.worker(gone)
    expect(found).toMatchObject({ ended: { how: 'lost', released: 2, failed: 0 }, runsAreComplete: true })
    expect(new Set(found?.runs.map(({ id }) => id))).toEqual(new Set(jobs.map(({ id }) => id)))
  })

  it('of which every job is locked keep no other from being rescued', async () => {
    await untilCalm()
    const [stuck, other] = [await missing(), await missing()]
    const jobs = [aJob(), aJob()]
    await store.enqueue(jobs)
    for (const worker of [stuck, other])
      await store.claim({ queues: ['default'], limit: 1, worker, leaseMs: 600_000 })
    const held = await store.list({ status: 'processing' }, { limit: 2 })
    const ofStuck = held.items.filter(({ lockedBy }) => lockedBy === stuck).map(({ id }) => id)
    await store.rescue()
    clock.advance(60_000)
    await admin(async (client) => {
      await client.query('begin')
      await client.query('select from oncue.jobs where id = any ($1) for update', [ofStuck])
      await eventually(async () => expect(await dead()).toContain(other))
      expect(await dead()).toEqual([stuck])
      expect(await dead()).toEqual([stuck])
      await client.query('rollback')
    })
    expect(await dead()).toEqual([stuck])
    expect(await store.workers()).toEqual([])
  })

  it('are declared dead within a second when they are few', async () => {
    await untilCalm()
    await present()
    const gone = await missing()
    expect(await dead()).toEqual([])
    clock.advance(799)
    expect(await dead()).toEqual([])
    clock.advance(1)
    expect(await dead()).toEqual([gone])
  })

  it('are given time to come back when they are the majority', async () => {
    await untilCalm()
    await present()
    const gone = [await missing(), await missing(), await missing()]
    expect(await store.rescue()).toEqual({ rescued: [], lookAgainMs: 20_000 })
    clock.advance(19_999)
    expect(await dead()).toEqual([])
    clock.advance(1)
    expect((await dead()).toSorted()).toEqual(gone.toSorted())
    expect(await store.rescue()).toEqual({ rescued: [], lookAgainMs: null })
  })

  it('stay alive while they send heartbeats, and while they rescue others', async () => {
    await untilCalm()
    await present()
    const id = await missing()
    expect(await dead()).toEqual([])
    clock.advance(700)
    await store.heartbeat({ worker: id, leaseMs: 1_000, runs: [] })
    clock.advance(700)
    expect(await dead()).toEqual([])
    clock.advance(100)
    expect(await dead(id)).toEqual([])
    expect(await dead()).toEqual([id])
  })

  it('leave no statement behind on the server when their row is locked for long', async () => {
    const id = await present()
    await admin(async (holder) => {
      await holder.query('begin')
      await holder.query('select from oncue.workers where id = $1 for update', [id])
      const { rows: own } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
      const waiting = () =>
        admin(async (client) => {
          const { rows } = await client.query<{ pid: number }>(
            'select pid from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
            [own[0]?.pid],
          )
          return rows.map(({ pid }) => pid)
        })
      await holder.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncue presence ' || $1::text`,
        [id],
      )
      await eventually(async () => expect(await waiting()).toHaveLength(1))
      const [first = 0] = await waiting()
      // The first attempt gives up after 10 s. Then the second one waits alone.
      await eventually(async () => {
        const pids = await waiting()
        expect(pids).toHaveLength(1)
        expect(pids).not.toContain(first)
      })
      await holder.query('rollback')
    })
    await eventually(async () => expect(await store.workers()).toMatchObject([{ id, missingSince: null }]))
  })

  it('are not declared dead by a process that has just lost connections itself', async () => {
    await untilCalm()
    await present()
    const gone = await missing()
    expect(await dead()).toEqual([])
    clock.advance(1_000)
    const cut = () =>
      admin((client) =>
        client.query(
          `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and application_name like 'oncue%'`,
        ),
      )
    await cut()
    const { rescued, lookAgainMs } = await store.rescue()
    expect(rescued).toEqual([])
    expect(lookAgainMs).toBeGreaterThan(0)
    await eventually(async () => expect(await dead()).toEqual([gone]))
  })
})
