import { TREND_PARTS } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import type { FailureFilter, Store } from '../../src/store.ts'
import { aJob, anError, Bench, claimOne, type Dialect, MINUTE } from './harness.ts'

const HOUR = 60 * MINUTE

export function describeFailures(dialect: Dialect): void {
  describe('failures', () => {
    const bench = new Bench(dialect)

    const errorOf = (id: string, fingerprint: string) => ({ ...anError, message: id, fingerprint })

    /** A job that fails without a retry. */
    const fail = async (store: Store, fingerprint: string, { topic = 'a', queue = 'default' } = {}) => {
      await store.enqueue([aJob({ topic, queue })])
      const { id, run } = await claimOne(store, { queues: [queue] })
      await store.settle([{ id, run, kind: 'fail', error: errorOf(id, fingerprint) }])
      return { id, at: bench.clock.now() }
    }

    const names = async (store: Store, filter: FailureFilter = {}) =>
      (await store.failures(filter)).map(({ fingerprint, failed, sample }) => [
        fingerprint,
        failed,
        sample.jobId,
      ])

    const newest = async (store: Store, filter: FailureFilter = {}) =>
      (await store.failures(filter)).filter(({ isNew }) => isNew).map(({ fingerprint }) => fingerprint)

    it('are grouped by fingerprint, those that failed last first', async () => {
      const store = await bench.openWithClock()
      const start = bench.clock.now()
      const first = await fail(store, 'one')
      bench.clock.advance(1_000)
      const two = await fail(store, 'two')
      bench.clock.advance(1_000)
      const last = await fail(store, 'one', { topic: 'b', queue: 'other' })
      expect(await store.failures()).toMatchObject([
        {
          fingerprint: 'one',
          retrying: 0,
          failed: 2,
          nextTryAt: null,
          firstSeen: first.at,
          lastSeen: last.at,
          topics: ['a', 'b'],
          queues: ['default', 'other'],
          sample: { jobId: last.id, error: errorOf(last.id, 'one') },
        },
        {
          fingerprint: 'two',
          retrying: 0,
          failed: 1,
          nextTryAt: null,
          firstSeen: two.at,
          lastSeen: two.at,
          topics: ['a'],
          queues: ['default'],
          sample: { jobId: two.id, error: errorOf(two.id, 'two') },
        },
      ])
      expect(await names(store, { topic: 'a' })).toEqual([
        ['two', 1, two.id],
        ['one', 1, first.id],
      ])
      expect(await names(store, { queue: 'other' })).toEqual([['one', 1, last.id]])
      expect(await names(store, { fingerprint: 'two' })).toEqual([['two', 1, two.id]])
      expect(await names(store, { fingerprint: 'three' })).toEqual([])
      expect(await names(store, { since: last.at })).toEqual([['one', 1, last.id]])
      expect(await names(store, { limit: 1 })).toEqual([['one', 2, last.id]])
      await store.requeue([last.id])
      expect(await names(store, { since: start })).toEqual([
        ['two', 1, two.id],
        ['one', 1, first.id],
      ])
      bench.clock.advance(25 * HOUR)
      expect(await store.failures()).toEqual([])
    })

    /** A job whose run fails now and is retried. */
    const retry = async (
      store: Store,
      fingerprint: string,
      { topic = 'a', queue = 'default', delayMs = MINUTE } = {},
    ) => {
      await store.enqueue([aJob({ topic, queue })])
      const { id, run } = await claimOne(store, { queues: [queue] })
      await store.settle([{ id, run, kind: 'retry', delayMs, error: errorOf(id, fingerprint) }])
      return { id, at: bench.clock.now() }
    }

    const counts = async (store: Store, filter: FailureFilter = {}) =>
      Object.fromEntries(
        (await store.failures(filter)).map(({ fingerprint, retrying, failed }) => [
          fingerprint,
          [retrying, failed],
        ]),
      )

    describe('of jobs that are retried', () => {
      it('are listed from the first failed run on, with the time of the next one', async () => {
        const store = await bench.openWithClock()
        const first = await retry(store, 'one', { delayMs: 4 * MINUTE })
        bench.clock.advance(1_000)
        const last = await retry(store, 'one', { topic: 'b', queue: 'other' })
        bench.clock.advance(1_000)
        const gaveUp = await fail(store, 'two')
        const trend = new Array<number>(TREND_PARTS).fill(0)
        expect(await store.failures()).toEqual([
          {
            fingerprint: 'two',
            ...{ class: anError.class, message: gaveUp.id, retrying: 0, undoing: 0 },
            ...{ retryingIsExact: true, failed: 1 },
            ...{ nextTryAt: null, firstSeen: gaveUp.at, lastSeen: gaveUp.at, isNew: true },
            ...{ topics: ['a'], queues: ['default'], trend: trend.with(-1, 1) },
            sample: { jobId: gaveUp.id, error: errorOf(gaveUp.id, 'two') },
          },
          {
            fingerprint: 'one',
            ...{ class: anError.class, message: last.id, retrying: 2, undoing: 0 },
            ...{ retryingIsExact: true, failed: 0 },
            nextTryAt: new Date(last.at.getTime() + MINUTE),
            ...{ firstSeen: first.at, lastSeen: last.at, isNew: true },
            ...{ topics: ['a', 'b'], queues: ['default', 'other'], trend: trend.with(-1, 2) },
            sample: { jobId: last.id, error: errorOf(last.id, 'one') },
          },
        ])
        expect(await counts(store, { topic: 'b' })).toEqual({ one: [1, 0] })
        expect(await counts(store, { queue: 'default' })).toEqual({ one: [1, 0], two: [0, 1] })
        expect(await counts(store, { fingerprint: 'one' })).toEqual({ one: [2, 0] })
        expect(await counts(store, { limit: 1 })).toEqual({ two: [0, 1] })
        expect(await counts(store, { sort: 'largest', limit: 1 })).toEqual({ one: [2, 0] })
      })

      /** Eleven kinds share the bound of what is counted, which eleven do not divide. */
      it('are counted for any number of errors', async () => {
        const store = await bench.openWithClock()
        const errors = Array.from({ length: 11 }, (_, n) => `error-${n}`)
        for (const error of errors) await retry(store, error)
        expect(await counts(store)).toEqual(Object.fromEntries(errors.map((error) => [error, [1, 0]])))
      })

      it('form one group with the jobs that gave up; its sample is the latest failure', async () => {
        const store = await bench.openWithClock()
        const old = await fail(store, 'one')
        bench.clock.advance(1_000)
        const live = await retry(store, 'one')
        const [group] = await store.failures()
        expect(group).toMatchObject({ retrying: 1, failed: 1, firstSeen: old.at, lastSeen: live.at })
        expect(group?.sample.jobId).toBe(live.id)
        bench.clock.advance(1_000)
        const late = await fail(store, 'one')
        expect((await store.failures())[0]?.sample).toEqual({
          jobId: late.id,
          error: errorOf(late.id, 'one'),
        })
      })

      it('stay while the job runs again, and go when it completes', async () => {
        const store = await bench.openWithClock()
        const { at } = await retry(store, 'one')
        bench.clock.advance(MINUTE)
        const again = await claimOne(store)
        expect(await store.failures()).toMatchObject([
          { retrying: 1, failed: 0, nextTryAt: null, lastSeen: at },
        ])
        await store.settle([{ id: again.id, run: again.run, kind: 'complete' }])
        expect(await store.failures()).toEqual([])
      })

      it('move to the group of the last error', async () => {
        const store = await bench.openWithClock()
        await retry(store, 'one')
        bench.clock.advance(MINUTE)
        const { id, run } = await claimOne(store)
        await store.settle([{ id, run, kind: 'retry', delayMs: MINUTE, error: errorOf(id, 'two') }])
        expect(await counts(store)).toEqual({ two: [1, 0] })
      })

      it('count however long they have been waiting', async () => {
        const store = await bench.openWithClock()
        const { at } = await retry(store, 'one', { delayMs: 48 * HOUR })
        bench.clock.advance(25 * HOUR)
        expect(await counts(store)).toEqual({ one: [1, 0] })
        expect((await store.failures())[0]).toMatchObject({ isNew: false, firstSeen: at, lastSeen: at })
      })

      it('include those of a crashed worker', async () => {
        const store = await bench.openWithClock()
        await store.enqueue([aJob({ topic: 'a' })])
        await claimOne(store, { leaseMs: 1_000 })
        bench.clock.advance(MINUTE)
        await claimOne(store)
        expect(await counts(store)).toEqual({ 'WORKER_CRASHED:a': [1, 0] })
      })

      it('do not include requeued jobs until they fail again', async () => {
        const store = await bench.openWithClock()
        const { id } = await fail(store, 'one')
        await store.requeue([id])
        expect(await store.failures()).toEqual([])
        expect((await store.list({ fingerprint: 'one' })).items).toEqual([])
        // Its earlier error is still shown.
        expect((await store.get(id))?.lastError).toEqual(errorOf(id, 'one'))
        const { run } = await claimOne(store)
        expect(await store.failures()).toEqual([])
        await store.settle([{ id, run, kind: 'retry', delayMs: MINUTE, error: errorOf(id, 'one') }])
        expect(await counts(store)).toEqual({ one: [1, 0] })
        expect((await store.list({ fingerprint: 'one', status: 'pending' })).items).toMatchObject([{ id }])
      })

      it('were first seen when they failed first, however often they were requeued since', async () => {
        const store = await bench.openWithClock()
        const old = await fail(store, 'one')
        bench.clock.advance(2 * HOUR)
        await store.requeue([old.id])
        const again = await claimOne(store)
        await store.settle([{ id: old.id, run: again.run, kind: 'fail', error: errorOf(old.id, 'one') }])
        const lastSeen = bench.clock.now()
        expect(await store.failures()).toMatchObject([{ firstSeen: old.at, lastSeen, isNew: false }])

        await store.requeue([old.id])
        const { run } = await claimOne(store)
        await store.settle([
          { id: old.id, run, kind: 'retry', delayMs: MINUTE, error: errorOf(old.id, 'two') },
        ])
        // The time of another error does not count.
        expect(await store.failures()).toMatchObject([
          { fingerprint: 'two', firstSeen: bench.clock.now(), isNew: true },
        ])
      })

      it('do not include jobs that have snoozed since, but do include interrupted ones', async () => {
        const store = await bench.openWithClock()
        const { id } = await retry(store, 'one', { delayMs: 0 })
        const second = await claimOne(store)
        await store.settle([{ id, run: second.run, kind: 'release' }])
        expect(await counts(store)).toEqual({ one: [1, 0] })
        const third = await claimOne(store)
        await store.settle([{ id, run: third.run, kind: 'snooze', delayMs: MINUTE }])
        expect(await store.failures()).toEqual([])
      })
    })

    it('are found by a part of their class or message', async () => {
      const store = await bench.openWithClock()
      const one = await fail(store, 'one')
      bench.clock.advance(1_000)
      const two = await retry(store, 'two')
      expect(await counts(store, { text: one.id.toUpperCase() })).toEqual({ one: [0, 1] })
      expect(await counts(store, { text: two.id.slice(3) })).toEqual({ two: [1, 0] })
      expect(await counts(store, { text: anError.class.slice(1) })).toEqual({ one: [0, 1], two: [1, 0] })
      expect(await counts(store, { text: anError.class, limit: 1, sort: 'largest' })).toEqual({ two: [1, 0] })
      expect(await counts(store, { text: '%' })).toEqual({})
    })

    it('are sorted by size when asked', async () => {
      const store = await bench.openWithClock()
      for (const fingerprint of ['small', 'large', 'large', 'late']) {
        await fail(store, fingerprint)
        bench.clock.advance(1_000)
      }
      const order = async (filter: FailureFilter) =>
        (await store.failures(filter)).map(({ fingerprint }) => fingerprint)
      expect(await order({ sort: 'largest' })).toEqual(['large', 'late', 'small'])
      expect(await order({ sort: 'largest', limit: 1 })).toEqual(['large'])
      expect(await order({ sort: 'latest' })).toEqual(['late', 'large', 'small'])
    })

    it('have a trend: how many in each part of the requested time', async () => {
      const store = await bench.openWithClock()
      const since = bench.clock.now()
      const expected = new Array<number>(TREND_PARTS).fill(0)
      for (const [part, count] of [
        [0, 1],
        [1, 2],
        [23, 1],
      ] as const) {
        bench.clock.advance(since.getTime() + part * HOUR - bench.clock.now().getTime())
        for (let n = 0; n < count; n++) await fail(store, 'one', { topic: `t${n}`, queue: `q${n}` })
        expected[part] = count
      }
      bench.clock.advance(HOUR)
      const trends = async (filter?: FailureFilter) =>
        (await store.failures(filter)).map(({ trend }) => trend)
      expect(await trends({ since })).toEqual([expected])
      // The default is the last 24 hours, which include these.
      expect(await trends()).toEqual([expected])
      // A failure at the very moment of the question counts.
      await fail(store, 'one')
      expect((await trends({ since }))[0]?.at(-1)).toBe(2)
      // From the moment of the only failure on: an empty range.
      bench.clock.advance(HOUR)
      await fail(store, 'two')
      const [only] = await trends({ since: bench.clock.now() })
      expect(only?.reduce((sum, count) => sum + count)).toBe(1)
    })

    it('are new when no earlier job that is kept failed the same way', async () => {
      const store = await bench.openWithClock()
      const old = await fail(store, 'old')
      bench.clock.advance(2 * HOUR)
      const since = bench.clock.now()
      const again = await fail(store, 'old', { queue: 'other' })
      await fail(store, 'new')
      expect(await newest(store)).toEqual(['new'])
      // However short the requested time is.
      expect(await newest(store, { since })).toEqual(['new'])
      expect(await newest(store, { queue: 'other' })).toEqual([])
      expect(await newest(store, { newSince: new Date(0) })).toEqual(['new', 'old'])
      expect(await newest(store, { newSince: bench.clock.advance(1) })).toEqual([])
      await store.delete([old.id])
      expect(await newest(store, { newSince: again.at })).toEqual(['new', 'old'])
      bench.clock.advance(HOUR)
      expect(await newest(store)).toEqual([])
    })

    it('are new by the time of the failure, not by when the job was created', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      bench.clock.advance(5 * HOUR)
      const { id, run } = await claimOne(store)
      await store.settle([{ id, run, kind: 'fail', error: errorOf(id, 'one') }])
      expect(await newest(store)).toEqual(['one'])
    })

    it.each([0, 1_001, 1.5])('refuse a limit of %d', async (limit) => {
      const store = await bench.open()
      await expect(store.failures({ limit })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })
  })
}
