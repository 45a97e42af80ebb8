import { crashVerdict } from '@oncue/core/internal'
import { jobErrorSchema } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import type { RunRef, Settlement } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  LEASE,
  MINUTE,
  OTHER_WORKER,
  read,
  someJobs,
  WORKER,
} from './harness.ts'

export function describeLease(dialect: Dialect): void {
  describe('lease', () => {
    const bench = new Bench(dialect)
    const beat = (runs: { id: string; run: number; started?: boolean }[]) => ({
      worker: WORKER,
      leaseMs: LEASE,
      runs,
    })

    it('a heartbeat extends it for all runs at once', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      for (let i = 0; i < 5; i++) {
        bench.clock.advance(LEASE - 1)
        expect(await store.heartbeat(beat(jobs))).toEqual({ lost: [], cancelled: [] })
      }
      expect((await store.claim(claiming({ worker: OTHER_WORKER }))).jobs).toEqual([])
    })

    it('a heartbeat moves the run from the head of the ready index to the time when its lease ends', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      bench.clock.advance(1_000)
      await store.heartbeat(beat([job]))
      const { lockedUntil, visibleAt } = await read(store, job.id)
      expect(lockedUntil).toEqual(new Date(bench.clock.now().getTime() + LEASE))
      expect(visibleAt).toEqual(lockedUntil)
      expect((await store.claim(claiming())).nextDue).toEqual(lockedUntil)
    })

    it('a heartbeat reports the runs that are lost, and only those', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      const [kept, taken, settled] = jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]]
      await store.settle([complete(settled)])
      await store.settle([{ ...taken, kind: 'release' }])
      await claimOne(store, { worker: OTHER_WORKER })
      const { lost } = await store.heartbeat(beat([kept, taken, settled]))
      expect(lost).toHaveLength(2)
      expect(lost).toEqual(expect.arrayContaining([taken, settled].map(({ id, run }) => ({ id, run }))))
    })

    it('a heartbeat marks a prefetched run as started when it has started', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store, { start: 0 })
      await store.heartbeat(beat([{ ...job, started: false }]))
      expect((await read(store, job.id)).startedAt).toBeNull()
      await store.heartbeat(beat([{ ...job, started: true }]))
      expect((await read(store, job.id)).startedAt).toEqual(bench.clock.now())
    })

    it('heartbeats and settles of the same runs, in any order, never deadlock', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(400))
      const { jobs } = await store.claim(claiming({ limit: 400 }))
      const rounds = Array.from({ length: 20 }, (_, n) => jobs.slice(n * 20, n * 20 + 20))
      for (const round of rounds) {
        const [beaten, settled] = await Promise.all([
          store.heartbeat(beat(round.toReversed())),
          store.settle(round.map((job) => complete(job))),
        ])
        expect(settled).toEqual({ stale: [], refused: [] })
        expect(beaten.lost.length).toBeLessThanOrEqual(round.length)
      }
      expect(await store.stats()).toMatchObject({ completed: 400, processing: 0 })
    })

    it('when it ends, another worker takes the job, and the old run is refused', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const old = await claimOne(store)
      bench.clock.advance(LEASE)
      expect((await store.claim(claiming({ worker: OTHER_WORKER }))).jobs).toEqual([])
      bench.clock.advance(1)
      const taken = await claimOne(store, { worker: OTHER_WORKER })
      expect(taken).toMatchObject({ id: old.id, run: 2, crashes: 1, retries: 0 })
      expect(await store.settle([complete(old, '"late"')])).toMatchObject({ stale: [{ id: old.id, run: 1 }] })
      expect(await store.heartbeat(beat([old]))).toEqual({ lost: [{ id: old.id, run: 1 }], cancelled: [] })
      expect(await store.settle([complete(taken, '"right"')])).toMatchObject({ stale: [] })
      expect(await read(store, old.id)).toMatchObject({ result: 'right', run: 2 })
    })

    it('a run number that was issued twice, as after a lost commit, is valid only for its own worker', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(2))
      const { jobs } = await store.claim(claiming())
      const [run, failing] = jobs.map(({ id, run }) => ({ id, run })) as [RunRef, RunRef]
      const both = [complete(run, '"other"'), { ...failing, kind: 'fail', error: anError } as const]
      const isStale = { stale: expect.arrayContaining([run, failing]), refused: [] }
      expect(await store.settle(both, OTHER_WORKER)).toEqual(isStale)
      expect(await store.settleAndClaim(both, claiming({ worker: OTHER_WORKER }))).toMatchObject(isStale)
      const others: readonly Settlement[] = [
        { ...failing, kind: 'retry', delayMs: 0, error: anError },
        { ...failing, kind: 'snooze', delayMs: 0 },
        { ...failing, kind: 'release' },
        { ...failing, kind: 'cancel' },
      ]
      for (const end of others)
        expect(await store.settle([end], OTHER_WORKER)).toEqual({ stale: [failing], refused: [] })
      expect(await read(store, failing.id)).toMatchObject({ status: 'processing', events: [] })
      expect(await store.heartbeat({ ...beat([run]), worker: OTHER_WORKER })).toEqual({
        lost: [run],
        cancelled: [],
      })
      const update = { ...run, progress: '"other"', events: [{ type: 'other' }] }
      expect(await store.recordProgress([update], OTHER_WORKER)).toEqual({ stale: [run] })
      expect(await read(store, run.id)).toMatchObject({ status: 'processing', progress: null, events: [] })
      expect(await store.recordProgress([{ ...run, progress: '"own"' }], WORKER)).toEqual({ stale: [] })
      expect(await store.heartbeat(beat([run]))).toEqual({ lost: [], cancelled: [] })
      const own = [complete(run, '"own"'), { ...failing, kind: 'release' } as const]
      expect(await store.settle(own, WORKER)).toEqual({ stale: [], refused: [] })
      // Sent again, the settle finds its own work done, and does not mistake another worker's for it.
      expect(await store.settle([complete(run, '"own"')], WORKER)).toEqual({ stale: [], refused: [] })
      expect(await store.settle([complete(run)], OTHER_WORKER)).toEqual({ stale: [run], refused: [] })
      expect(await read(store, run.id)).toMatchObject({ status: 'completed', result: 'own', progress: 'own' })
    })

    it('when it ends unnoticed, the run that still owns the job may settle it', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      bench.clock.advance(2 * LEASE)
      expect(await store.settle([complete(job)])).toMatchObject({ stale: [] })
    })

    it('a lost run that had not started is released without using up a retry', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob({ maxRetries: 0 })])
      await claimOne(store, { start: 0 })
      bench.clock.advance(LEASE + 1)
      expect(await claimOne(store, { worker: OTHER_WORKER })).toMatchObject({
        id,
        run: 2,
        crashes: 0,
        retries: 0,
      })
    })

    it('many expired leases at once do not delay other jobs', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(25))
      await store.claim(claiming({ limit: 20 }))
      bench.clock.advance(LEASE + 1)
      expect((await store.claim(claiming({ limit: 25, worker: OTHER_WORKER }))).jobs).toHaveLength(25)
    })

    it.each([0, 1, 2, 3, 4])(
      'a job that kills its worker every time is failed in the end: max_retries %i',
      async (maxRetries) => {
        const store = await bench.openWithClock()
        const [id = ''] = await store.enqueue([aJob({ maxRetries })])
        for (let crashes = 1; ; crashes++) {
          await claimOne(store)
          bench.clock.advance(LEASE + 1)
          const verdict = crashVerdict(crashes, maxRetries)
          const delayed = verdict.action === 'retry' && verdict.delayMs > 0
          // The next rescue finds the expired lease.
          const looked = await store.claim(claiming({ worker: OTHER_WORKER, limit: 1, start: 0 }))
          if (verdict.action === 'fail') {
            expect(await read(store, id)).toMatchObject({ status: 'failed', crashes })
            expect(jobErrorSchema.parse((await read(store, id)).lastError)).toMatchObject({
              class: 'WorkerCrashed',
              code: 'WORKER_CRASHED',
            })
            return
          }
          if (delayed) {
            expect(looked.nextDue?.getTime()).toBe(bench.clock.now().getTime() + verdict.delayMs)
            bench.clock.advance(verdict.delayMs)
          } else {
            expect(looked.jobs).toMatchObject([{ id, crashes }])
            await store.settle([{ ...(looked.jobs[0] ?? { id, run: 0 }), kind: 'release' }])
          }
          expect(crashes).toBeLessThanOrEqual(maxRetries)
        }
      },
    )

    it('held lists what the database counts as the runs of a worker, so that it can release what it does not know', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(4))
      const { jobs } = await store.claim(claiming({ limit: 3 }))
      await store.claim(claiming({ limit: 1, worker: OTHER_WORKER }))
      const [known, ...unknown] = jobs.map(({ id, run }) => ({ id, run }))
      const held = await store.ownedRuns(WORKER)
      expect(held).toHaveLength(3)
      expect(held).toEqual(expect.arrayContaining([known, ...unknown]))
      await store.settle(unknown.map((run) => ({ ...run, kind: 'release' })))
      expect(await store.ownedRuns(WORKER)).toEqual([known])
    })

    it('is counted in milliseconds, up to days', async () => {
      const store = await bench.openWithClock()
      await store.enqueue(someJobs(2))
      const [short, long] = [
        await claimOne(store, { leaseMs: 1 }),
        await claimOne(store, { leaseMs: 7 * 24 * 60 * MINUTE }),
      ]
      const left = async (id: string) =>
        ((await read(store, id)).lockedUntil?.getTime() ?? 0) - bench.clock.now().getTime()
      expect([await left(short.id), await left(long.id)]).toEqual([1, 7 * 24 * 60 * MINUTE])
    })
  })
}
