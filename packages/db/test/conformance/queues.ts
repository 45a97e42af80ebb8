import { randomUUID } from 'node:crypto'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { describe, expect, it } from 'vitest'
import type { Limit, LimitTarget, Store } from '../../src/store.ts'
import { aJob, Bench, claiming, complete, type Dialect, MINUTE, someJobs } from './harness.ts'

export function describeQueues(dialect: Dialect): void {
  const claim = async (store: Store, limit = 10) => (await store.claim(claiming({ limit }))).jobs
  const topics = async (store: Store, limit?: number) => (await claim(store, limit)).map((job) => job.topic)
  const overview = async (store: Store, queue = 'default') =>
    (await store.queues()).find((row) => row.queue === queue)

  describe('a paused queue', () => {
    const bench = new Bench(dialect)

    it('hands out no jobs until it is resumed', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ topic: 'a' }), aJob({ topic: 'b' })])
      expect(await topics(store, 1)).toEqual(['a'])
      await store.pause('default', 'ada')
      expect(await store.claim(claiming())).toMatchObject({ jobs: [], nextDue: null })
      await store.resume('default', 'ada')
      expect(await topics(store)).toEqual(['b'])
    })

    it('still accepts jobs and lets running ones finish', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(2))
      const [job] = await claim(store, 1)
      await store.pause('default')
      await store.enqueue(someJobs(1))
      if (job) expect(await store.settle([complete(job)])).toEqual({ stale: [], refused: [] })
      expect(await overview(store)).toMatchObject({ waiting: 2, running: 0 })
    })

    it('does not stop other queues', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ topic: 'low', queue: 'low' }), aJob({ topic: 'high', queue: 'high' })])
      await store.pause('high')
      const { jobs } = await store.claim(claiming({ queues: ['high', 'low'] }))
      expect(jobs.map((job) => job.topic)).toEqual(['low'])
    })

    it('shows who paused it and when; a second pause changes nothing', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      expect(await overview(store)).toMatchObject({ paused: null })
      const at = bench.clock.now()
      await store.pause('default', 'ada')
      bench.clock.advance(MINUTE)
      await store.pause('default', 'bob')
      expect(await overview(store)).toMatchObject({ waiting: 1, paused: { at, by: 'ada' } })
      await store.resume('default')
      expect(await overview(store)).toMatchObject({ paused: null })
      await store.pause('default')
      expect(await overview(store)).toMatchObject({ paused: { at: bench.clock.now(), by: null } })
    })

    it('with an end hands out no jobs until then, and says when to claim again', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ topic: 'a' })])
      const at = bench.clock.now()
      const until = new Date(at.getTime() + 30 * MINUTE)
      await store.pause('default', 'ada', 30 * MINUTE)
      expect(await overview(store)).toMatchObject({ paused: { at, by: 'ada', until } })
      expect(await store.claim(claiming())).toMatchObject({ jobs: [], nextDue: until })
      bench.clock.advance(30 * MINUTE)
      expect(await overview(store)).toMatchObject({ paused: null })
      expect(await topics(store)).toEqual(['a'])
    })

    it('that is paused again keeps since when, and takes the new end and its actor', async () => {
      const store = await bench.openWithClock()
      const at = bench.clock.now()
      await store.pause('default', 'ada', 30 * MINUTE)
      await store.pause('default', 'bob', 60 * MINUTE)
      const until = new Date(at.getTime() + 60 * MINUTE)
      expect(await overview(store)).toMatchObject({ paused: { at, by: 'bob', until } })
      await store.pause('default', 'ada')
      expect(await overview(store)).toMatchObject({ paused: { at, by: 'ada', until: null } })
      await store.pause('default', 'bob')
      expect(await overview(store)).toMatchObject({ paused: { at, by: 'ada', until: null } })
      await store.pause('default', 'ada', MINUTE)
      bench.clock.advance(2 * MINUTE)
      await store.pause('default', 'bob')
      expect(await overview(store)).toMatchObject({
        paused: { at: bench.clock.now(), by: 'bob', until: null },
      })
    })

    it.each([0, -1, 1.5, Number.NaN, 31 * 24 * 60 * MINUTE])('is not paused for %d ms', async (forMs) => {
      const store = await bench.openWithClock()
      await expect(store.pause('default', 'ada', forMs)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect(await overview(store)).toBeUndefined()
    })

    it('may be one that has not been used yet', async () => {
      const store = await bench.openWithClock()
      await store.resume('unknown')
      await store.pause('unknown')
      await store.enqueue([aJob({ queue: 'unknown' })])
      expect((await store.claim(claiming({ queues: ['unknown'] }))).jobs).toEqual([])
    })
  })

  describe('ageing', () => {
    const bench = new Bench(dialect)

    async function oldLowAndNewHigh(store: Store) {
      await store.enqueue([aJob({ topic: 'low', priority: 0 })])
      bench.clock.advance(5 * MINUTE)
      await store.enqueue([aJob({ topic: 'middle', priority: 3 }), aJob({ topic: 'high', priority: 9 })])
    }

    it('serves a job of low priority before newer ones of higher priority once it has waited long enough', async () => {
      const { store, control } = await bench.openBoth()
      await control.queues.configure('default', { ageingMs: MINUTE })
      await oldLowAndNewHigh(store)
      expect(await topics(store, 1)).toEqual(['high'])
      expect(await topics(store, 1)).toEqual(['low'])
      expect(await topics(store, 1)).toEqual(['middle'])
    })

    it('is off by default, and turned off by null', async () => {
      const { store, control } = await bench.openBoth()
      await control.queues.configure('default', { ageingMs: 1 })
      expect(await overview(store)).toMatchObject({ ageingMs: 1 })
      await control.queues.configure('default', {})
      expect(await overview(store)).toMatchObject({ ageingMs: 1 })
      await control.queues.configure('default', { ageingMs: null })
      await oldLowAndNewHigh(store)
      expect(await overview(store)).toMatchObject({ ageingMs: null })
      expect(await topics(store)).toEqual(['high', 'middle', 'low'])
    })

    it('never serves a job that is not due', async () => {
      const { store, control } = await bench.openBoth()
      await control.queues.configure('default', { ageingMs: 1 })
      await store.enqueue([aJob({ delay: MINUTE, priority: 9 }), aJob({ topic: 'ready', priority: -9 })])
      expect(await topics(store)).toEqual(['ready'])
    })
  })

  describe('a changed limit', () => {
    const bench = new Bench(dialect)
    const queue = { queue: 'default' }
    const key = { concurrencyKey: 'tenant-1' }

    it('counts jobs that already run', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(5))
      const running = await claim(store, 2)
      await store.limit(queue, { maxRunning: 3 })
      expect(await claim(store)).toHaveLength(1)
      expect(await claim(store)).toEqual([])
      await store.settle(running.map((job) => complete(job)))
      expect(await claim(store)).toHaveLength(2)
    })

    it('takes effect at once: more, fewer, none, and no limit', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(20))
      await store.limit(queue, { maxRunning: 1 })
      const running = await claim(store)
      expect(running).toHaveLength(1)
      await store.limit(queue, { maxRunning: 4 })
      running.push(...(await claim(store)))
      expect(running).toHaveLength(4)
      await store.limit(queue, { maxRunning: 2 })
      await store.settle(running.splice(0, 2).map((job) => complete(job)))
      expect(await claim(store)).toEqual([])
      await store.settle(running.splice(0, 1).map((job) => complete(job)))
      expect(await claim(store)).toHaveLength(1)
      await store.limit(queue, { maxRunning: 0 })
      expect(await claim(store)).toEqual([])
      await store.limit(queue, null)
      expect(await claim(store, 20)).toHaveLength(15)
    })

    it('counts anew after it was removed', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(9))
      await store.limit(queue, { maxRunning: 2 })
      await claim(store)
      await store.limit(queue, null)
      await claim(store, 3)
      await store.limit(queue, { maxRunning: 6 })
      expect(await claim(store)).toHaveLength(1)
    })

    it('is exact even when claims are in progress', async () => {
      const store = await bench.open({ poolSize: 20 })
      const other = await bench.open()
      await store.enqueue(someJobs(200))
      const claims = Array.from({ length: 60 }, () => claim(store, 1))
      await other.limit(queue, { maxRunning: 5 })
      const running = (await Promise.all(claims)).flat()
      running.push(...(await claim(store)))
      expect(running.length).toBeGreaterThanOrEqual(5)
      await store.settle(running.splice(4).map((job) => complete(job)))
      await expect.poll(async () => (await claim(store, 50)).length, { timeout: 2_000 }).toBe(1)
      expect(await claim(store, 50)).toEqual([])
    })

    it('starts throttled jobs of a full key at once, in their order', async () => {
      const store = await bench.openWithClock()
      const keyed = (topic: string, priority = 0) => aJob({ topic, priority, concurrencyKey: 'tenant-1' })
      await store.enqueue([keyed('1st', 1), keyed('2nd'), keyed('3rd'), keyed('4th', -1)])
      expect(await topics(store)).toEqual(['1st'])
      expect(await topics(store)).toEqual([])
      await store.limit(key, { maxRunning: 3 })
      expect(await topics(store)).toEqual(['2nd', '3rd'])
      await store.limit(key, null)
      expect(await topics(store)).toEqual([])
      await store.limit(key, { maxRunning: 1_000_000 })
      expect(await topics(store)).toEqual(['4th'])
    })

    it('stops a key with 0; without it, the limit of the jobs applies again', async () => {
      const store = await bench.openWithClock()
      await store.limit(key, { maxRunning: 0 })
      await store.enqueue(someJobs(5, { concurrencyKey: 'tenant-1', concurrencyLimit: 2 }))
      await store.enqueue([aJob({ topic: 'other', concurrencyKey: 'tenant-2' })])
      expect(await topics(store)).toEqual(['other'])
      await store.limit(key, null)
      expect(await claim(store)).toHaveLength(2)
      expect(await claim(store)).toEqual([])
    })

    it.each<[string, LimitTarget]>([
      ['a queue', queue],
      ['a key', key],
    ])('lets at most that many of %s start within any interval', async (_, target) => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(9, { concurrencyKey: 'tenant-1', concurrencyLimit: 9 }))
      await store.limit(target, { rate: { count: 2, intervalMs: 1_000 } })
      expect(await claim(store, 1)).toHaveLength(1)
      bench.clock.advance(600)
      expect(await claim(store)).toHaveLength(1)
      bench.clock.advance(300)
      expect(await claim(store)).toHaveLength(0)
      bench.clock.advance(100)
      // Every worker does so in its poll: of the starts before the first that had to wait, none has a successor.
      await store.rescue()
      expect(await claim(store)).toHaveLength(1)
      await store.limit(target, { rate: { count: 4, intervalMs: 1_000 } })
      expect(await claim(store)).toHaveLength(2)
      await store.limit(target, null)
      expect(await claim(store)).toHaveLength(4)
    })

    it('replaces the previous one as a whole, and is shown', async () => {
      const store = await bench.openWithClock()
      const rate = { count: 5, intervalMs: MINUTE }
      await store.limit(queue, { maxRunning: 3 })
      await store.enqueue([aJob()])
      expect(await overview(store)).toMatchObject({ limit: { maxRunning: 3 } })
      await store.limit(queue, { rate })
      expect(await overview(store)).toMatchObject({ limit: { rate } })
      expect((await overview(store))?.limit?.maxRunning ?? null).toBeNull()
      await store.limit(queue, {})
      expect(await overview(store)).toMatchObject({ limit: null })
    })
  })

  describe('invalid settings are refused', () => {
    const bench = new Bench(dialect)

    it.each<Limit>([
      { maxRunning: -1 },
      { maxRunning: 1.5 },
      { maxRunning: 1_000_001 },
      { rate: { count: 0, intervalMs: 1_000 } },
      { rate: { count: 10_001, intervalMs: 1_000 } },
      { rate: { count: 1, intervalMs: 0 } },
      { rate: { count: 1, intervalMs: 86_400_001 } },
      { rate: { count: 5 } } as Limit,
      { rate: 5 } as unknown as Limit,
      { max: 3 } as Limit,
    ])('a limit of %j', async (limit) => {
      const store = await bench.open()
      for (const target of [{ queue: 'default' }, { concurrencyKey: 'k' }]) {
        await expect(store.limit(target, limit)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      }
    })

    it.each([0, -1, 1.5, Number.NaN, 2 ** 31])('an ageing of %s ms', async (ageingMs) => {
      const control = await bench.openControl()
      await expect(control.queues.configure('default', { ageingMs })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      })
    })

    it('a queue or key with an invalid name', async () => {
      const store = await bench.open()
      const control = await bench.openControl(store)
      const refused = { code: 'INVALID_QUEUE' }
      await expect(store.pause('no spaces')).rejects.toMatchObject(refused)
      await expect(store.resume('')).rejects.toMatchObject(refused)
      await expect(control.queues.configure('a:b', {})).rejects.toMatchObject(refused)
      await expect(store.limit({ queue: 'q'.repeat(129) }, null)).rejects.toMatchObject(refused)
      for (const concurrencyKey of ['', 'k'.repeat(256)]) {
        await expect(store.limit({ concurrencyKey }, null)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      }
      const both = { queue: 'default', concurrencyKey: 'k' }
      await expect(store.limit(both, null)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      const nul = { concurrencyKey: 'a\0b' }
      await expect(store.limit(nul, { maxRunning: 1 })).rejects.toMatchObject({ code: 'INVALID_TEXT' })
    })
  })

  describe('announced topics', () => {
    const bench = new Bench(dialect)

    it('are kept until they are announced anew', async () => {
      const store = await bench.openWithClock()
      const digest = {
        topic: 'mail_digest',
        input: { type: 'object' },
        output: true,
        policy: { queue: 'high' },
      }
      const payment = { topic: 'app:check_payment', input: {}, output: null, policy: {} }
      const announced = bench.clock.now()
      await store.announce([digest, payment])
      const later = bench.clock.advance(MINUTE)
      await store.announce([{ ...digest, policy: { queue: 'low' } }])
      await store.announce([])
      expect(await store.topics()).toEqual([
        { ...payment, announced },
        { ...digest, policy: { queue: 'low' }, announced: later },
      ])
    })

    /** A worker of a service that has this schema of the topic `report`. */
    const serve = async (store: Store, service: string, input: unknown, host = 'web-1') => {
      const worker = randomUUID()
      await store.announce([{ topic: 'report', input, output: {}, policy: {} }], { worker, service })
      const info = { host, pid: 1, queues: ['default'], concurrency: 1, version: '0' }
      const presence = await store.attend({ id: worker, ...info })
      return { worker: { id: worker, host, pid: 1 }, leave: () => presence.leave() }
    }

    it('clash when live workers have different schemas of a topic', async () => {
      const store = await bench.open()
      const day = { type: 'object', properties: { day: { type: 'string' } } }
      const first = await serve(store, 'billing', day)
      const same = await serve(store, 'mailing', { properties: { day: { type: 'string' } }, type: 'object' })
      expect(await store.topicClashes()).toEqual([])
      const other = await serve(store, 'reports', { type: 'object' })
      expect(await store.topicClashes()).toEqual([
        {
          topic: 'report',
          sides: [
            { services: ['billing', 'mailing'], workers: [first.worker, same.worker] },
            { services: ['reports'], workers: [other.worker] },
          ],
        },
      ])
      await other.leave()
      expect(await store.topicClashes()).toEqual([])
      await first.leave()
      await same.leave()
    })

    it('do not clash with those of a worker that has been silent for a while', async () => {
      const store = await bench.openWithClock()
      const gone = await serve(store, 'billing', { type: 'object' })
      bench.clock.advance(MINUTE)
      const here = await serve(store, 'reports', { type: 'string' })
      expect(await store.topicClashes()).toEqual([])
      await gone.leave()
      await here.leave()
    })

    it('may come from many workers at once', async () => {
      const stores = await Promise.all([bench.open(), bench.open(), bench.open()])
      const topics = Array.from({ length: 20 }, (_, n) => ({
        topic: `t${n}`,
        input: {},
        output: {},
        policy: {},
      }))
      await Promise.all(stores.map((store, n) => store.announce(n % 2 ? topics : [...topics].reverse())))
      expect(await stores[0]?.topics()).toHaveLength(20)
    })

    it('are refused all together when one of them is not a valid topic', async () => {
      const store = await bench.open()
      const plain = { input: {}, output: {}, policy: {} }
      const topics = [
        { topic: 'good', ...plain },
        { topic: 'not good', ...plain },
      ]
      await expect(store.announce(topics)).rejects.toMatchObject({ code: 'INVALID_TOPIC' })
      expect(await store.topics()).toEqual([])
    })

    it("are refused for Oncue's own queue, which no enqueue may name", async () => {
      const store = await bench.open()
      const plain = { input: {}, output: {} }
      const topics = [
        { topic: 'good', ...plain, policy: { queue: 'mail' } },
        { topic: 'digest', ...plain, policy: { queue: INTERNAL_QUEUE } },
      ]
      await expect(store.announce(topics)).rejects.toMatchObject({
        code: 'INVALID_QUEUE',
        message: expect.stringContaining('queue of digest: "oncue" is reserved'),
      })
      expect(await store.topics()).toEqual([])
    })
  })
}
