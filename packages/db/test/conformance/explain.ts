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
  newWorkerId,
  someJobs,
  WORKER,
} from './harness.ts'

export function describeExplain(dialect: Dialect): void {
  describe('why a job waits', () => {
    const bench = new Bench(dialect)

    const why = async (store: Store, id: string) =>
      (await store.explain(id))?.reasons.map(({ text }) => text) ?? expect.unreachable()

    /** A store with a live worker on the default queue that knows the usual topic. */
    async function served(topics = ['mail_digest']): Promise<Store> {
      const store = await bench.openWithClock()
      const worker = { host: 'a', pid: 1, queues: ['default'], concurrency: 2, version: '1' }
      await store.attend({ id: WORKER, ...worker })
      await announce(store, WORKER, topics)
      return store
    }
    const announce = (store: Store, worker: string, topics: readonly string[]) =>
      store.announce(
        topics.map((topic) => ({ topic, input: {}, output: {}, policy: {} })),
        { worker, service: 's' },
      )

    it('is its position in the queue, with an estimate from the recent throughput', async () => {
      const store = await served()
      await store.enqueue(someJobs(10))
      bench.clock.advance(MINUTE)
      await store.rescue(WORKER)
      const { jobs } = await store.claim(claiming({ limit: 10 }))
      await store.settle(jobs.map((job) => complete(job)))
      bench.clock.advance(4 * MINUTE)
      await store.rescue(WORKER)
      const low = aJob({ priority: -1 })
      const [first, second, high, later] = [
        aJob(),
        aJob(),
        aJob({ priority: 5 }),
        aJob({ priority: 9, delay: MINUTE }),
      ]
      await store.enqueue([low, first, second, high, later])
      expect(await store.explain(low.id)).toMatchObject({
        position: { ahead: 3, isExact: true },
        reasons: [{ kind: 'in_line', text: '4th in line, about 2 min' }],
      })
      expect(await why(store, high.id)).toEqual(['Next in line, about 24 s'])
      expect((await store.explain(first.id))?.position?.ahead).toBe(1)
      expect((await store.explain(second.id))?.position?.ahead).toBe(2)
    })

    it('is the pause of its queue: by which actor, and until when', async () => {
      const store = await served()
      const [first, job] = [aJob(), aJob()]
      await store.enqueue([first, job])
      await store.pause('default', 'ada')
      expect(await why(store, job.id)).toEqual(['Queue default was paused by ada, no end set', '2nd in line'])
      await store.pause('default', 'ada', 30 * MINUTE)
      const until = new Date(bench.clock.now().getTime() + 30 * MINUTE)
      expect((await store.explain(job.id))?.reasons[0]).toEqual({
        kind: 'paused',
        text: 'Queue default is paused by ada, for another 30 min',
        until,
      })
      await store.resume('default')
      expect(await why(store, job.id)).toEqual(['2nd in line'])
    })

    it('is never a missing worker for jobs of Oncue, which the API runs', async () => {
      const store = await served()
      const own = aJob({ queue: 'oncue', topic: 'oncue:notify' })
      await store.enqueue([own])
      expect(await why(store, own.id)).toEqual(['Next in line'])
    })

    it('is that no live worker serves its queue, or none that does knows its topic', async () => {
      const store = await served(['other'])
      const [known, unknown, elsewhere] = [
        aJob({ topic: 'other' }),
        aJob(),
        aJob({ queue: 'media', topic: 'other' }),
      ]
      await store.enqueue([known, unknown, elsewhere])
      expect(await why(store, known.id)).toEqual(['Next in line'])
      expect(await why(store, unknown.id)).toEqual([
        'No live worker of queue default knows topic mail_digest',
      ])
      expect(await why(store, elsewhere.id)).toEqual(['No live worker serves queue media'])
      bench.clock.advance(MINUTE)
      expect(await why(store, known.id)).toEqual(['No live worker serves queue default'])
    })

    it('is that it is not due yet, or backs off', async () => {
      const store = await served()
      const [later, failed] = [aJob({ delay: 3 * 60 * MINUTE }), aJob({ maxRetries: 3 })]
      await store.enqueue([later, failed])
      const { id, run } = await claimOne(store)
      expect((await store.explain(id))?.reasons).toEqual([])
      await store.settle([{ id, run, kind: 'retry', delayMs: 40_000, error: anError }])
      expect(await why(store, later.id)).toEqual(['Scheduled: due in 3 h'])
      const until = new Date(bench.clock.now().getTime() + 40_000)
      expect(await store.explain(id)).toMatchObject({
        reasons: [{ kind: 'back_off', text: 'Backs off after a failed run: retry 1 of 3 in 40 s', until }],
        position: null,
      })
    })

    it('is a limit: of its concurrency key, of its queue, of a rate', async () => {
      const store = await served()
      const keyed = { concurrencyKey: 'tenant-7', concurrencyLimit: 1 }
      const [a, b] = [aJob(keyed), aJob(keyed)]
      await store.enqueue([a, b])
      const running = await claimOne(store, { limit: 2 })
      const throttled = running.id === a.id ? b : a
      expect(await why(store, throttled.id)).toEqual(['Concurrency key tenant-7 is full: 1 of 1 running'])
      await store.settle([complete(running)])
      const done = await claimOne(store)
      await store.settle([complete(done)])

      await store.limit({ queue: 'default' }, { maxRunning: 1, rate: null })
      const [c, d] = [aJob(), aJob()]
      await store.enqueue([c, d])
      const first = await claimOne(store)
      const second = first.id === c.id ? d : c
      expect(await why(store, second.id)).toEqual([
        'Queue default is at its limit: 1 of 1 running',
        'Next in line',
      ])
      await store.settle([complete(first)])

      await store.limit({ queue: 'default' }, { maxRunning: null, rate: { count: 1, intervalMs: MINUTE } })
      const started = await claimOne(store)
      await store.settle([complete(started)])
      const e = aJob()
      await store.enqueue([e])
      bench.clock.advance(20_000)
      expect((await store.explain(e.id))?.reasons[0]).toMatchObject({
        kind: 'rate_limit',
        text: 'Rate limit of queue default: 1 start per 1 min, next in 40 s',
      })
    })

    it('is in hours from an hour on, also a second before it', async () => {
      const store = await served()
      const [hour, nearly, days] = [60 * MINUTE, 60 * MINUTE - 1_000, 25 * 60 * MINUTE].map((delay) =>
        aJob({ delay }),
      )
      const jobs = [hour, nearly, days].map((job) => job ?? expect.unreachable())
      await store.enqueue(jobs)
      const texts = await Promise.all(jobs.map(({ id }) => why(store, id)))
      expect(texts.flat()).toEqual([
        ...['Scheduled: due in 1 h', 'Scheduled: due in 1 h', 'Scheduled: due in 1 d'],
      ])
    })

    it('is the jobs that it waits for, by name', async () => {
      const store = await served()
      const parents = [aJob({ topic: 'a' }), aJob({ topic: 'b' })]
      await store.enqueue(parents)
      const child = aJob({ after: parents.map(({ id }) => id) })
      await store.enqueue([child])
      expect(await store.explain(child.id)).toEqual({
        ...{ id: child.id, status: 'blocked', position: null },
        reasons: [{ kind: 'parents', text: 'Waits for 2 other jobs', until: null }],
        waitsFor: parents.map(({ id, topic }) => ({
          ...{ id, topic, queue: 'default', status: 'pending' },
          ...{ isSuspended: false, ending: null },
        })),
      })
    })

    it('is nothing for a job that has finished, and null for one that does not exist', async () => {
      const store = await served()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      await store.settle([complete(job)])
      expect(await store.explain(job.id)).toEqual({
        ...{ id: job.id, status: 'completed', reasons: [], position: null, waitsFor: [] },
      })
      expect(await store.explain(newWorkerId())).toBeNull()
      expect(await store.explain('x')).toBeNull()
    })
  })

  describe('why a queue waits', () => {
    const bench = new Bench(dialect)

    const texts = async (store: Store, queue = 'default') =>
      (await store.explainQueue(queue)).reasons.map(({ text }) => text)

    async function served(concurrency = 2): Promise<Store> {
      const store = await bench.openWithClock()
      const worker = { host: 'a', pid: 1, queues: ['default'], concurrency, version: '1' }
      await store.attend({ id: WORKER, ...worker })
      await store.announce([{ topic: 'mail_digest', input: {}, output: {}, policy: {} }], {
        worker: WORKER,
        service: 's',
      })
      return store
    }

    it('is nothing while nothing waits, or slots are free', async () => {
      const store = await served()
      const nothing = { queue: 'default', waiting: 0, reasons: [], drain: null }
      expect(await store.explainQueue('default')).toEqual(nothing)
      await store.enqueue([aJob({ delay: MINUTE })])
      const text = '1 job is scheduled or retried later, due in 1 min'
      expect(await store.explainQueue('default')).toEqual({
        ...nothing,
        reasons: [{ kind: 'scheduled', text, until: expect.any(Date) }],
      })
      await store.enqueue([aJob(), aJob({ priority: 3 })])
      expect(await store.explainQueue('default')).toMatchObject({
        ...{ waiting: 2, reasons: [], drain: { text: '0 of 2 slots busy, 0/min done', slots: 2, busy: 0 } },
      })
    })

    it('is a pause with the jobs that are due later, while nothing waits', async () => {
      const store = await served()
      await store.enqueue(someJobs(12))
      const { jobs } = await store.claim(claiming({ limit: 12 }))
      await store.settle(
        jobs.map(({ id, run }, n) => ({ id, run, kind: 'retry', error: anError, delayMs: (n + 4) * MINUTE })),
      )
      await store.pause('default', 'ada', 30 * MINUTE)
      expect(await store.explainQueue('default')).toMatchObject({ waiting: 0, drain: null })
      expect(await texts(store)).toEqual([
        expect.stringMatching(/^Queue default .*paused by ada, for another 30 min$/),
        '12 jobs are scheduled or retried later, the first due in 4 min',
      ])
    })

    it('is that there is no such queue: it has had no jobs, and no worker serves it', async () => {
      const store = await served()
      const text = 'There is no queue nope: it has had no jobs, and no worker serves it'
      expect((await store.explainQueue('nope')).reasons).toEqual([
        { kind: 'unknown_queue', text, until: null },
      ])
    })

    it('is a pause, a missing worker, or topics that none knows', async () => {
      const store = await served()
      await store.enqueue([aJob(), aJob({ topic: 'a' }), aJob({ topic: 'b', priority: 9 })])
      await store.enqueue([aJob({ queue: 'media' })])
      await store.pause('default', 'ada', 30 * MINUTE)
      const unknown = ['a', 'b'].map((topic) => `No live worker of queue default knows topic ${topic}`)
      const paused = 'Queue default is paused by ada, for another 30 min'
      expect(await texts(store)).toEqual([paused, ...unknown])
      expect((await store.explainQueue('default')).drain).toBeNull()
      expect(await texts(store, 'media')).toEqual(['No live worker serves queue media'])
      bench.clock.advance(MINUTE)
      expect((await store.explainQueue('default')).reasons.map(({ kind }) => kind)).toEqual([
        ...['paused', 'no_worker'],
      ])
    })

    it('is the first of many topics that none knows, and how many more there are', async () => {
      const store = await served()
      await store.enqueue(Array.from({ length: 9 }, (_, n) => aJob({ topic: `t${n}`, priority: n % 2 })))
      expect(await texts(store)).toEqual([
        ...[0, 1, 2, 3, 4].map((n) => `No live worker of queue default knows topic t${n}`),
        '4 or more other topics are unknown to the live workers of queue default',
      ])
    })

    it('is a limit that is reached, or a rate', async () => {
      const store = await served()
      await store.limit({ queue: 'default' }, { maxRunning: 1, rate: null })
      await store.enqueue(someJobs(2))
      const job = await claimOne(store)
      expect(await store.explainQueue('default')).toMatchObject({
        waiting: 1,
        reasons: [{ kind: 'queue_limit', text: 'Queue default is at its limit: 1 of 1 running' }],
        drain: { withSlots: null },
      })
      await store.settle([complete(job)])
      await store.limit({ queue: 'default' }, { maxRunning: null, rate: { count: 1, intervalMs: MINUTE } })
      await store.settle([complete(await claimOne(store))])
      await store.enqueue([aJob()])
      expect(await texts(store)).toEqual(['Rate limit of queue default: 1 start per 1 min, next in 1 min'])
    })

    it('is slots, and then says how long it takes with them and with twice as many', async () => {
      const store = await served()
      await store.enqueue(someJobs(100))
      const minute = bench.clock.now()
      const gauge = { waiting: 100, running: 2, oldestMs: 0, workers: 1, slots: 2 }
      await store.gauges.record({ minute, whole: gauge, queues: new Map([['default', gauge]]) })
      // 50 runs end within 5 min, and nothing comes in between.
      for (let n = 0; n < 5; n++) {
        const { jobs } = await store.claim(claiming({ limit: 10 }))
        bench.clock.advance(MINUTE)
        await store.settle(jobs.map((job) => complete(job)))
        await store.rescue(WORKER)
      }
      await store.claim(claiming({ limit: 2 }))
      const { reasons, drain, waiting } = await store.explainQueue('default')
      expect(waiting).toBe(48)
      expect(reasons).toEqual([{ kind: 'slots_busy', text: 'All slots are busy (2 of 2)', until: null }])
      expect(drain).toMatchObject({ slots: 2, busy: 2, withSlots: { slots: 4 } })
      expect(drain?.text).toMatch(
        /^[\d.]+\/min done, [\d.]+\/min arriving: empty in about 5 min; 2 min with 4 slots$/,
      )
    })

    it.each([
      // Throughput is that of the last 4 full minutes, in which 50 runs ended.
      {
        arrived: 50,
        text: '12.5/min done, 12.5/min arriving: not shrinking; empty in about 8 min with 4 slots',
      },
      {
        arrived: 49,
        text: '12.5/min done, 12.3/min arriving: barely shrinking; empty in about 8 min with 4 slots',
      },
      { arrived: 40, text: '12.5/min done, 10.5/min arriving: empty in about 45 min; 6 min with 4 slots' },
    ])(
      'names the arrivals, and gives no time while it barely shrinks: $arrived',
      async ({ arrived, text }) => {
        const store = await served()
        await store.enqueue(someJobs(100))
        const minute = bench.clock.now()
        const gauge = { waiting: 100, running: 2, oldestMs: 0, workers: 1, slots: 2 }
        await store.gauges.record({ minute, whole: gauge, queues: new Map([['default', gauge]]) })
        for (let n = 0; n < 5; n++) {
          const { jobs } = await store.claim(claiming({ limit: 10 }))
          bench.clock.advance(MINUTE)
          await store.settle(jobs.map((job) => complete(job)))
          await store.rescue(WORKER)
        }
        await store.enqueue(someJobs(arrived + 2))
        await store.claim(claiming({ limit: 2 }))
        expect((await store.explainQueue('default')).drain?.text).toBe(text)
      },
    )
  })
}
