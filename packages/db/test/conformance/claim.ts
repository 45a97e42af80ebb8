import { describe, expect, it } from 'vitest'
import {
  aJob,
  Bench,
  claiming,
  complete,
  type Dialect,
  LEASE,
  MINUTE,
  OTHER_WORKER,
  read,
  someJobs,
  WORKER,
} from './harness.ts'

export function describeClaim(dialect: Dialect): void {
  describe('claim', () => {
    const bench = new Bench(dialect)
    const topicsOf = (jobs: readonly { topic: string }[]) => jobs.map((job) => job.topic)

    it('hands out a job with its run number and locks it for the length of the lease', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob()])
      const { jobs, now } = await store.claim(claiming())
      expect(jobs).toMatchObject([
        { id, run: 1, topic: 'mail_digest', payload: { userId: '123' }, retries: 0 },
      ])
      expect(now).toEqual(bench.clock.now())
      expect(await read(store, id)).toMatchObject({
        status: 'processing',
        run: 1,
        lockedBy: WORKER,
        lockedUntil: new Date(bench.clock.now().getTime() + LEASE),
        startedAt: bench.clock.now(),
      })
    })

    it('gives a job to one worker only', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(5))
      const first = await store.claim(claiming({ limit: 3 }))
      const second = await store.claim(claiming({ limit: 3, worker: OTHER_WORKER }))
      const ids = [...first.jobs, ...second.jobs].map((job) => job.id)
      expect(ids).toHaveLength(5)
      expect(new Set(ids).size).toBe(5)
      expect((await store.claim(claiming())).jobs).toEqual([])
    })

    it('takes the highest priority first, then the earliest run_at, then the order of enqueueing', async () => {
      const store = await bench.openWithClock()
      const at = (minutesAgo: number) => new Date(bench.clock.now().getTime() - minutesAgo * MINUTE)
      await store.enqueue([
        aJob({ topic: '4th', priority: 0, runAt: at(1) }),
        aJob({ topic: '5th', priority: 0, runAt: at(1) }),
        aJob({ topic: '6th', priority: -5, runAt: at(99) }),
        aJob({ topic: '3rd', priority: 0, runAt: at(2) }),
        aJob({ topic: '1st', priority: 32_767 }),
        aJob({ topic: '2nd', priority: 9 }),
        aJob({ topic: '7th', priority: -32_768, runAt: at(99) }),
      ])
      const { jobs } = await store.claim(claiming())
      expect(topicsOf(jobs)).toEqual(['1st', '2nd', '3rd', '4th', '5th', '6th', '7th'])
    })

    it('keeps that order over many small claims', async () => {
      const store = await bench.open()
      const jobs = Array.from({ length: 60 }, (_, n) => aJob({ topic: `t${n}`, priority: n % 3 }))
      await store.enqueue(jobs)
      const claimed: string[] = []
      for (let i = 0; i < 12; i++) claimed.push(...topicsOf((await store.claim(claiming({ limit: 5 }))).jobs))
      const expected = [2, 1, 0].flatMap((priority) => jobs.filter((job) => job.priority === priority))
      expect(claimed).toEqual(topicsOf(expected))
    })

    it('empties the first queue before it looks at the second', async () => {
      const store = await bench.open()
      await store.enqueue([
        aJob({ topic: 'low', queue: 'low', priority: 100 }),
        aJob({ topic: 'high', queue: 'high' }),
        aJob({ topic: 'high', queue: 'high' }),
        aJob({ topic: 'unserved', queue: 'elsewhere' }),
      ])
      const { jobs } = await store.claim(claiming({ queues: ['high', 'low'] }))
      expect(topicsOf(jobs)).toEqual(['high', 'high', 'low'])
    })

    it('takes only the topics asked for', async () => {
      const store = await bench.open()
      await store.enqueue(['a', 'b', 'c', 'a'].map((topic) => aJob({ topic })))
      expect(topicsOf((await store.claim(claiming({ topics: ['a', 'c'] }))).jobs)).toEqual(['a', 'c', 'a'])
      expect(topicsOf((await store.claim(claiming())).jobs)).toEqual(['b'])
    })

    it('takes no more than the limit', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(5))
      expect((await store.claim(claiming({ limit: 4 }))).jobs).toHaveLength(4)
    })

    it('says when the next job is due, over all its queues and priorities, if it finds nothing', async () => {
      const store = await bench.openWithClock()
      const inMinutes = (n: number) => new Date(bench.clock.now().getTime() + n * MINUTE)
      expect((await store.claim(claiming())).nextDue).toBeNull()
      await store.enqueue([
        aJob({ runAt: inMinutes(9), priority: 5 }),
        aJob({ runAt: inMinutes(7), priority: 0, queue: 'low' }),
        aJob({ runAt: inMinutes(8), priority: 0, queue: 'low' }),
        aJob({ runAt: inMinutes(1), queue: 'elsewhere' }),
      ])
      const found = await store.claim(claiming({ queues: ['default', 'low'] }))
      expect(found).toMatchObject({ jobs: [], nextDue: inMinutes(7) })
    })

    it('finds a ready job of low priority behind scheduled ones of higher priorities', async () => {
      const store = await bench.openWithClock()
      const later = new Date(bench.clock.now().getTime() + MINUTE)
      await store.enqueue([10, 9, 8].flatMap((priority) => someJobs(200, { priority, runAt: later })))
      await store.enqueue([aJob({ topic: 'ready', priority: -1 })])
      expect(topicsOf((await store.claim(claiming())).jobs)).toEqual(['ready'])
    })

    it('finds at once a job that is dated back to before those claimed last', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(20))
      await store.claim(claiming({ limit: 20 }))
      await store.enqueue([aJob({ topic: 'old', runAt: new Date(0) })])
      await expect
        .poll(async () => topicsOf((await store.claim(claiming())).jobs), { timeout: 2_000 })
        .toEqual(['old'])
    })

    it('finds a dated-back job of a quiet queue while another queue is busy', async () => {
      const store = await bench.open()
      const quiet = () => store.claim(claiming({ queues: ['quiet'] }))
      await quiet()
      await store.enqueue([aJob({ topic: 'old', queue: 'quiet', runAt: new Date(0) })])
      const looked = async () => {
        await store.enqueue([aJob()])
        await store.claim(claiming({ limit: 1 }))
        return topicsOf((await quiet()).jobs)
      }
      await expect.poll(looked, { timeout: 3_000, interval: 5 }).toEqual(['old'])
    })

    it('refuses a worker whose id is no UUID', async () => {
      const store = await bench.open()
      await expect(store.claim(claiming({ worker: 'me' }))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('finds a priority that was not there at the last claim', async () => {
      const store = await bench.open()
      for (const priority of [0, 5, -5, 3, 0, 7]) {
        await store.enqueue([aJob({ priority })])
        expect((await store.claim(claiming({ limit: 1 }))).jobs).toMatchObject([{ priority }])
      }
    })

    it('marks the first `start` jobs as started and the rest as prefetched', async () => {
      const store = await bench.open()
      await store.enqueue([...someJobs(2, { priority: 1 }), ...someJobs(2)])
      const { jobs } = await store.claim(claiming({ start: 3 }))
      const started = await Promise.all(
        jobs.map(async (job) => (await read(store, job.id)).startedAt !== null),
      )
      expect(started).toEqual([true, true, true, false])
    })

    it('gives every job of a busy queue to one of many concurrent claims', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(500))
      const claims = Array.from({ length: 50 }, () => store.claim(claiming({ limit: 10 })))
      const ids = (await Promise.all(claims)).flatMap((claimed) => claimed.jobs.map((job) => job.id))
      while (ids.length < 500) {
        const { jobs } = await store.claim(claiming({ limit: 100 }))
        if (jobs.length === 0) break
        ids.push(...jobs.map((job) => job.id))
      }
      expect(ids).toHaveLength(500)
      expect(new Set(ids).size).toBe(500)
    })

    it('finds nothing in a queue whose jobs are finished', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      await store.settle(jobs.map((job) => complete(job)))
      expect(await store.claim(claiming())).toMatchObject({ jobs: [], nextDue: null })
    })
  })
}
