import { eventually } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import {
  aJob,
  Bench,
  claiming,
  complete,
  type Dialect,
  MINUTE,
  newWorkerId,
  someJobs,
  WORKER,
} from './harness.ts'
import { processesOf } from './processes.ts'

const DAY = 24 * 60 * MINUTE

export function describeWorkers(dialect: Dialect): void {
  describe('workers', () => {
    const bench = new Bench(dialect)
    const { start, tell } = processesOf(dialect)
    const info = { host: 'box', pid: 42, queues: ['default', 'high'], concurrency: 5, version: '1.2.3' }

    it('are listed with how much each runs', async () => {
      const store = await bench.openWithClock()
      const started = bench.clock.now()
      const presence = await store.attend({ id: WORKER, ...info })
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      await store.heartbeat({ worker: WORKER, leaseMs: 1_000, runs: jobs })
      const row = {
        ...{ id: WORKER, ...info, startedAt: started, lastBeat: started },
        ...{ missingSince: null, running: 2, ended: null },
      }
      expect(await store.workers()).toEqual([row])
      await presence.leave()
      expect(await store.workers()).toEqual([])
    })

    it('that stop on purpose are told from the lost, and shown on request', async () => {
      const store = await bench.openWithClock()
      const [first, second] = [newWorkerId(), newWorkerId()]
      const presences = [
        await store.attend({ id: first, ...info }),
        await store.attend({ id: second, ...info }),
      ]
      for (const presence of presences) {
        bench.clock.advance(MINUTE)
        await presence.leave()
      }
      const at = bench.clock.now()
      const stopped = { how: 'stopped', released: 0, failed: 0 }
      expect(await store.workers()).toEqual([])
      expect(await store.workers({ ended: true })).toMatchObject([
        { id: second, ...info, running: 0, ended: { at, ...stopped } },
        { id: first, ...info, ended: { at: new Date(at.getTime() - MINUTE), ...stopped } },
      ])
      expect(await store.worker(first)).toMatchObject({ id: first, runs: [], runsAreComplete: true })

      await store.attend({ id: first, ...info })
      expect((await store.workers({ ended: true })).map(({ id, ended }) => [id, ended?.how])).toEqual([
        [first, undefined],
        [second, 'stopped'],
      ])
      expect(await store.worker(first)).toMatchObject({ id: first, ended: null })
    })

    // Reason for the skip: behind a transaction pooler only the lease tells of a death (capability `sessions`).
    it.skipIf(dialect.pooled)('that are killed leave what they held, and what became of it', async () => {
      const store = await bench.open()
      const [first, once, prefetched] = [aJob(), aJob({ maxRetries: 0 }), aJob({ topic: 'later' })]
      await store.enqueue([first, once, prefetched])
      const worker = newWorkerId()
      const child = await start(bench.url)
      await tell(child, { do: 'hold', worker, limit: 3, start: 2, leaseMs: 60_000 })
      child.kill('SIGKILL')
      await eventually(async () => expect((await store.rescue()).rescued).toHaveLength(1))
      const ended = { how: 'lost', released: 2, failed: 1, at: expect.any(Date) }
      expect(await store.workers({ ended: true })).toMatchObject([{ id: worker, running: 0, ended }])
      const found = await store.worker(worker)
      expect(found).toMatchObject({ id: worker, ended, runsAreComplete: true })
      const held = { queue: 'default', run: 1, startedAt: null }
      expect(found?.runs).toHaveLength(3)
      expect(found?.runs).toEqual(
        expect.arrayContaining([
          { ...held, id: first.id, topic: first.topic, outcome: 'released' },
          { ...held, id: once.id, topic: once.topic, outcome: 'failed' },
          { ...held, id: prefetched.id, topic: 'later', outcome: 'released' },
        ]),
      )
    })

    it('show what runs on them: claimed just now, for longer, and prefetched', async () => {
      const store = await bench.openWithClock()
      const other = newWorkerId()
      await store.attend({ id: WORKER, ...info })
      await store.announce([{ topic: 'mail_digest', input: {}, output: {}, policy: {} }], {
        worker: WORKER,
        service: 'mailer',
      })
      const startedAt = bench.clock.now()
      await store.enqueue([aJob(), aJob({ priority: 7 }), aJob({ queue: 'high' })])
      const long = await store.claim(claiming({ queues: ['default', 'high'], leaseMs: 60_000 }))
      await store.heartbeat({ worker: WORKER, leaseMs: 60_000, runs: long.jobs })
      bench.clock.advance(10_000)
      await store.enqueue(someJobs(10))
      const fresh = await store.claim(claiming({ limit: 2, start: 1, leaseMs: 60_000 }))
      await store.claim(claiming({ limit: 2, worker: other, leaseMs: 60_000 }))
      const found = await store.worker(WORKER)
      expect(found).toMatchObject({
        ...{ id: WORKER, running: 5, ended: null, runsAreComplete: true },
        ...{ service: 'mailer', topics: ['mail_digest'] },
      })
      expect(new Set(found?.runs.map(({ id }) => id))).toEqual(
        new Set([...long.jobs, ...fresh.jobs].map(({ id }) => id)),
      )
      expect(found?.runs.map((run) => run.startedAt)).toEqual([
        ...[startedAt, startedAt, startedAt, bench.clock.now()],
        null,
      ])
      await store.settle([...long.jobs, ...fresh.jobs].map((job) => complete(job)))
      expect((await store.worker(WORKER))?.runs).toEqual([])
      expect(await store.worker(other)).toBeNull()
      expect(await store.worker('x')).toBeNull()
    })

    it('show what runs on them, of however many queues', async () => {
      const store = await bench.openWithClock()
      const queues = Array.from({ length: 600 }, (_, n) => `queue_${n}`)
      await store.attend({ id: WORKER, ...info, queues })
      await store.enqueue([aJob({ queue: 'queue_0' }), aJob({ queue: 'queue_599' })])
      const { jobs } = await store.claim(claiming({ queues: ['queue_0', 'queue_599'], limit: 2 }))
      const found = await store.worker(WORKER)
      expect(found).toMatchObject({ running: 2, runsAreComplete: true })
      expect(new Set(found?.runs.map(({ id }) => id))).toEqual(new Set(jobs.map(({ id }) => id)))
    })

    it('that ended are pruned by age', async () => {
      const store = await bench.openWithClock()
      for (const id of [newWorkerId(), newWorkerId()]) {
        await (await store.attend({ id, ...info })).leave()
        bench.clock.advance(DAY)
      }
      const dayAgo = new Date(bench.clock.now().getTime() - DAY)
      expect(await store.pruneWorkers(dayAgo)).toBe(1)
      expect(await store.workers({ ended: true })).toHaveLength(1)
      expect(await store.pruneWorkers(dayAgo)).toBe(0)
    })
  })
}
