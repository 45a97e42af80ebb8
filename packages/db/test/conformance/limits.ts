import { eventually } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import {
  aJob,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  LEASE,
  MINUTE,
  newWorkerId,
  OTHER_WORKER,
  read,
  someJobs,
  WORKER,
} from './harness.ts'
import { processesOf } from './processes.ts'

const SECOND = 1_000

export function describeLimits(dialect: Dialect): void {
  describe('limits', () => {
    const bench = new Bench(dialect)
    const { start, tell } = processesOf(dialect)
    const keyed = (options: object = {}) => ({ concurrencyKey: 'user:1', concurrencyLimit: 2, ...options })
    const claimedIds = async (store: Awaited<ReturnType<typeof bench.open>>, options: object = {}) =>
      (await store.claim(claiming(options))).jobs.map((job) => job.id)

    it('no more jobs of a concurrency key run at once than its limit, and each settle lets the next one start', async () => {
      const store = await bench.open()
      const ids = await store.enqueue(someJobs(7, keyed()))
      const order: string[] = []
      let { jobs } = await store.claim(claiming())
      while (jobs.length > 0) {
        expect(jobs.length).toBeLessThanOrEqual(2)
        order.push(...jobs.map((job) => job.id))
        const [first, ...rest] = jobs
        if (!first) break
        const next = await store.settleAndClaim([complete(first)], claiming())
        jobs = [...rest, ...next.jobs]
        order.splice(order.length - rest.length, rest.length)
      }
      expect(order).toEqual(ids)
    })

    it('other keys and jobs without one are not affected', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(5, keyed()))
      const others = await store.enqueue([aJob(), aJob({ concurrencyKey: 'user:2' }), aJob()])
      const claimed = await claimedIds(store)
      expect(claimed).toHaveLength(5)
      expect(claimed).toEqual(expect.arrayContaining(others))
    })

    it('a limit of one runs jobs one after the other, by priority and then in order', async () => {
      const store = await bench.open()
      await store.enqueue([2, 0, 1, 2, 0].map((priority) => aJob({ concurrencyKey: 'k', priority })))
      const priorities: number[] = []
      for (let i = 0; i < 5; i++) {
        const job = await claimOne(store, { limit: 10 })
        priorities.push(job.priority)
        await store.settle([complete(job)])
      }
      expect(priorities).toEqual([2, 2, 1, 0, 0])
    })

    it('a job that is put back gives its slot to the next', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(2, { concurrencyKey: 'k' }))
      const first = await claimOne(store, { limit: 10 })
      await store.settle([{ ...first, kind: 'snooze', delayMs: 60_000 }])
      const second = await claimOne(store, { limit: 10 })
      expect(second.id).not.toBe(first.id)
    })

    it('the slot of a dead run is freed', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(2, { concurrencyKey: 'k' }))
      const first = await claimOne(store, { limit: 10 })
      bench.clock.advance(LEASE + 1)
      const claimed = await claimedIds(store, { worker: OTHER_WORKER })
      expect(claimed).toHaveLength(1)
      expect(await store.settle([complete(first)])).toMatchObject({ stale: [{ id: first.id }] })
    })

    it('a full queue frees the slots of runs whose leases have expired', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(3))
      await store.limit({ queue: 'default' }, { maxRunning: 2 })
      const { jobs: abandoned } = await store.claim(claiming())
      expect(abandoned).toHaveLength(2)
      bench.clock.advance(LEASE)
      expect(await claimedIds(store, { worker: OTHER_WORKER })).toEqual([])
      bench.clock.advance(1)
      expect(await claimedIds(store, { worker: OTHER_WORKER })).toHaveLength(2)
      expect(await store.settle(abandoned.map((job) => complete(job)))).toMatchObject({
        stale: [{}, {}],
      })
    })

    it('a job that names a higher limit for its key does not raise that of the others', async () => {
      const store = await bench.open()
      const strict = someJobs(3, { concurrencyKey: 'account', concurrencyLimit: 1 })
      await store.enqueue([...strict, aJob({ concurrencyKey: 'account', concurrencyLimit: 100 })])
      expect(await claimedIds(store)).toHaveLength(1)
    })

    it('a full key frees the slot of a run whose lease expired in a paused queue', async () => {
      const store = await bench.openWithClock()
      const key = { concurrencyKey: 'account', concurrencyLimit: 1 }
      await store.enqueue([aJob({ ...key, queue: 'paused' })])
      await claimOne(store, { queues: ['paused'] })
      await store.enqueue([aJob(key)])
      expect(await claimedIds(store)).toEqual([])
      await store.pause('paused')
      bench.clock.advance(LEASE + 1)
      await store.rescue()
      expect(await claimedIds(store, { worker: OTHER_WORKER })).toHaveLength(1)
    })

    describe('of a key that queues share', () => {
      const shared = (queue: string, options: object = {}) => ({
        ...keyed({ concurrencyLimit: 1 }),
        queue,
        ...options,
      })
      const QUEUES = ['a_dead', 'default', 'z_dead']
      type OneStore = Awaited<ReturnType<typeof bench.open>>

      /** Twenty jobs of each queue without a worker come before those of the queue that has one. */
      async function holdBehindDeadQueues(store: OneStore, limit: number) {
        const dead = ['a_dead', 'z_dead'].flatMap((queue) =>
          someJobs(20, shared(queue, { concurrencyLimit: limit, priority: 1 })),
        )
        await store.enqueue([...dead, ...someJobs(8, shared('default', { concurrencyLimit: limit }))])
        const { jobs } = await store.claim(claiming({ queues: QUEUES }))
        expect(jobs).toHaveLength(limit)
        for (const queue of QUEUES) expect(await claimedIds(store, { queues: [queue] })).toEqual([])
        return jobs
      }

      /** What a worker of these queues does, poll by poll: how many jobs it has run after each. */
      async function work(store: OneStore, queues: string[], polls: number) {
        let done = 0
        for (let poll = 0; poll < polls; poll++) {
          const { jobs } = await store.claim(claiming({ queues, thorough: true }))
          done += jobs.length
          await store.settle(jobs.map((job) => complete(job)))
          await store.rescue()
        }
        return done
      }

      it.each([1, 2])('no queue waits for a paused one, with a limit of %i', async (limit) => {
        const store = await bench.open()
        const runs = await holdBehindDeadQueues(store, limit)
        await store.pause('a_dead')
        await store.pause('z_dead')
        await store.settle(runs.map((job) => complete(job)))
        expect(await work(store, QUEUES, 8 / limit + 2)).toBe(8)
        await store.resume('a_dead')
        await store.resume('z_dead')
        expect(await work(store, QUEUES, 40)).toBe(40 - limit)
      })

      it.each([1, 2])('no queue waits for one without a worker, with a limit of %i', async (limit) => {
        const store = await bench.open()
        const runs = await holdBehindDeadQueues(store, limit)
        await store.settle(runs.map(({ id, run }) => ({ id, run, kind: 'release' as const })))
        expect(await work(store, ['default'], 8 / limit + 2)).toBe(8)
      })

      it('a queue that lost its worker does not delay jobs that come later', async () => {
        const store = await bench.open()
        const runs = await holdBehindDeadQueues(store, 1)
        await store.settle(runs.map((job) => complete(job)))
        await store.rescue()
        for (let round = 0; round < 10; round++) {
          // Of two ready jobs, one is throttled. Jobs of other queues stay throttled, and get no slot for it.
          await store.enqueue(someJobs(2, shared('default')))
          for (let n = 0; n < 2; n++) {
            const { jobs } = await store.claim(claiming({ thorough: true }))
            expect(jobs).toHaveLength(1)
            await store.settle(jobs.map((job) => complete(job)))
          }
        }
      })

      it('only the queue that is served uses up the rate', async () => {
        const store = await bench.openWithClock()
        const rate = { count: 2, intervalMs: SECOND }
        await store.limit({ concurrencyKey: 'user:1' }, { maxRunning: 100, rate })
        await store.enqueue(someJobs(20, shared('a_dead')))
        await store.enqueue(someJobs(12, shared('default')))
        expect(await claimedIds(store, { queues: QUEUES })).toHaveLength(2)
        let done = 0
        for (let poll = 0; poll < 9; poll++) {
          bench.clock.advance(SECOND)
          await store.rescue()
          done += (await claimedIds(store)).length
        }
        expect(done).toBe(12)
      })

      it('two queues that are served alternate in the order of their jobs, whichever claims at each settle', async () => {
        const store = await bench.openWithClock()
        const order: string[] = []
        for (const queue of ['default', 'other', 'default', 'default', 'other', 'default', 'other']) {
          await store.enqueue([aJob(shared(queue))])
          bench.clock.advance(1)
        }
        let [run] = (await store.claim(claiming())).jobs
        while (run) {
          order.push(run.queue)
          const busy = run.queue
          expect(await claimedIds(store, { queues: ['default', 'other'] })).toEqual([])
          let { jobs } = await store.settleAndClaim([complete(run)], claiming({ queues: [busy] }))
          if (jobs.length === 0)
            jobs = (await store.claim(claiming({ queues: [busy === 'other' ? 'default' : 'other'] }))).jobs
          run = jobs[0]
        }
        expect(order.join()).toBe('default,other,default,default,other,default,other')
      })

      it('a throttled job of higher priority goes before new ones, even beside a queue without a worker', async () => {
        const store = await bench.open()
        await store.enqueue(someJobs(4, shared('default', { priority: 5 })))
        await store.enqueue(someJobs(3, shared('a_dead', { priority: 9 })))
        const priorities: number[] = []
        let { jobs } = await store.claim(claiming())
        expect(await claimedIds(store, { queues: ['a_dead'] })).toEqual([])
        for (let round = 0; round < 8; round++) {
          priorities.push(...jobs.map((job) => job.priority))
          await store.enqueue([aJob(shared('default'))])
          await store.settle(jobs.map((job) => complete(job)))
          await store.rescue()
          ;({ jobs } = await store.claim(claiming({ thorough: true })))
        }
        expect(priorities.slice(0, 4)).toEqual([5, 5, 5, 5])
        expect(priorities).toHaveLength(8)
      })
    })

    it('a run keeps its slot in a full queue for as long as its lease is extended', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(2))
      await store.limit({ queue: 'default' }, { maxRunning: 1 })
      const { id, run } = await claimOne(store)
      bench.clock.advance(LEASE)
      await store.heartbeat({ worker: WORKER, leaseMs: LEASE, runs: [{ id, run }] })
      for (const ms of [1, LEASE - 1]) {
        bench.clock.advance(ms)
        expect(await claimedIds(store, { worker: OTHER_WORKER })).toEqual([])
      }
      bench.clock.advance(1)
      expect(await claimedIds(store, { worker: OTHER_WORKER })).toHaveLength(1)
    })

    it('a queue runs no more at once than its limit, and a change takes effect at once', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(10))
      await store.limit({ queue: 'default' }, { maxRunning: 3 })
      const { jobs } = await store.claim(claiming())
      expect(jobs).toHaveLength(3)
      expect(await claimedIds(store)).toEqual([])
      await store.limit({ queue: 'default' }, { maxRunning: 5 })
      expect(await claimedIds(store)).toHaveLength(2)
      await store.settle(jobs.map((job) => complete(job)))
      await store.limit({ queue: 'default' }, { maxRunning: 1 })
      expect(await claimedIds(store)).toEqual([])
      await store.limit({ queue: 'default' }, null)
      expect(await claimedIds(store)).toHaveLength(5)
    })

    it('runs that started before the limit was set count', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(6))
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      await store.limit({ queue: 'default' }, { maxRunning: 3 })
      expect(await claimedIds(store)).toHaveLength(1)
      await store.settle(jobs.map((job) => complete(job)))
      expect(await claimedIds(store)).toHaveLength(2)
    })

    it('a limit of zero lets nothing run', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      await store.limit({ queue: 'default' }, { maxRunning: 0 })
      expect(await claimedIds(store)).toEqual([])
    })

    it('a limit that is set for a key overrides what its jobs say, and brings back throttled jobs', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(6, keyed()))
      expect(await claimedIds(store)).toHaveLength(2)
      await store.limit({ concurrencyKey: 'user:1' }, { maxRunning: 5 })
      expect(await claimedIds(store)).toHaveLength(3)
    })

    it('a queue starts no more in any interval than its rate, and says when it may go on', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(7))
      await store.limit({ queue: 'default' }, { rate: { count: 3, intervalMs: SECOND } })
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      await store.settle(jobs.map((job) => complete(job)))
      bench.clock.advance(400)
      expect(await claimedIds(store)).toHaveLength(1)
      const full = await store.claim(claiming())
      expect(full).toMatchObject({ jobs: [], nextDue: new Date(bench.clock.now().getTime() + 600) })
      bench.clock.advance(600)
      expect(await claimedIds(store)).toHaveLength(2)
      bench.clock.advance(400)
      expect(await claimedIds(store)).toHaveLength(1)
    })

    it('a concurrency key starts no more in any interval than its rate', async () => {
      const store = await bench.openWithClock()
      await store.limit(
        { concurrencyKey: 'user:1' },
        { maxRunning: 100, rate: { count: 2, intervalMs: SECOND } },
      )
      await store.enqueue(someJobs(6, keyed()))
      const starts: number[] = []
      for (let ms = 0; ms <= 2_000; ms += 100) {
        for (const id of await claimedIds(store)) {
          starts.push(ms)
          expect(id).toBeTruthy()
        }
        await store.rescue()
        bench.clock.advance(100)
      }
      expect(starts).toEqual([0, 0, 1_000, 1_000, 2_000, 2_000])
    })

    it.each([
      ['queue', {}, { queue: 'default' }],
      ['concurrency key', { concurrencyKey: 'user:1' }, { concurrencyKey: 'user:1' }],
    ])('the rate of a %s outlasts a clock that is set back, and does not stall', async (_, options, key) => {
      const store = await bench.openWithClock()
      // The marks of the clock before are left out here.
      const claimed = () => claimedIds(store, { thorough: true })
      await store.limit(key, { maxRunning: 100, rate: { count: 2, intervalMs: SECOND } })
      await store.enqueue(someJobs(2, options))
      expect(await claimed()).toHaveLength(2)
      bench.clock.advance(-60 * MINUTE)
      await store.enqueue(someJobs(3, options))
      expect(await claimed()).toHaveLength(2)
      expect(await claimed()).toEqual([])
      // A start less than one interval ahead of the clock still counts.
      bench.clock.advance(-SECOND / 2)
      expect(await claimed()).toEqual([])
      bench.clock.advance(1.5 * SECOND)
      expect(await claimed()).toHaveLength(1)
    })

    it('a limit of 2 is never exceeded by 4 processes, while some of them are killed', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(120, keyed({ maxRetries: 50 })))
      let most = 0
      let watching = true
      const watch = async () => {
        while (watching) most = Math.max(most, (await store.stats()).processing)
      }
      const watched = watch()
      const victims = await Promise.all([start(bench.url), start(bench.url)])
      for (const child of victims) {
        // Behind a pooler a death is noticed only when the lease expires.
        const leaseMs = dialect.pooled ? 2_000 : 60_000
        const hold = { do: 'hold', worker: newWorkerId(), limit: 5, start: 5, leaseMs } as const
        await tell(child, hold)
      }
      for (const child of victims) child.kill('SIGKILL')
      const workers = await Promise.all([start(bench.url), start(bench.url)])
      const worked = workers.map((child) =>
        tell(child, { do: 'workLimited', worker: newWorkerId(), limit: 10 }),
      )
      try {
        await eventually(async () => {
          await store.rescue()
          const { jobs } = await store.claim(claiming())
          await store.settle(jobs.map((job) => complete(job)))
          expect((await store.stats()).completed).toBe(120)
        }, 40_000)
        await Promise.all(worked)
      } finally {
        watching = false
        await watched
      }
      expect(most).toBeLessThanOrEqual(2)
    })

    it('jobs of a full key are throttled, and still count as pending', async () => {
      const store = await bench.open()
      const ids = await store.enqueue(someJobs(4, { concurrencyKey: 'k' }))
      await claimOne(store, { limit: 10 })
      expect(await store.stats()).toMatchObject({ pending: 3, processing: 1 })
      expect(await read(store, ids[3] ?? '')).toMatchObject({ status: 'pending', visibleAt: null })
      const [queue] = await store.queues()
      expect(queue).toMatchObject({ queue: 'default', waiting: 0, throttled: 3, running: 1 })
    })

    it('a throttled job can be cancelled, and deleted', async () => {
      const store = await bench.open()
      const [, second = '', third = ''] = await store.enqueue(someJobs(3, { concurrencyKey: 'k' }))
      await claimOne(store, { limit: 10 })
      expect(await store.cancel([second])).toEqual({ done: 1, skipped: {} })
      expect(await store.delete([third])).toEqual({ done: 1, skipped: {} })
    })
  })
}
