import { describe, expect, it } from 'vitest'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  MINUTE,
  someJobs,
} from './harness.ts'

export function describePrune(dialect: Dialect): void {
  describe('prune', () => {
    const bench = new Bench(dialect)

    it('removes jobs of one status that ended before a given time, and nothing else', async () => {
      const store = await bench.openWithClock()
      const finish = async (kind: 'complete' | 'fail' | 'cancel') => {
        await store.enqueue([aJob({ topic: kind })])
        const { id, run } = await claimOne(store)
        const how = kind === 'fail' ? { kind, error: anError } : { kind }
        await store.settle([{ id, run, ...how }])
        return id
      }
      const [old, failed, cancelled] = [
        await finish('complete'),
        await finish('fail'),
        await finish('cancel'),
      ]
      const [waiting = ''] = await store.enqueue([aJob()])
      const moment = bench.clock.advance(MINUTE)
      await store.requeue([waiting])
      const young = aJob({ queue: 'other' })
      await store.enqueue([young])
      await store.settle([complete(await claimOne(store, { queues: ['other'] }))])
      expect(await store.prune({ status: 'completed', finishedBefore: moment })).toBe(1)
      expect(await store.get(old)).toBeNull()
      for (const id of [failed, cancelled, waiting, young.id]) expect(await store.get(id)).not.toBeNull()
      expect(await store.prune({ status: 'failed', finishedBefore: moment })).toBe(1)
      expect(await store.prune({ status: 'cancelled', finishedBefore: moment })).toBe(1)
      expect(await store.stats()).toMatchObject({ completed: 1, failed: 0, cancelled: 0, pending: 1 })
    })

    it('removes a batch at a time, the oldest of a topic first, across queues and topics up to the limit', async () => {
      const store = await bench.openWithClock()
      for (const topic of ['a', 'b', 'c']) {
        for (let i = 0; i < 4; i++) {
          await store.enqueue([aJob({ topic, queue: topic === 'b' ? 'other' : 'default' })])
          await store.settle([complete(await claimOne(store, { queues: ['default', 'other'] }))])
          bench.clock.advance(1)
        }
      }
      const newest = await Promise.all(
        ['a', 'b', 'c'].map(async (topic) => (await store.list({ topic })).items[0]?.id),
      )
      const rule = { status: 'completed', finishedBefore: bench.clock.now(), limit: 5 } as const
      expect(await store.prune(rule)).toBe(5)
      await store.rollUp()
      expect(await store.prune({ ...rule, limit: 4 })).toBe(4)
      const left = (await store.list()).items.map(({ id }) => id)
      expect(left).toHaveLength(3)
      expect(newest).toEqual(expect.arrayContaining(left.filter((id) => newest.includes(id))))
      expect([await store.prune(rule), await store.prune(rule)]).toEqual([3, 0])
      expect(await store.list()).toMatchObject({ items: [], total: 0 })
    })

    it('removes events, payloads, results and keys too', async () => {
      const store = await bench.openWithClock()
      const big = 'x'.repeat(10_000)
      const options = { payload: big, unique: { key: 'once', within: 60 * MINUTE }, idempotencyKey: 'call' }
      const [id = ''] = await store.enqueue([aJob(options)])
      await store.events.append(id, null, [{ type: 'note' }])
      await store.settle([complete(await claimOne(store), JSON.stringify(big))])
      expect(await store.prune({ status: 'completed', finishedBefore: bench.clock.advance(1) })).toBe(1)
      expect(await store.events.list(id)).toEqual([])
      const again = aJob(options)
      expect(await store.enqueue([again])).toEqual([again.id])
    })

    it('keeps a failed job for as long as others wait for it', async () => {
      const store = await bench.openWithClock()
      const parent = aJob()
      await store.enqueue([parent])
      const { id, run } = await claimOne(store)
      const child = aJob({ after: [parent.id], onParentFailure: 'wait' })
      await store.enqueue([child])
      await store.settle([{ id, run, kind: 'fail', error: anError }])
      const rule = { status: 'failed', finishedBefore: bench.clock.advance(1) } as const
      expect(await store.prune(rule)).toBe(0)
      await store.cancel([child.id])
      expect(await store.prune(rule)).toBe(1)
    })

    it('run twice at once, removes each job once and blocks no claim', async () => {
      const [store, other] = [await bench.openWithClock(), await bench.openWithClock()]
      await store.enqueue(someJobs(200))
      await store.settle((await store.claim(claiming({ limit: 200 }))).jobs.map((job) => complete(job)))
      await store.enqueue([aJob()])
      const rule = { status: 'completed', finishedBefore: bench.clock.advance(1), limit: 50 } as const
      let pruned = 0
      while (pruned < 200) {
        const [a, b, { jobs }] = await Promise.all([
          store.prune(rule),
          other.prune(rule),
          other.claim(claiming({ limit: 1 })),
        ])
        if (jobs.length) await other.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'release' })))
        expect(a + b).toBeGreaterThan(0)
        pruned += a + b
      }
      expect(pruned).toBe(200)
      expect(await store.stats()).toMatchObject({ completed: 0, pending: 1 })
    })

    it('refuses an invalid rule', async () => {
      const store = await bench.open()
      const rule = { status: 'completed', finishedBefore: new Date() } as const
      const refused = expect.objectContaining({ code: 'INVALID_INPUT' })
      await expect(store.prune({ ...rule, limit: 0 })).rejects.toEqual(refused)
      await expect(store.prune({ ...rule, status: 'pending' as never })).rejects.toEqual(refused)
      await expect(store.prune({ ...rule, finishedBefore: new Date(Number.NaN) })).rejects.toEqual(refused)
    })
  })
}
