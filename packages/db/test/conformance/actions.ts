import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  MINUTE,
  read,
  someJobs,
  WORKER,
} from './harness.ts'

export function describeActions(dialect: Dialect): void {
  const fail = async (store: Store, count: number, options?: Parameters<typeof aJob>[0]) => {
    const ids = await store.enqueue(someJobs(count, options))
    const { jobs } = await store.claim(claiming({ limit: count }))
    await store.settle(jobs.map((job) => ({ ...job, kind: 'fail', error: anError })))
    return ids
  }
  const typesOf = async (store: Store, id: string) => (await store.events.list(id)).map((event) => event.type)

  describe('cancel', () => {
    const bench = new Bench(dialect)

    it('ends a waiting job at once, and records who cancelled it', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob()])
      const [blocked = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure: 'cancel' })])
      expect(await store.cancel([parent], { by: 'on-call' })).toEqual({ done: 1, skipped: {} })
      expect((await read(store, parent)).status).toBe('cancelled')
      expect((await read(store, blocked)).status).toBe('cancelled')
      expect(await store.events.list(parent)).toMatchObject([
        { version: 1, type: 'cancelled', data: { by: 'on-call' } },
      ])
    })

    it('asks a running job to stop: its next heartbeat says so, and the run ends itself', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      const beat = () => store.heartbeat({ worker: WORKER, leaseMs: 1_000, runs: [{ id, run }] })
      expect(await beat()).toEqual({ lost: [], cancelled: [] })
      expect(await store.cancel([id])).toEqual({ done: 1, skipped: {} })
      expect((await read(store, id)).status).toBe('processing')
      expect(await beat()).toEqual({ lost: [], cancelled: [{ id, run }] })
      await store.settle([{ id, run, kind: 'cancel' }])
      expect((await read(store, id)).status).toBe('cancelled')
    })

    it.each(['retry', 'snooze', 'release'] as const)(
      'a run that was asked to stop does not go on by a %s',
      async (kind) => {
        const store = await bench.open()
        await store.enqueue([aJob()])
        const { id, run } = await claimOne(store)
        await store.cancel([id])
        await store.settle([{ id, run, kind, delayMs: 0, error: anError }])
        expect((await read(store, id)).status).toBe('cancelled')
      },
    )

    it('a run that was asked to stop and crashed instead is cancelled', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const { id } = await claimOne(store, { leaseMs: 10 })
      await store.cancel([id])
      bench.clock.advance(11)
      expect((await store.claim(claiming())).jobs).toEqual([])
      expect(await read(store, id)).toMatchObject({ status: 'cancelled', crashes: 1 })
    })

    it('a run that completes before it learns of the cancel counts as completed', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      await store.cancel([job.id])
      await store.settle([complete(job)])
      expect(await store.cancel([job.id])).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
      expect((await read(store, job.id)).status).toBe('completed')
    })

    it('racing completions never deadlocks, and the first of the two stands', async () => {
      const store = await bench.open()
      for (let round = 0; round < 10; round++) {
        const ids = await store.enqueue(someJobs(40))
        const { jobs } = await store.claim(claiming({ limit: 20 }))
        const [cancelled] = await Promise.all([
          store.cancel(ids.toReversed()),
          store.settle(jobs.map((job) => complete(job))),
        ])
        expect(cancelled.done + (cancelled.skipped.INVALID_STATE ?? 0) + (cancelled.skipped.BUSY ?? 0)).toBe(
          40,
        )
      }
      const { completed, cancelled, pending, processing } = await store.stats()
      expect({ completed, cancelled, left: pending + processing }).toEqual({
        completed: 200,
        cancelled: 200,
        left: 0,
      })
    })

    it('frees the unique key of the job it ends', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob({ unique: { key: 'k' } })])
      await store.cancel([id])
      expect(await store.enqueue([aJob({ unique: { key: 'k' } })])).not.toEqual([id])
    })
  })

  describe('runNow', () => {
    const bench = new Bench(dialect)

    it('makes a retrying and a scheduled job due at once, and keeps their retries and who asked for it', async () => {
      const store = await bench.openWithClock()
      const [retrying = ''] = await store.enqueue([aJob()])
      await store.settle([{ ...(await claimOne(store)), kind: 'retry', delayMs: MINUTE, error: anError }])
      const [scheduled = ''] = await store.enqueue([aJob({ delay: 60 * MINUTE })])
      expect((await store.claim(claiming())).jobs).toEqual([])
      bench.clock.advance(1_000)
      expect(await store.runNow([retrying, scheduled], { by: 'on-call' })).toEqual({ done: 2, skipped: {} })
      for (const id of [retrying, scheduled])
        expect(await read(store, id)).toMatchObject({ status: 'pending', runAt: bench.clock.now() })
      expect(await read(store, retrying)).toMatchObject({ retries: 1, run: 1, lastError: anError })
      expect((await store.events.list(scheduled)).at(-1)).toMatchObject({
        type: 'run_now',
        data: { by: 'on-call' },
      })
      const { jobs } = await store.claim(claiming())
      expect(jobs.map(({ id }) => id).toSorted()).toEqual([retrying, scheduled].toSorted())
    })

    it('is seen by a worker that has just searched the whole queue', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(3))
      const [later = ''] = await store.enqueue([aJob({ delay: 60 * MINUTE })])
      const done = (await store.claim(claiming())).jobs
      await store.settle(done.map((job) => complete(job)))
      expect((await store.claim(claiming())).jobs).toEqual([])
      await store.runNow([later])
      expect((await store.claim(claiming())).jobs).toMatchObject([{ id: later }])
    })

    it('says why it skipped the others', async () => {
      const store = await bench.openWithClock()
      const [running = '', finished = ''] = await store.enqueue(someJobs(2, { queue: 'other' }))
      const { jobs } = await store.claim(claiming({ queues: ['other'] }))
      await store.settle(jobs.filter((job) => job.id === finished).map((job) => complete(job)))
      const keyed = { queue: 'keyed', concurrencyKey: 'k', concurrencyLimit: 1 }
      await store.enqueue(someJobs(2, keyed))
      const first = (await store.claim(claiming({ queues: ['keyed'], limit: 2 }))).jobs
      const throttled = (await store.list({ queue: 'keyed', status: 'pending' })).items.map(({ id }) => id)
      expect([first.length, throttled.length]).toEqual([1, 1])
      const [due = ''] = await store.enqueue([aJob()])
      const [blocked = ''] = await store.enqueue([aJob({ after: [due] })])
      const target = [running, finished, ...throttled, due, blocked, aJob().id, 'no id']
      expect(await store.runNow(target)).toEqual({
        done: 0,
        skipped: { RUNNING: 1, FINISHED: 1, THROTTLED: 1, ALREADY_DUE: 1, BLOCKED: 1, JOB_NOT_FOUND: 2 },
      })
      for (const id of [due, ...throttled]) expect(await typesOf(store, id)).toEqual([])
    })

    it('takes what a filter matched at a given moment, and skips what came to match later', async () => {
      const store = await bench.openWithClock()
      const retry = async () => {
        const { jobs } = await store.claim(claiming())
        await store.settle(jobs.map((job) => ({ ...job, kind: 'retry', delayMs: MINUTE, error: anError })))
      }
      const before = await store.enqueue(someJobs(3))
      await retry()
      const asOf = bench.clock.now()
      bench.clock.advance(1_000)
      const after = await store.enqueue(someJobs(2))
      await retry()
      const { fingerprint } = anError
      expect(await store.runNow({ fingerprint, status: 'pending' }, { asOf })).toEqual({
        done: 3,
        skipped: {},
      })
      const { jobs } = await store.claim(claiming())
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(before.toSorted())
      for (const id of after) expect(await typesOf(store, id)).toEqual(['run_failed'])
    })

    it('respects the concurrency key: a job without a free slot is throttled', async () => {
      const store = await bench.openWithClock()
      const ids = await store.enqueue(
        someJobs(3, { delay: 60 * MINUTE, concurrencyKey: 'k', concurrencyLimit: 1 }),
      )
      expect(await store.runNow(ids)).toEqual({ done: 3, skipped: {} })
      expect((await store.claim(claiming())).jobs).toHaveLength(1)
      expect(await store.runNow(ids)).toEqual({ done: 0, skipped: { RUNNING: 1, THROTTLED: 2 } })
    })
  })

  describe('delete', () => {
    const bench = new Bench(dialect)

    it('removes pending and failed jobs with everything that belongs to them', async () => {
      const store = await bench.open()
      const [failed = ''] = await fail(store, 1, { payload: 'x'.repeat(5_000), idempotencyKey: 'k' })
      const [pending = ''] = await store.enqueue([aJob()])
      expect(await store.delete([failed, pending])).toEqual({ done: 2, skipped: {} })
      expect([await store.get(failed), await store.get(pending)]).toEqual([null, null])
      expect(await store.events.list(failed)).toEqual([])
      expect(await store.enqueue([aJob({ idempotencyKey: 'k' })])).not.toEqual([failed])
    })

    it('skips running and completed jobs and those that others wait for, and says why', async () => {
      const store = await bench.open()
      const [running = '', completed = ''] = await store.enqueue(someJobs(2))
      const { jobs } = await store.claim(claiming())
      await store.settle(jobs.filter((job) => job.id === completed).map((job) => complete(job)))
      const [parent = ''] = await store.enqueue([aJob()])
      await store.enqueue([aJob({ after: [parent] })])
      expect(await store.delete([running, completed, parent, aJob().id])).toEqual({
        done: 0,
        skipped: { INVALID_STATE: 2, HAS_DEPENDANTS: 1, JOB_NOT_FOUND: 1 },
      })
    })
  })

  describe('actions on all that match', () => {
    const bench = new Bench(dialect)

    it('requeue by filter takes every match, over many batches, and records who did it', async () => {
      const store = await bench.open()
      const ids = await fail(store, 1_200, { topic: 'broken' })
      const others = await fail(store, 3, { topic: 'other' })
      expect(await store.requeue({ status: 'failed', topic: 'broken' }, { by: 'on-call' })).toEqual({
        done: 1_200,
        skipped: {},
      })
      expect(await store.stats()).toMatchObject({ pending: 1_200, failed: 3 })
      expect(await typesOf(store, ids[7] ?? '')).toEqual(['run_failed', 'requeued'])
      expect((await read(store, others[0] ?? '')).status).toBe('failed')
    })

    it('skips what failed after the given moment', async () => {
      const store = await bench.openWithClock()
      await fail(store, 3)
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      await fail(store, 2)
      expect(await store.requeue({ status: 'failed' }, { asOf })).toEqual({ done: 3, skipped: {} })
      expect((await store.stats()).failed).toBe(2)
    })

    it('cancels what was waiting at that moment, and nothing that came later', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(4))
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      await store.enqueue(someJobs(2))
      expect(await store.cancel({ status: 'pending' }, { asOf })).toEqual({ done: 4, skipped: {} })
      expect(await store.stats()).toMatchObject({ pending: 2, cancelled: 4 })
    })

    it('cancels what waited or ran at that moment, also what moved between the two since', async () => {
      const store = await bench.openWithClock()
      const statuses = ['pending', 'processing'] as const
      const target = { status: [...statuses] }
      const ids = await store.enqueue(someJobs(4))
      const ran = (await store.claim(claiming({ limit: 1 }))).jobs
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      const begun = (await store.claim(claiming({ limit: 1 }))).jobs
      await store.heartbeat({ worker: WORKER, leaseMs: MINUTE, runs: begun })
      await store.settle(ran.map((job) => ({ ...job, kind: 'retry', delayMs: MINUTE, error: anError })))
      await store.enqueue(someJobs(2))
      expect((await store.list(target)).total).toBe(6)
      expect(await store.bulkOperations.count(target, asOf)).toEqual({ total: 4, totalIsExact: true })
      expect(await store.cancel(target, { asOf })).toEqual({ done: 4, skipped: {} })
      expect(await store.stats()).toMatchObject({ pending: 2, processing: 1, cancelled: 3 })
      for (const id of ids) expect((await typesOf(store, id)).at(-1)).toMatch(/^cancel/)
    })

    it('by several statuses leaves alone what was requeued after that moment', async () => {
      const store = await bench.openWithClock()
      const [again = '', runsAgain = ''] = await fail(store, 2)
      await store.enqueue([aJob({ priority: -1 })])
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      await store.requeue([runsAgain])
      expect((await store.claim(claiming({ limit: 1 }))).jobs).toMatchObject([{ id: runsAgain }])
      await store.requeue([again])
      expect(await store.cancel({ status: ['pending', 'processing'] }, { asOf })).toEqual({
        done: 1,
        skipped: {},
      })
      expect(await store.stats()).toMatchObject({ pending: 1, processing: 1, cancelled: 1 })
    })

    it.each([
      ['all', { all: true }],
      ['a topic', { topic: 'broken' }],
      ['meta', { meta: { tenant: 'acme' } }],
    ] as const)(
      'by %s, without a status, leaves alone what was requeued after that moment',
      async (_, target) => {
        const store = await bench.openWithClock()
        const options = { topic: 'broken', meta: { tenant: 'acme' } }
        const ids = await fail(store, 2, options)
        const asOf = bench.clock.now()
        bench.clock.advance(1)
        await store.requeue(ids)
        expect(await store.cancel(target, { asOf })).toEqual({ done: 0, skipped: {} })
        expect(await store.delete(target, { asOf })).toEqual({ done: 0, skipped: {} })
        expect(await store.stats()).toMatchObject({ pending: 2, cancelled: 0 })
      },
    )

    it('by several statuses and an error leaves alone what failed with it after that moment', async () => {
      const store = await bench.openWithClock()
      const retry = async () => {
        const { jobs } = await store.claim(claiming())
        await store.settle(jobs.map((job) => ({ ...job, kind: 'retry', delayMs: 0, error: anError })))
      }
      await store.enqueue(someJobs(1))
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      await retry()
      const { fingerprint } = anError
      const filter = { fingerprint, status: ['pending' as const, 'processing' as const] }
      expect(await store.cancel(filter, { asOf })).toEqual({ done: 0, skipped: {} })
    })

    it('requeues by the text of the error, over many batches, what failed with it by then', async () => {
      const store = await bench.openWithClock()
      const before = await fail(store, 1_200, { topic: 'broken' })
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      const [later = ''] = await fail(store, 1, { topic: 'broken' })
      expect((await read(store, later)).status).toBe('failed')
      expect(await store.requeue({ errorText: 'no such text' }, { asOf })).toEqual({ done: 0, skipped: {} })
      expect(await store.requeue({ errorText: 'USERID IS NOT' }, { asOf })).toEqual({
        done: 1_200,
        skipped: {},
      })
      expect((await read(store, before[7] ?? '')).status).toBe('pending')
      expect((await read(store, later)).status).toBe('failed')
    })

    it('deletes by the end of an id, among many jobs', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob()])
      for (let i = 0; i < 3; i++) {
        bench.clock.advance(1)
        await store.enqueue(someJobs(700))
      }
      expect(await store.delete({ idSuffix: id.slice(-12) })).toEqual({ done: 1, skipped: {} })
      expect(await store.get(id)).toBeNull()
      expect(await store.stats()).toMatchObject({ pending: 2_100 })
    })

    it('deletes by error fingerprint', async () => {
      const store = await bench.open()
      await fail(store, 4)
      expect(await store.delete({ fingerprint: 'nobody’s' })).toEqual({ done: 0, skipped: {} })
      expect(await store.delete({ status: 'failed', fingerprint: anError.fingerprint })).toEqual({
        done: 4,
        skipped: {},
      })
    })

    it.each<[string, object | null | undefined, string]>([
      ['a variable that was not set', { topic: undefined }, 'target.topic is undefined'],
      ['one beside another', { queue: 'default', topic: undefined }, 'target.topic is undefined'],
      ['null', { queue: null }, 'target.queue is null'],
      ['an empty text', { idPrefix: '' }, 'target.idPrefix is empty'],
      ['an empty meta', { meta: {} }, 'target.meta is empty'],
      ['a variable within meta', { meta: { agent: undefined } }, 'target.meta.agent is undefined'],
      ['null beside another within meta', { meta: { a: 1, agent: null } }, 'target.meta.agent is null'],
      ['a mistyped condition', { topics: 'mail' }, 'target.topics is not a filter condition'],
      ['no condition', {}, 'target has no condition'],
      ['nothing', undefined, 'target has no condition'],
      ['all, perhaps', { all: undefined }, 'target.all must be true'],
      ['all, and something else', { all: true, topic: 'mail' }, 'target.all must be true'],
    ])('refuses a target that would reach every job: %s', async (_, target, message) => {
      const store = await bench.open()
      await fail(store, 1, { meta: { agent: 7 } })
      await store.enqueue(someJobs(2, { meta: { agent: 7, a: 1 } }))
      for (const action of ['requeue', 'cancel', 'delete'] as const) {
        await expect(store[action](target as never)).rejects.toMatchObject({
          code: 'INVALID_INPUT',
          message: expect.stringContaining(message),
        })
      }
      expect(await store.stats()).toMatchObject({ pending: 2, failed: 1, cancelled: 0 })
    })

    it('reaches every job only with all: true', async () => {
      const store = await bench.open()
      await fail(store, 1)
      await store.enqueue([...someJobs(2, { topic: 'mail' }), aJob({ queue: 'slow' })])
      expect(await store.cancel({ all: true })).toEqual({ done: 3, skipped: { INVALID_STATE: 1 } })
      expect(await store.requeue({ all: true })).toEqual({ done: 4, skipped: {} })
      expect(await store.delete({ all: true })).toEqual({ done: 4, skipped: {} })
    })

    it('does not compile with a condition that may be undefined', () => {
      const refused = (store: Store, topic: string | undefined) => [
        // @ts-expect-error the variable may not be set
        store.cancel({ topic }),
        // @ts-expect-error nor beside another condition
        store.delete({ queue: 'mail', topic }),
        // @ts-expect-error nor within meta
        store.cancel({ meta: { agent: topic } }),
        // @ts-expect-error no condition at all
        store.requeue({}),
        // @ts-expect-error not said outright
        store.cancel({ all: topic === undefined }),
      ]
      expect(refused).toBeTypeOf('function')
    })

    it('by ids as of a moment, a job that changed since is skipped as CHANGED', async () => {
      const store = await bench.openWithClock()
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      const ids = await fail(store, 1)
      expect(await store.requeue(ids, { asOf })).toEqual({ done: 0, skipped: { CHANGED: 1 } })
      expect(await store.delete(ids, { asOf })).toEqual({ done: 0, skipped: { CHANGED: 1 } })
    })

    it('by ids as of a moment, a job that was requeued since is skipped as CHANGED', async () => {
      const store = await bench.openWithClock()
      const ids = await fail(store, 2)
      const asOf = bench.clock.now()
      bench.clock.advance(1)
      await store.requeue(ids)
      // What a delete of failed jobs finds, if another person requeues them in between.
      expect(await store.delete(ids, { asOf })).toEqual({ done: 0, skipped: { CHANGED: 2 } })
      await store.claim(claiming({ limit: 1 }))
      expect(await store.cancel(ids, { asOf })).toEqual({ done: 0, skipped: { CHANGED: 2 } })
      expect(await store.stats()).toMatchObject({ pending: 1, processing: 1, cancelled: 0 })
      expect(await store.cancel(ids, { asOf: bench.clock.now() })).toEqual({ done: 2, skipped: {} })
    })
  })
}
