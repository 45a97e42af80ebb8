import { JOB_STATUSES, type PendingKind, stateOf } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { addLetters, bucketOf, emptyHistogram, quantile } from '../../src/portable/stats.ts'
import type { Durations, SeriesPoint, Store } from '../../src/store.ts'
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
import { type Ended, Life, QUEUES, TOPICS } from './life.ts'
import { Random } from './random.ts'

type QueueAndTopic = { readonly queue?: string; readonly topic?: string }

export function describeStats(dialect: Dialect): void {
  describe('statistics', () => {
    const bench = new Bench(dialect)

    it('count every state', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(7))
      const { jobs } = await store.claim(claiming({ limit: 5 }))
      const [a, b, c] = jobs
      if (!a || !b || !c) return expect.unreachable()
      bench.clock.advance(300)
      await store.settle([complete(a), { ...b, kind: 'fail', error: anError }, { ...c, kind: 'cancel' }])
      expect(await store.stats()).toEqual({
        blocked: 0,
        suspended: 0,
        pending: 2,
        waiting: 2,
        scheduled: 0,
        retrying: 0,
        processing: 2,
        completed: 1,
        failed: 1,
        cancelled: 1,
        successRate: 0.5,
        averageRunMs: 300,
      })
    })

    it('of an empty store are zero, with a success rate of 100%', async () => {
      const store = await bench.open()
      expect(await store.stats()).toMatchObject({ completed: 0, failed: 0, successRate: 1, averageRunMs: 0 })
      expect(await store.rollUp()).toBe(0)
      expect(await store.series({ from: new Date(0), to: new Date() })).toEqual([])
    })

    it.each([1, 2, 3])(
      'equal a count from scratch after everything that can happen to jobs (random %i)',
      async (seed) => {
        const store = await bench.openWithClock()
        const start = bench.clock.now()
        const life = new Life(store, bench.clock, new Random(seed))
        for (let round = 0; round < 12; round++) {
          for (let i = 0; i < 12; i++) await life.step()
          for (const filter of combinations()) {
            const { items } = await store.list({ ...filter, status: 'pending' }, { limit: 1_000 })
            const kinds = items.map((job) => stateOf(job, bench.clock.now()))
            expect(await store.stats(filter)).toEqual({
              ...countFromScratch(life, filter),
              waiting: kinds.filter((kind) => kind === 'waiting').length,
              scheduled: kinds.filter((kind) => kind === 'scheduled').length,
              retrying: kinds.filter((kind) => kind === 'retrying').length,
            })
            const range = { from: start, to: new Date(bench.clock.now().getTime() + 1) }
            expect(await store.series({ ...filter, ...range })).toEqual(seriesFromScratch(life, filter))
          }
        }
      },
    )

    it('count failed runs of jobs that still have retries', async () => {
      const store = await bench.openWithClock()
      const start = bench.clock.now()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      await store.settle(jobs.map((job) => ({ ...job, kind: 'retry', delayMs: 1_000, error: anError })))
      const range = { from: start, to: new Date(start.getTime() + MINUTE) }
      const told = { completed: 0, failed: 0, cancelled: 0, retried: 3 }
      for (let look = 0; look < 2; look++) {
        expect(await store.series(range)).toMatchObject([told])
        expect(await store.activity(range)).toMatchObject([{ queue: 'default', minute: start, ...told }])
        expect(await store.stats()).toMatchObject({ pending: 3, failed: 0, successRate: 1 })
        await store.rollUp()
      }
    })

    it('are the same before and after a roll-up, which takes each row once', async () => {
      const store = await bench.openWithClock()
      const other = await bench.openWithClock()
      for (let i = 0; i < 6; i++) {
        await store.enqueue([aJob({ queue: i % 2 ? 'high' : 'default' })])
        await store.settle([complete(await claimOne(store, { queues: QUEUES }))])
        bench.clock.advance(MINUTE / 2)
      }
      const look = async () => [
        await store.stats(),
        await store.series({ from: new Date(0), to: bench.clock.now() }),
      ]
      const before = await look()
      const taken = await Promise.all([store.rollUp(), other.rollUp(), store.rollUp()])
      expect(taken.reduce((sum, count) => sum + count)).toBe(6)
      expect(await look()).toEqual(before)
      expect(await store.rollUp()).toBe(0)
    })

    it('per minute are kept for 90 days, totals for ever', async () => {
      const store = await bench.openWithClock()
      const from = bench.clock.now()
      for (const days of [0, 89, 2]) {
        bench.clock.advance(days * 24 * 60 * MINUTE)
        await store.enqueue([aJob()])
        await store.settle([complete(await claimOne(store))])
        await store.rollUp()
      }
      const series = await store.series({ from, to: new Date(bench.clock.now().getTime() + 1) })
      expect(series.map((point) => point.completed)).toEqual([1, 1])
      expect((await store.stats()).completed).toBe(3)
    })

    it('per minute do not change when their jobs are requeued, deleted or pruned', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      const [a, b, c] = jobs
      if (!a || !b || !c) return expect.unreachable()
      await store.settle([complete(a), complete(b), { ...c, kind: 'fail', error: anError }])
      const look = () => store.series({ from: new Date(0), to: new Date(bench.clock.now().getTime() + 1) })
      const before = await look()
      await store.rollUp()
      await store.requeue([a.id])
      await store.delete([c.id])
      await store.prune({ status: 'completed', finishedBefore: bench.clock.advance(MINUTE) })
      expect(await look()).toEqual(before)
      await store.rollUp()
      expect(await look()).toEqual(before)
      expect(await store.stats()).toMatchObject({ pending: 1, completed: 0, failed: 0 })
    })

    it('include percentiles of waiting and running times, interpolated within their bucket', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(100))
      bench.clock.advance(7_000)
      const { jobs } = await store.claim(claiming({ limit: 100 }))
      const start = bench.clock.now()
      for (const [i, job] of jobs.entries()) {
        bench.clock.advance(10)
        await store.settle([complete(job)])
        if (i === 49) await store.rollUp()
      }
      const [point, ...others] = await store.series({ from: new Date(0), to: bench.clock.advance(1) })
      expect(others).toEqual([])
      expect(point).toMatchObject({ completed: 100, failed: 0, cancelled: 0 })
      expect(point?.minute.getTime()).toBe(Math.floor(start.getTime() / MINUTE) * MINUTE)
      // Exactly 500, 950 and 990; all waited 7,000, which is in the bucket from 5,792 to 8,191.
      expect(point?.run).toMatchObject({ p50: 499, p95: 962, p99: 1_010 })
      expect(point?.wait).toMatchObject({ p50: 6_888, p95: 8_050, p99: 8_163 })
    })

    it('of several minutes are summed up to a step, and so are the buckets of the percentiles', async () => {
      const store = await bench.openWithClock()
      const start = bench.clock.now()
      // 10 ms in the first minute of each step, and 1 s in the others.
      for (let minute = 0; minute < 10; minute++) {
        await store.enqueue([aJob()])
        const job = await claimOne(store)
        bench.clock.advance(minute % 5 ? 1_000 : 10)
        await store.settle([minute === 7 ? { ...job, kind: 'fail', error: anError } : complete(job)])
        if (minute === 3) await store.rollUp()
        bench.clock.advance(start.getTime() + (minute + 1) * MINUTE - bench.clock.now().getTime())
      }
      const range = { from: new Date(start.getTime() + MINUTE), to: bench.clock.now() }
      const points = await store.series({ ...range, stepMinutes: 5 })
      expect(points).toMatchObject([
        // It starts with the step, and covers the range that was asked for.
        { minute: start, completed: 4, failed: 0 },
        { minute: new Date(start.getTime() + 5 * MINUTE), completed: 4, failed: 1 },
      ])
      const minutes = await store.series(range)
      expect(minutes).toHaveLength(9)
      const durations = (kind: 'wait' | 'run', first: number) =>
        minutes
          .slice(first, first + 5)
          .reduce((sum, point) => plus(sum, point[kind].counts), emptyHistogram())
      expect(points[1]?.run.counts).toEqual(durations('run', 4))
      expect(points[1]?.wait.counts).toEqual(durations('wait', 4))
      expect(points[1]?.run.p50).toBe(824)
      for (const stepMinutes of [0, 1.5, 1_441])
        await expect(store.series({ ...range, stepMinutes })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('show how many jobs of each queue ended, minute by minute', async () => {
      const store = await bench.openWithClock()
      const start = bench.clock.now()
      const ids: string[] = []
      const end = async (queue: string, ...kinds: ('complete' | 'fail' | 'cancel')[]) => {
        for (const [n, kind] of kinds.entries()) {
          await store.enqueue([aJob({ queue, topic: `t${n}` })])
          const { id, run } = await claimOne(store, { queues: [queue] })
          ids.push(id)
          await store.settle([kind === 'fail' ? { id, run, kind, error: anError } : { id, run, kind }])
        }
      }
      await end('mail', 'complete', 'fail')
      await end('media', 'cancel')
      await store.rollUp()
      await end('mail', 'complete', 'complete')
      bench.clock.advance(2 * MINUTE)
      await end('mail', 'fail')
      const later = new Date(start.getTime() + 2 * MINUTE)
      const points = [
        { queue: 'mail', minute: start, completed: 3, failed: 1, cancelled: 0, retried: 0 },
        { queue: 'mail', minute: later, completed: 0, failed: 1, cancelled: 0, retried: 0 },
        { queue: 'media', minute: start, completed: 0, failed: 0, cancelled: 1, retried: 0 },
      ]
      expect(await store.activity({ from: start, to: bench.clock.advance(1) })).toEqual(points)
      expect(await store.activity({ from: later, to: bench.clock.now() })).toEqual([points[1]])
      expect(await store.activity({ from: start, to: later })).toEqual([points[0], points[2]])
      // Requeued and removed jobs still count.
      await store.requeue(ids)
      await store.rollUp()
      expect(await store.activity({ from: start, to: bench.clock.now() })).toEqual(points)
    })

    it('show how busy the connections are, where there are any', async () => {
      const store = await bench.open()
      await store.now()
      expect(store.pool()).toEqual(
        store.capabilities.connections
          ? { total: expect.any(Number), idle: expect.any(Number), waiting: 0 }
          : null,
      )
    })

    it('leave out empty minutes, and leave jobs that never ran out of the percentiles', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob()])
      await store.cancel([id])
      bench.clock.advance(5 * MINUTE)
      await store.enqueue([aJob()])
      await store.settle([complete(await claimOne(store))])
      const range = { from: new Date(0), to: bench.clock.advance(1) }
      const none = { p50: null, p95: null, p99: null }
      expect(await store.series(range)).toMatchObject([
        { completed: 0, cancelled: 1, wait: none, run: none },
        { completed: 1, cancelled: 0, run: { p50: expect.any(Number) } },
      ])
      expect(await store.series({ ...range, topic: 'nobody' })).toEqual([])
    })
  })
}

function* combinations(): Generator<QueueAndTopic> {
  yield {}
  yield { queue: QUEUES[0] }
  yield { topic: TOPICS[1] }
  yield { queue: QUEUES[1], topic: TOPICS[2] }
}

const isIn =
  ({ queue, topic }: QueueAndTopic) =>
  (job: { readonly queue: string; readonly topic: string }) =>
    (queue === undefined || job.queue === queue) && (topic === undefined || job.topic === topic)

function countFromScratch(
  life: Life,
  filter: QueueAndTopic,
): Omit<Awaited<ReturnType<Store['stats']>>, PendingKind> {
  const jobs = [...life.jobs.values()].filter(isIn(filter))
  const count = (wanted: string) => jobs.filter(({ status }) => status === wanted).length
  const counts = Object.fromEntries(JOB_STATUSES.map((status) => [status, count(status)]))
  const runs = life.ended.filter(isIn(filter)).flatMap(({ run }) => run ?? [])
  const completed = count('completed')
  const finished = completed + count('failed')
  return {
    ...(counts as Record<(typeof JOB_STATUSES)[number], number>),
    suspended: 0,
    successRate: finished ? completed / finished : 1,
    averageRunMs: runs.length ? runs.reduce((sum, { runMs }) => sum + runMs, 0) / runs.length : 0,
  }
}

function seriesFromScratch(life: Life, filter: QueueAndTopic): SeriesPoint[] {
  const minuteOf = ({ at }: Ended) => Math.floor(at.getTime() / MINUTE) * MINUTE
  const all = life.ended.filter(isIn(filter))
  return [...new Set(all.map(minuteOf))].map((minute) => {
    const ended = all.filter((job) => minuteOf(job) === minute)
    const count = (wanted: string) => ended.filter(({ status }) => status === wanted).length
    const runs = ended.flatMap(({ run }) => run ?? [])
    return {
      minute: new Date(minute),
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      retried: count('retried'),
      wait: durationsOf(runs.map(({ waitMs }) => waitMs)),
      run: durationsOf(runs.map(({ runMs }) => runMs)),
    }
  })
}

const plus = (sum: number[], counts: readonly number[]) => sum.map((count, n) => count + (counts[n] ?? 0))

function durationsOf(durations: readonly number[]): Durations {
  const counts = emptyHistogram()
  for (const ms of durations) addLetters(counts, bucketOf(ms))
  return { p50: quantile(counts, 0.5), p95: quantile(counts, 0.95), p99: quantile(counts, 0.99), counts }
}
