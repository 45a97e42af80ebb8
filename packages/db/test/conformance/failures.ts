import { TREND_PARTS } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import type { FailureFilter, Store } from '../../src/store.ts'
import { aJob, anError, Bench, claimOne, type Dialect, MINUTE } from './harness.ts'

const HOUR = 60 * MINUTE

export function describeFailures(dialect: Dialect): void {
  describe('failures', () => {
    const bench = new Bench(dialect)

    const errorOf = (id: string, fingerprint: string) => ({ ...anError, message: id, fingerprint })

    /** A job that fails now. */
    const fail = async (store: Store, fingerprint: string, { topic = 'a', queue = 'default' } = {}) => {
      await store.enqueue([aJob({ topic, queue })])
      const { id, run } = await claimOne(store, { queues: [queue] })
      await store.settle([{ id, run, kind: 'fail', error: errorOf(id, fingerprint) }])
      return { id, at: bench.clock.now() }
    }

    const names = async (store: Store, filter: FailureFilter = {}) =>
      (await store.failures(filter)).map(({ fingerprint, count, sample }) => [
        fingerprint,
        count,
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
          count: 2,
          firstSeen: first.at,
          lastSeen: last.at,
          topics: ['a', 'b'],
          queues: ['default', 'other'],
          sample: { jobId: last.id, error: errorOf(last.id, 'one') },
        },
        {
          fingerprint: 'two',
          count: 1,
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

    it('come the largest first when asked', async () => {
      const store = await bench.openWithClock()
      for (const fingerprint of ['small', 'large', 'large', 'late']) {
        await fail(store, fingerprint)
        bench.clock.advance(1_000)
      }
      const order = async (filter: FailureFilter) =>
        (await store.failures(filter)).map(({ fingerprint }) => fingerprint)
      expect(await order({ order: 'largest' })).toEqual(['large', 'late', 'small'])
      expect(await order({ order: 'largest', limit: 1 })).toEqual(['large'])
      expect(await order({ order: 'latest' })).toEqual(['late', 'large', 'small'])
    })

    it('have a trend: how many in each part of the time that was asked for', async () => {
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
      // The last 24 hours, which these are.
      expect(await trends()).toEqual([expected])
      // What fails in the very moment of the question counts.
      await fail(store, 'one')
      expect((await trends({ since }))[0]?.at(-1)).toBe(2)
      // From the moment of the only failure on, which is no time at all.
      bench.clock.advance(HOUR)
      await fail(store, 'two')
      const [only] = await trends({ since: bench.clock.now() })
      expect(only?.reduce((sum, count) => sum + count)).toBe(1)
    })

    it('are new when nothing that is kept failed like this before', async () => {
      const store = await bench.openWithClock()
      const old = await fail(store, 'old')
      bench.clock.advance(2 * HOUR)
      const since = bench.clock.now()
      const again = await fail(store, 'old', { queue: 'other' })
      await fail(store, 'new')
      expect(await newest(store)).toEqual(['new'])
      // However little one asks for.
      expect(await newest(store, { since })).toEqual(['new'])
      expect(await newest(store, { queue: 'other' })).toEqual([])
      expect(await newest(store, { newSince: new Date(0) })).toEqual(['new', 'old'])
      expect(await newest(store, { newSince: bench.clock.advance(1) })).toEqual([])
      await store.delete([old.id])
      expect(await newest(store, { newSince: again.at })).toEqual(['new', 'old'])
      bench.clock.advance(HOUR)
      expect(await newest(store)).toEqual([])
    })

    it('are new by when they failed, not by when their jobs were made', async () => {
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
