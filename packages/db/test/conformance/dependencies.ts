import type { NewJob, ParentFailurePolicy } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { Settlement, Store } from '../../src/store.ts'
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
} from './harness.ts'

export function describeDependencies(dialect: Dialect): void {
  describe('dependencies', () => {
    const bench = new Bench(dialect)
    const statusOf = async (store: Store, id: string) => (await read(store, id)).status

    it('a job with parents is blocked, and becomes pending when the last parent has completed', async () => {
      const store = await bench.open()
      const parents = await store.enqueue(someJobs(3, { topic: 'parent' }))
      const [child = ''] = await store.enqueue([aJob({ topic: 'child', after: parents })])
      for (let left = 3; left > 0; left--) {
        expect(await read(store, child)).toMatchObject({ status: 'blocked', depsLeft: left, visibleAt: null })
        await store.settle([complete(await claimOne(store, { topics: ['parent'] }))])
      }
      expect(await claimOne(store)).toMatchObject({ id: child })
    })

    it('keeps its own time: a released job is not due before its run_at', async () => {
      const store = await bench.openWithClock()
      const [parent = ''] = await store.enqueue([aJob()])
      await store.enqueue([aJob({ after: [parent], delay: MINUTE })])
      await store.settle([complete(await claimOne(store))])
      expect((await store.claim(claiming())).nextDue).toEqual(new Date(bench.clock.now().getTime() + MINUTE))
    })

    it('a whole graph may be enqueued in one call, in any order', async () => {
      const store = await bench.open()
      const [a, b, c] = [aJob({ topic: 'a' }), aJob({ topic: 'b' }), aJob({ topic: 'c' })]
      const last = aJob({ topic: 'last', after: [b.id, c.id] })
      await store.enqueue([last, { ...c, after: [a.id] }, { ...b, after: [a.id] }, a])
      const order: string[] = []
      for (let i = 0; i < 3; i++) {
        const { jobs } = await store.claim(claiming())
        order.push(
          jobs
            .map((job) => job.topic)
            .toSorted()
            .join('+'),
        )
        await store.settle(jobs.map((job) => complete(job)))
      }
      expect(order).toEqual(['a', 'b+c', 'last'])
    })

    it('refuses a cycle and an unknown parent, and writes nothing', async () => {
      const store = await bench.open()
      const [a, b] = [aJob(), aJob()]
      const circle = [
        { ...a, after: [b.id] },
        { ...b, after: [a.id] },
      ]
      await expect(async () => store.enqueue(circle)).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' })
      const stranger = aJob().id
      await expect(store.enqueue([aJob(), aJob({ after: [stranger] })])).rejects.toMatchObject({
        code: 'UNKNOWN_PARENT',
        details: { jobId: stranger },
      })
      expect(await store.list()).toMatchObject({ items: [], total: 0 })
    })

    it('a parent that has completed already does not block', async () => {
      const store = await bench.open()
      const [done = '', open = ''] = await store.enqueue(someJobs(2))
      await store.settle([complete(await claimOne(store))])
      const [free = '', waiting = ''] = await store.enqueue([
        aJob({ after: [done] }),
        aJob({ after: [done, open] }),
      ])
      expect(await statusOf(store, free)).toBe('pending')
      expect(await read(store, waiting)).toMatchObject({ status: 'blocked', depsLeft: 1 })
    })

    it.each<[ParentFailurePolicy, string, string]>([
      ['wait', 'blocked', 'blocked'],
      ['stop', 'failed', 'failed'],
      ['go_on', 'pending', 'blocked'],
      ['cancel', 'cancelled', 'cancelled'],
    ])(
      'when a parent fails, %s makes its dependant %s and the next %s',
      async (onParentFailure, then, thenNext) => {
        const store = await bench.open()
        const [parent = ''] = await store.enqueue([aJob()])
        const [child = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure })])
        const [grandchild = ''] = await store.enqueue([aJob({ after: [child], onParentFailure })])
        await store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }])
        expect([await statusOf(store, child), await statusOf(store, grandchild)]).toEqual([then, thenNext])
        // The same for a dependant that is enqueued after the failure.
        const [late = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure })])
        expect(await statusOf(store, late)).toBe(then)
      },
    )

    it('a failed parent that is requeued and completes releases its dependants', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob()])
      const [child = ''] = await store.enqueue([aJob({ after: [parent] })])
      await store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }])
      await store.requeue([parent])
      await store.settle([complete(await claimOne(store))])
      expect(await statusOf(store, child)).toBe('pending')
    })

    it('a stale completion releases no dependant', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob()])
      const [child = ''] = await store.enqueue([aJob({ after: [parent] })])
      await claimOne(store)
      await store.settle([complete({ id: parent, run: 9 })])
      expect(await statusOf(store, child)).toBe('blocked')
    })

    it('the last two parents may finish at the same moment', async () => {
      const stores = [await bench.open(), await bench.open()] as const
      const [store] = stores
      for (let round = 0; round < 15; round++) {
        const parents = await store.enqueue(someJobs(2, { topic: 'parent' }))
        const children = await store.enqueue(someJobs(3, { topic: 'child', after: parents }))
        const { jobs } = await store.claim(claiming({ topics: ['parent'] }))
        await Promise.all(jobs.map((job, n) => stores[n % 2]?.settle([complete(job)])))
        const { jobs: released } = await store.claim(claiming({ topics: ['child'] }))
        expect(released.map((job) => job.id).toSorted()).toEqual(children.toSorted())
      }
    })

    it('an edge that is committed while its parent completes is not lost', async () => {
      const store = await bench.open()
      for (const kind of dialect.transactions) {
        const [parent = ''] = await store.enqueue([aJob({ topic: 'parent' })])
        const job = await claimOne(store, { topics: ['parent'] })
        let child = ''
        let settling: Promise<unknown> | undefined
        await kind.run(bench.url, async (tx) => {
          child = (await store.enqueue([aJob({ topic: 'child', after: [parent] })], { tx }))[0] ?? ''
          settling = store.settle([complete(job)])
          // Where both can write at once, the parent ends before the edge is visible.
          if (store.capabilities.concurrentWriters) await settling
        })
        await settling
        await expect
          .poll(async () => {
            await store.rescue()
            return statusOf(store, child)
          })
          .toBe('pending')
        await store.settle([complete(await claimOne(store))])
      }
    })

    it('a parent that is deleted before its children are committed leaves none of them blocked for ever', async () => {
      const store = await bench.open()
      // SQLite has one writer at a time: a job cannot be deleted while another transaction is open.
      if (!store.capabilities.concurrentWriters) return
      for (const kind of dialect.transactions) {
        const [parent = ''] = await store.enqueue([aJob({ topic: 'parent' })])
        const policies = ['wait', 'stop', 'cancel', 'go_on'] as const
        let children: string[] = []
        await kind.run(bench.url, async (tx) => {
          const jobs = policies.map((onParentFailure) => aJob({ after: [parent], onParentFailure }))
          children = await store.enqueue(jobs, { tx })
          expect(await store.delete([parent])).toEqual({ done: 1, skipped: {} })
        })
        const statuses = () => Promise.all(children.map((id) => statusOf(store, id)))
        await expect
          .poll(async () => {
            await store.rescue()
            return statuses()
          })
          .toEqual(['failed', 'failed', 'cancelled', 'pending'])
        await store.cancel(children)
      }
    })

    it('10,000 children of one parent are released by its completion', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob()])
      await store.enqueue(someJobs(10_000, { after: [parent] }))
      expect(await store.stats()).toMatchObject({ blocked: 10_000, pending: 1 })
      await store.settle([complete(await claimOne(store))])
      expect(await store.stats()).toMatchObject({ blocked: 0, pending: 10_000, completed: 1 })
    })

    it('a chain of 2,000 jobs ends with its first, by its policy', async () => {
      const store = await bench.open()
      const chain = [aJob()]
      for (let n = 1; n < 2_000; n++) {
        chain.push(aJob({ after: [chain[n - 1]?.id ?? ''], onParentFailure: n % 2 ? 'stop' : 'cancel' }))
      }
      await store.enqueue(chain)
      await store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }])
      expect(await store.stats()).toMatchObject({ blocked: 0, failed: 1_001, cancelled: 999 })
    })

    it('a key that stands for another job makes that job the parent', async () => {
      const store = await bench.open()
      const [existing = ''] = await store.enqueue([aJob({ unique: { key: 'k' } })])
      const again = aJob({ unique: { key: 'k' } })
      const [, child = ''] = await store.enqueue([again, aJob({ topic: 'child', after: [again.id] })])
      await store.settle([complete(await claimOne(store))])
      expect((await read(store, existing)).status).toBe('completed')
      expect(await statusOf(store, child)).toBe('pending')
    })

    it.each([
      ['with a key of its own', { idempotencyKey: 'report' }],
      ['without a key', {}],
    ])('a job %s whose two parents turn out to be the same job waits for that one alone', async (_, key) => {
      const store = await bench.open()
      const [a, b] = someJobs(2, { topic: 'parent', unique: { key: 'k' } }) as [NewJob, NewJob]
      const report = aJob({ topic: 'report', after: [a.id, b.id], ...key })
      // In either order.
      const [child = '', first, second] = await store.enqueue([report, a, b])
      expect(second).toBe(first)
      expect(await read(store, child)).toMatchObject({ status: 'blocked', depsLeft: 1 })
      await store.settle([complete(await claimOne(store))])
      expect(await read(store, child)).toMatchObject({ status: 'pending', depsLeft: 0 })
    })

    it('a job that replaces a running one waits for that run, and once for two parents that are the same job', async () => {
      const store = await bench.open()
      const unique = { key: 'report', onConflict: 'replace' } as const
      await store.enqueue([aJob({ topic: 'report', unique })])
      const running = await claimOne(store)
      const [a, b] = someJobs(2, { topic: 'parent', unique: { key: 'k' } }) as [NewJob, NewJob]
      const [child = ''] = await store.enqueue([aJob({ topic: 'report', after: [a.id, b.id], unique }), a, b])
      expect(await read(store, child)).toMatchObject({ status: 'blocked', depsLeft: 2 })
      await store.settle([complete(await claimOne(store))])
      await store.settle([complete(running)])
      expect(await read(store, child)).toMatchObject({ status: 'pending', depsLeft: 0 })
    })

    it('a crash that fails the parent counts as a failure of the parent', async () => {
      const store = await bench.openWithClock()
      const [parent = ''] = await store.enqueue([aJob({ maxRetries: 0 })])
      const [child = ''] = await store.enqueue([aJob({ after: [parent], onParentFailure: 'stop' })])
      await claimOne(store, { leaseMs: 10 })
      bench.clock.advance(11)
      await store.claim(claiming())
      expect(await read(store, child)).toMatchObject({
        status: 'failed',
        lastError: { code: 'PARENT_FAILED' },
      })
    })

    it.each<[string, (job: { id: string; run: number }) => Settlement]>([
      ['snoozed', (run) => ({ ...run, kind: 'snooze', delayMs: 1 })],
      ['retried', (run) => ({ ...run, kind: 'retry', delayMs: 1, error: anError })],
      ['released', (run) => ({ ...run, kind: 'release' })],
    ])('a parent that is %s still blocks its dependants', async (_, settlement) => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob()])
      const [child = ''] = await store.enqueue([aJob({ after: [parent] })])
      await store.settle([settlement(await claimOne(store))])
      expect(await statusOf(store, child)).toBe('blocked')
    })
  })
}
