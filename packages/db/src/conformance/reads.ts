import { describe, expect, it } from 'vitest'
import { aJob, anError, Bench, claiming, complete, type Dialect, read, someJobs } from './harness.ts'

export function describeReads(dialect: Dialect): void {
  describe('reads', () => {
    const bench = new Bench(dialect)

    it('get answers null for an id that nobody has', async () => {
      const store = await bench.open()
      expect(await store.get(aJob().id)).toBeNull()
      expect(await store.get('no id at all')).toBeNull()
      expect(await store.requeue(['no id at all'])).toEqual({ done: 0, skipped: { JOB_NOT_FOUND: 1 } })
    })

    it('list shows live and finished jobs as one, the newest first, by page', async () => {
      const store = await bench.openWithClock()
      const ids: string[] = []
      for (let i = 0; i < 6; i++) {
        ids.unshift(...(await store.enqueue([aJob()])))
        bench.clock.advance(1)
      }
      const { jobs } = await store.claim(claiming({ limit: 4 }))
      const [a, b, c] = jobs
      if (a && b && c)
        await store.settle([complete(a), { ...b, kind: 'fail', error: anError }, { ...c, kind: 'cancel' }])
      const page = await store.list({ limit: 4 })
      const rest = await store.list({ limit: 4, offset: 4 })
      expect([...page.items, ...rest.items].map((job) => job.id)).toEqual(ids)
      expect([page.total, rest.total]).toEqual([6, 6])
    })

    it('list filters by status, queue and topic', async () => {
      const store = await bench.open()
      await store.enqueue([aJob({ topic: 'a' }), aJob({ topic: 'b' }), aJob({ topic: 'a', queue: 'other' })])
      await store.settle((await store.claim(claiming({ topics: ['b'] }))).jobs.map((job) => complete(job)))
      expect((await store.list({ topic: 'a' })).total).toBe(2)
      expect((await store.list({ topic: 'a', queue: 'other' })).items).toMatchObject([
        { topic: 'a', queue: 'other' },
      ])
      expect((await store.list({ status: 'completed' })).items).toMatchObject([{ topic: 'b' }])
      expect((await store.list({ status: 'failed' })).items).toEqual([])
    })

    it('stats count every state', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(7))
      const { jobs } = await store.claim(claiming({ limit: 5 }))
      const [a, b, c] = jobs
      if (a && b && c)
        await store.settle([complete(a), { ...b, kind: 'fail', error: anError }, { ...c, kind: 'cancel' }])
      expect(await store.stats()).toEqual({
        blocked: 0,
        pending: 2,
        processing: 2,
        completed: 1,
        failed: 1,
        cancelled: 1,
      })
    })

    it('times are whole milliseconds, in order, and by one clock', async () => {
      const store = await bench.open()
      const before = await store.now()
      const [id = ''] = await store.enqueue([aJob()])
      await store.settle((await store.claim(claiming())).jobs.map((job) => complete(job)))
      const { created, startedAt, finishedAt } = await read(store, id)
      const times = [before, created, startedAt, finishedAt, await store.now()].map(
        (time) => time?.getTime() ?? 0,
      )
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    })
  })
}
