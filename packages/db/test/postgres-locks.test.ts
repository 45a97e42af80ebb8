import { eventually } from '@oncue/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { fn } from '../src/postgres/sql.ts'
import type { Store } from '../src/store.ts'
import {
  aJob,
  anError,
  claimOne,
  complete,
  LEASE,
  newWorkerId,
  read,
  TestClock,
  WORKER,
} from './conformance/harness.ts'
import { createPostgresDatabase, type TestDatabase } from './support/index.ts'

const SETTLE = `select from ${fn('settle')}(null, array[$1]::uuid[], array[$2]::integer[], null, null, '{}', '{}', '{}')`

/** Two transactions at once, interleaved by locks that a third one holds. */
describe('lock waits on Postgres', () => {
  const clock = new TestClock()
  let database: TestDatabase
  let store: Store
  let other: pg.Client
  let watcher: pg.Client
  beforeEach(async () => {
    database = await createPostgresDatabase(inject('postgresUrl'))
    store = await openStore(database.url)
    other = new pg.Client(database.url)
    watcher = new pg.Client(database.url)
    await Promise.all([other.connect(), watcher.connect()])
  })
  afterEach(async () => {
    await Promise.all([other.end(), watcher.end()])
    await store.close()
    await database.drop()
  })

  /** How many sessions of this database wait for a lock of another session. */
  async function waiting(): Promise<number> {
    const { rows } = await watcher.query(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    )
    return rows[0].n
  }

  /** Whether the call ends while the locks of `other` are held, or is seen to wait for one of them. */
  async function endsOrWaits(work: Promise<unknown>): Promise<'ended' | 'waits'> {
    let ended = false
    const done = () => {
      ended = true
    }
    void work.then(done, done)
    for (;;) {
      if (ended) return 'ended'
      if ((await waiting()) > 0) return 'waits'
    }
  }

  const unchecked = async () => {
    const { rows } = await watcher.query('select count(*)::int as n from oncue.deps where not checked')
    return rows[0].n
  }

  async function aFailedJob(): Promise<string> {
    const [id = ''] = await store.enqueue([aJob({ queue: 'failing' })])
    const { run } = await claimOne(store, { queues: ['failing'] })
    await store.settle([{ id, run, kind: 'fail', error: anError }])
    return id
  }

  /** B after a failed A, C after B, D after C: B and C are both parents and dependants. */
  async function aChain(options: Parameters<typeof aJob>[0] = {}) {
    const b = aJob({ ...options, after: [await aFailedJob()] })
    const c = aJob({ ...options, after: [b.id] })
    const d = aJob({ ...options, after: [c.id] })
    await store.enqueue([b, c, d])
    return { b, c, d }
  }

  /** Blocks every statement that does this to a table until the returned function is called. */
  async function hold(event: string): Promise<() => Promise<unknown>> {
    await watcher.query(`create function wait_for_test() returns trigger language plpgsql
      as 'begin perform pg_advisory_xact_lock_shared(42); return coalesce(new, old); end';
      create trigger wait_for_test before ${event} for each row execute function wait_for_test();
      select pg_advisory_lock(42)`)
    return () => watcher.query('select pg_advisory_unlock(42)')
  }

  /** A chain whose first job fails before the edges to it are committed, so that its failure did not reach them. */
  async function aChainThatNobodyTold(onParentFailure: 'stop' | 'cancel' | 'go_on') {
    const [a = ''] = await store.enqueue([aJob({ queue: 'failing' })])
    const { run } = await claimOne(store, { queues: ['failing'] })
    const b = aJob({ after: [a], onParentFailure })
    const c = aJob({ after: [b.id], onParentFailure })
    await other.query('begin')
    await store.enqueue([b, c], { tx: other })
    await store.settle([{ id: a, run, kind: 'fail', error: anError }])
    await other.query('commit')
    return { b, c }
  }

  describe('polls', () => {
    it('handle an edge that is committed while they run the next time', async () => {
      const [parent = ''] = await store.enqueue([aJob({ queue: 'failing' })])
      const { run } = await claimOne(store, { queues: ['failing'] })
      const late = new pg.Client(database.url)
      await late.connect()
      await Promise.all([other.query('begin'), late.query('begin')])
      await store.enqueue([aJob({ after: [parent] })], { tx: other })
      const [stopped = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure: 'stop' })], {
        tx: late,
      })
      await store.settle([{ id: parent, run, kind: 'fail', error: anError }])
      await other.query('commit')
      // The poll stops between notifying dependants and checking their edges.
      const letGo = await hold('update on oncue.slots')
      await watcher.query(`insert into oncue.slots (key, waiting) values ('k:k', true)`)
      const poll = store.rescue()
      expect(await endsOrWaits(poll)).toBe('waits')
      await late.query('commit')
      await late.end()
      await letGo()
      await poll
      await store.rescue()
      expect(await read(store, stopped)).toMatchObject({ status: 'failed' })
    })

    it('leave an edge for the next poll when its failed parent is requeued and completes while they run', async () => {
      const parent = await aFailedJob()
      await store.enqueue([aJob({ queue: 'later', after: [parent] })])
      await other.query('begin')
      const [late = ''] = await store.enqueue([aJob({ queue: 'later', after: [parent] })], { tx: other })
      const letGo = await hold('update on oncue.slots')
      await watcher.query(`insert into oncue.slots (key, waiting) values ('k:k', true)`)
      const poll = store.rescue()
      expect(await endsOrWaits(poll)).toBe('waits')
      await store.requeue([parent], { by: 'an operator' })
      const { id, run } = await claimOne(store, { queues: ['failing'] })
      await store.settle([complete({ id, run })])
      await other.query('commit')
      await letGo()
      await poll
      await store.rescue()
      expect(await read(store, late)).toMatchObject({ status: 'pending' })
    })

    it.each([
      [
        'pruned',
        (parent: Store) =>
          parent.prune({ status: 'failed', finishedBefore: new Date(Date.now() + 60_000), limit: 10 }),
      ],
      ['deleted', (parent: Store, id: string) => parent.delete([id], { by: 'an operator' })],
    ] as const)('leave an edge for the next poll when its failed parent is being %s', async (_, remove) => {
      const parent = await aFailedJob()
      const letGo = await hold('delete on oncue.history')
      const removal = remove(store, parent)
      expect(await endsOrWaits(removal)).toBe('waits')
      const [late = ''] = await store.enqueue([aJob({ after: [parent] })])
      await store.rescue()
      await letGo()
      await removal
      await store.rescue()
      expect(await read(store, late)).toMatchObject({ status: 'failed' })
    })

    it('do not block the requeue of a failed parent', async () => {
      const parent = await aFailedJob()
      await store.enqueue([aJob({ after: [parent] })])
      await other.query('begin')
      await other.query(`select ${fn('tend')}(null)`)
      const requeue = store.requeue([parent], { by: 'an operator' })
      await endsOrWaits(requeue)
      await other.query('commit')
      expect(await requeue).toMatchObject({ done: 1 })
    })

    it('do not wait for another poll in progress', async () => {
      await aChain()
      await other.query('begin')
      await other.query(`select ${fn('tend')}(null)`)
      const second = store.rescue()
      const outcome = await endsOrWaits(second)
      await other.query('commit')
      await second
      expect(outcome).toBe('ended')
      expect(await unchecked()).toBe(0)
    })

    it('leave new edges alone while another poll is in progress', async () => {
      await other.query('begin')
      await other.query(`select ${fn('tend')}(null)`)
      await aChain()
      const edges = await unchecked()
      expect(edges).toBeGreaterThan(0)
      await store.rescue()
      expect(await unchecked()).toBe(edges)
      await other.query('commit')
      await store.rescue()
      expect(await unchecked()).toBe(0)
    })

    it('over a chain whose first job has failed wait neither for an edge nor for each other', async () => {
      const { c } = await aChain()
      // With row locks, both would now share B and wait here; released, each would wait for the other's share of B.
      await other.query('begin')
      await other.query('select from oncue.deps where job_id = $1 for update', [c.id])
      const polls = Promise.all([store.rescue(), store.rescue()])
      const outcome = await endsOrWaits(polls)
      await other.query('commit')
      await polls
      expect(outcome).toBe('ended')
      await store.rescue()
      expect(await unchecked()).toBe(0)
    })

    it('of twelve stores at once have checked every edge when they are done', async () => {
      const stores = await Promise.all(
        Array.from({ length: 12 }, () => openStore(database.url, { poolSize: 1 })),
      )
      for (const onParentFailure of ['wait', 'stop', 'cancel', 'go_on'] as const)
        await aChain({ onParentFailure })
      await Promise.all(stores.map((each) => each.rescue()))
      expect(await unchecked()).toBe(0)
      await Promise.all(stores.map((each) => each.close()))
    })

    it.each([
      ['stop', 'failed', 'failed'],
      ['cancel', 'cancelled', 'cancelled'],
      ['go_on', 'pending', 'blocked'],
    ] as const)(
      'that find a dependant locked do not wait, and the next poll updates it (%s): %s, %s',
      async (policy, then, thenNext) => {
        const { b, c } = await aChainThatNobodyTold(policy)
        await other.query('begin')
        await other.query('select from oncue.jobs where id = $1 for update', [b.id])
        const poll = store.rescue()
        const outcome = await endsOrWaits(poll)
        await other.query('commit')
        await poll
        expect(outcome).toBe('ended')
        await store.rescue()
        expect(await read(store, b.id)).toMatchObject({ status: then })
        expect(await read(store, c.id)).toMatchObject({ status: thenNext })
        expect(await unchecked()).toBe(0)
      },
    )

    it('a parent that is about to end while its new edge is checked still releases its dependant', async () => {
      const [parent = ''] = await store.enqueue([aJob()])
      const { run } = await claimOne(store)
      // The settle does not see the edge, and the check of the edge does not see the settle.
      await other.query('begin')
      const [child = ''] = await store.enqueue([aJob({ after: [parent] })], { tx: other })
      await watcher.query('begin')
      await watcher.query(SETTLE, [parent, run])
      await other.query('commit')
      await store.rescue()
      expect(await read(store, child)).toMatchObject({ status: 'blocked' })
      await watcher.query('commit')
      await store.rescue()
      expect(await read(store, child)).toMatchObject({ status: 'pending' })
    })
  })

  describe('a delete', () => {
    it('keeps a failed job that has got a dependant by the time its row is unlocked', async () => {
      const parent = await aFailedJob()
      await other.query('begin')
      await other.query('select from oncue.history where id = $1 for update', [parent])
      const removal = store.delete([parent], { by: 'an operator' })
      expect(await endsOrWaits(removal)).toBe('waits')
      const [child = ''] = await store.enqueue([aJob({ after: [parent] })])
      await store.rescue()
      await other.query('commit')
      expect(await removal).toMatchObject({ done: 0, skipped: { HAS_DEPENDANTS: 1 } })
      expect(await read(store, child)).toMatchObject({ status: 'blocked' })
    })
  })

  describe('an enqueue after a failed parent', () => {
    it('does not lock other jobs that wait for that parent while the transaction of the caller is open', async () => {
      const { b } = await aChain()
      const [parent = ''] = (
        await watcher.query('select parent_id from oncue.deps where job_id = $1', [b.id])
      ).rows.map((row) => row.parent_id)
      await other.query('begin')
      await store.enqueue([aJob({ after: [parent] })], { tx: other })
      const { rowCount } = await watcher.query(
        'select from oncue.jobs where id = $1 for update skip locked',
        [b.id],
      )
      await other.query('commit')
      expect(rowCount).toBe(1)
    })
  })

  describe('a rescue', () => {
    let patient: Store
    let dead: string
    let id: string
    beforeEach(async () => {
      patient = await openStore(database.url, { clock: clock.now })
      await patient.enqueue([aJob()])
      dead = newWorkerId()
      id = (await claimOne(patient, { worker: dead })).id
      // Its presence lock is a key that no session holds.
      await watcher.query(
        `insert into oncue.workers (id, host, pid, queues, concurrency, version, presence, started_at, last_beat)
         values ($1, 'h', 1, '[]', 1, '0', '1', $2, $2)`,
        [dead, clock.now()],
      )
    })
    afterEach(() => patient.close())

    /** Retries, because no worker is declared dead in the first seconds of a server. */
    const isRescued = async () => {
      await eventually(async () =>
        expect((await patient.rescue().catch(() => ({ rescued: [] }))).rescued).toEqual([
          { worker: dead, released: 1, failed: 0 },
        ]),
      )
      expect(await read(patient, id)).toMatchObject({ status: 'pending', crashes: 1 })
    }

    it('is not undone by an error in another part of the poll', async () => {
      await aChain()
      await watcher.query(
        `create or replace function ${fn('tend')}(p_now timestamptz) returns void language plpgsql
         as $$ begin raise exception 'deadlock detected' using errcode = '22000'; end $$`,
      )
      await expect(patient.rescue()).rejects.toMatchObject({ code: 'DATABASE_REFUSED' })
      clock.advance(1_000)
      await isRescued()
    })

    it('continues while the poll of another worker is stuck', async () => {
      await aChain()
      await other.query('begin')
      await other.query(`select ${fn('tend')}(null)`)
      const noticing = patient.rescue()
      const outcome = await endsOrWaits(noticing)
      if (outcome === 'waits') await other.query('commit')
      await noticing
      expect(outcome).toBe('ended')
      clock.advance(1_000)
      await isRescued()
      await other.query('commit')
    })
  })

  describe('a heartbeat', () => {
    const beat = (run: { id: string; run: number }) =>
      store.heartbeat({ worker: WORKER, leaseMs: 10 * LEASE, runs: [run] })

    it('names a run that it could not extend because another transaction has locked its row', async () => {
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      const before = (await read(store, id)).lockedUntil
      await other.query('begin')
      await other.query('select from oncue.jobs where id = $1 for share', [id])
      expect(await beat({ id, run })).toEqual({ lost: [], cancelled: [], locked: [{ id, run }] })
      expect((await read(store, id)).lockedUntil).toEqual(before)
      await other.query('commit')
      expect(await beat({ id, run })).toEqual({ lost: [], cancelled: [] })
      expect((await read(store, id)).lockedUntil?.getTime()).toBeGreaterThan(before?.getTime() ?? 0)
    })

    it('extends a run whose row is only share-locked, as by a poll or a foreign key', async () => {
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      const before = (await read(store, id)).lockedUntil
      await other.query('begin')
      await other.query('select from oncue.jobs where id = $1 for key share', [id])
      expect(await beat({ id, run })).toEqual({ lost: [], cancelled: [] })
      await other.query('commit')
      expect((await read(store, id)).lockedUntil?.getTime()).toBeGreaterThan(before?.getTime() ?? 0)
    })
  })

  describe('events', () => {
    const prune = () =>
      other.query(`select ${fn('prune')}(null, 'default', 'mail_digest', 'completed', 'infinity', 10)`)

    it('are not appended to a job that is being pruned', async () => {
      const [id = ''] = await store.enqueue([aJob()])
      await store.settle([complete(await claimOne(store))])
      await other.query('begin')
      await prune()
      const appending = store.events.append(id, null, [{ type: 'late' }])
      const settled = Promise.allSettled([appending])
      await endsOrWaits(appending)
      await other.query('commit')
      expect(await settled).toMatchObject([{ status: 'rejected', reason: { code: 'JOB_NOT_FOUND' } }])
      expect(await store.events.list(id)).toEqual([])
    })

    it('are appended to a job that is being settled, in one stream', async () => {
      const [id = ''] = await store.enqueue([aJob()])
      const { run } = await claimOne(store)
      await other.query('begin')
      await other.query(SETTLE, [id, run])
      const appending = store.events.append(id, 0, [{ type: 'late' }])
      await endsOrWaits(appending)
      await other.query('commit')
      expect(await appending).toBe(1)
      expect(await read(store, id)).toMatchObject({ status: 'completed' })
    })
  })

  describe('a slot', () => {
    // With a limit of 1 the claim deletes the earlier run and inserts its own; with 2 it updates the row in place.
    it.each([1, 2])(
      'that a claim takes while a poll removes the one of an earlier run is kept, with a limit of %i',
      async (limit) => {
        const [id = ''] = await store.enqueue([aJob({ concurrencyKey: 'k', concurrencyLimit: limit })])
        await watcher.query(
          `insert into oncue.slot_runs (key, job_id, run, taken, until) values ('k:k', $1, 0, now(), now() - interval '1 hour')`,
          [id],
        )
        await watcher.query(`insert into oncue.slots (key, max_running, waiting) values ('k:k', $1, true)`, [
          limit,
        ])
        await other.query('begin')
        await other.query(
          `select from ${fn('claim')}(null, $1, $2, '{default}', null, 1, 1, '{}', '{}', '{}', '{}')`,
          [WORKER, LEASE],
        )
        const poll = store.rescue()
        await endsOrWaits(poll)
        await other.query('commit')
        await poll
        const { rows } = await watcher.query('select job_id, run from oncue.slot_runs')
        expect(rows).toEqual([{ job_id: id, run: 1 }])
        await watcher.query(`update oncue.slot_runs set until = now() - interval '1 hour'`)
        await store.rescue()
        expect((await watcher.query('select from oncue.slot_runs')).rowCount).toBe(1)
      },
    )

    it('that a settle is returning is not waited for by a poll', async () => {
      const jobs = [1, 2].map(() => aJob({ concurrencyKey: 'k', concurrencyLimit: 1 }))
      await store.enqueue(jobs)
      const { id } = await claimOne(store)
      const held = await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: LEASE })
      expect(held.jobs).toEqual([])
      await watcher.query(`update oncue.slot_runs set until = now() - interval '1 hour'`)
      // The first step of a settle. It then waits for the slot, which a poll may hold.
      await other.query('begin')
      await other.query('delete from oncue.slot_runs where job_id = $1', [id])
      const poll = store.rescue()
      const outcome = await endsOrWaits(poll)
      await other.query('rollback')
      await poll
      expect(outcome).toBe('ended')
    })

    it('that another claim is about to create is not waited for', async () => {
      await store.enqueue([1, 2].map(() => aJob({ concurrencyKey: 'k', concurrencyLimit: 2 })))
      await other.query('begin')
      await other.query(
        `select from ${fn('claim')}(null, $1, $2, '{default}', null, 1, 1, '{}', '{}', '{}', '{}')`,
        [WORKER, LEASE],
      )
      const claim = store.claim({ queues: ['default'], limit: 1, worker: newWorkerId(), leaseMs: LEASE })
      const outcome = await endsOrWaits(claim)
      await other.query('commit')
      expect(outcome).toBe('ended')
      expect((await claim).jobs).toEqual([])
    })
  })

  describe('a settle', () => {
    it('of several outcomes locks jobs with keys in the order of their ids, as an enqueue that replaces them does', async () => {
      const ids = await store.enqueue(['a', 'b'].map((key) => aJob({ unique: { key } })))
      const [first = '', second = ''] = ids.toSorted()
      const { jobs } = await store.claim({ queues: ['default'], limit: 2, worker: WORKER, leaseMs: LEASE })
      const runOf = (id: string) => jobs.find((job) => job.id === id)?.run ?? 0
      await other.query('begin')
      await other.query('select from oncue.jobs where id = $1 for update', [first])
      const settling = store.settle([
        { id: first, run: runOf(first), kind: 'release' },
        { id: second, run: runOf(second), kind: 'complete' },
      ])
      expect(await endsOrWaits(settling)).toBe('waits')
      await other.query('select from oncue.jobs where id = $1 for update nowait', [second])
      await other.query('commit')
      expect(await settling).toMatchObject({ stale: [] })
    })
  })

  describe('a claim', () => {
    it('skips a run with an expired lease while its dependants are locked', async () => {
      const [parent = ''] = await store.enqueue([aJob({ maxRetries: 0 })])
      await claimOne(store)
      const [child = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure: 'stop' })])
      await watcher.query(`update oncue.jobs set locked_until = now() - interval '1 hour' where id = $1`, [
        parent,
      ])
      await other.query('begin')
      await other.query('select from oncue.jobs where id = $1 for update', [child])
      const claim = () =>
        store.claim({ queues: ['default'], limit: 1, worker: newWorkerId(), leaseMs: LEASE })
      const first = claim()
      const outcome = await endsOrWaits(first)
      await other.query('commit')
      await first
      expect(outcome).toBe('ended')
      await claim()
      expect(await read(store, child)).toMatchObject({ status: 'failed' })
    })
  })

  describe('a client that is closed', () => {
    it('does not wait for a statement that hangs', async () => {
      await other.query('select pg_advisory_lock(1)')
      const client = new PostgresClient(database.url, 1)
      const hanging = client.queryOnce({ text: 'select pg_advisory_xact_lock(1)', values: [] })
      const refused = expect(hanging).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      await expect.poll(waiting).toBe(1)
      await client.close()
      await refused
      await other.query('select pg_advisory_unlock(1)')
    })
  })

  describe('a client that reaches its timeout', () => {
    it('cancels its statement on the server', async () => {
      await other.query('select pg_advisory_lock(1)')
      const client = new PostgresClient(database.url, 1)
      const query = { text: 'select pg_advisory_xact_lock(1)', values: [], query_timeout: 100 }
      await expect(client.queryOnce(query)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      // The lock that it waited for is still held.
      await expect.poll(waiting).toBe(0)
      expect(await client.query({ text: 'select 1', values: [] })).toEqual([[1]])
      await client.close()
      await other.query('select pg_advisory_unlock(1)')
    })
  })
})
