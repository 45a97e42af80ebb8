import { LIMITS, retryDelayMs } from '@oncue/core'
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

export function describeSettle(dialect: Dialect): void {
  describe('settle', () => {
    const bench = new Bench(dialect)

    it('moves a completed job to history, with its result, run, worker and times', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      const finished = bench.clock.advance(1_234)
      expect(await store.settle([complete(job, '{"sent":3}')])).toEqual({ stale: [], refused: [] })
      expect(await read(store, job.id)).toMatchObject({
        status: 'completed',
        result: { sent: 3 },
        payload: { userId: '123' },
        run: 1,
        lockedBy: WORKER,
        lockedUntil: null,
        finishedAt: finished,
        startedAt: new Date(finished.getTime() - 1_234),
      })
    })

    it.each<[string, (run: RunRef) => Settlement, object]>([
      [
        'complete without a result',
        (run) => ({ ...run, kind: 'complete' }),
        { status: 'completed', result: null },
      ],
      [
        'fail',
        (run) => ({ ...run, kind: 'fail', error: anError }),
        { status: 'failed', retries: 0, lastError: anError },
      ],
      ['cancel', (run) => ({ ...run, kind: 'cancel' }), { status: 'cancelled', lastError: null }],
      [
        'retry: charged, later',
        (run) => ({ ...run, kind: 'retry', delayMs: MINUTE, error: anError }),
        { status: 'pending', retries: 1, lastError: anError, startedAt: null, inMs: MINUTE },
      ],
      [
        'snooze: later, uncharged',
        (run) => ({ ...run, kind: 'snooze', delayMs: 5 }),
        { status: 'pending', retries: 0, inMs: 5 },
      ],
      [
        'release: at once, uncharged',
        (run) => ({ ...run, kind: 'release' }),
        { status: 'pending', retries: 0, inMs: 0 },
      ],
    ])('%s', async (_, settlement, { inMs, ...expected }: { inMs?: number }) => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      expect(await store.settle([settlement({ id, run })])).toEqual({ stale: [], refused: [] })
      const job = await read(store, id)
      expect(job).toMatchObject({ ...expected, run: 1, lockedUntil: null })
      if (inMs !== undefined) expect(job.visibleAt).toEqual(new Date(bench.clock.now().getTime() + inMs))
    })

    it('retries at most max_retries times, then fails the job permanently', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob({ maxRetries: 3 })])
      const waits: number[] = []
      for (let run = 1; run <= 4; run++) {
        const job = await claimOne(store)
        expect(job).toMatchObject({ id, run, retries: run - 1 })
        await store.settle([
          { ...job, kind: 'retry', delayMs: retryDelayMs(job.retry, job.retries + 1), error: anError },
        ])
        const { nextDue } = await store.claim(claiming())
        if (!nextDue) continue
        waits.push((nextDue.getTime() - bench.clock.now().getTime()) / MINUTE)
        bench.clock.advance(nextDue.getTime() - bench.clock.now().getTime())
      }
      expect(waits).toEqual([1, 4, 9])
      expect(await read(store, id)).toMatchObject({
        status: 'failed',
        retries: 3,
        run: 4,
        lastError: anError,
      })
    })

    it('fails at the first error when there are no retries', async () => {
      const store = await bench.open()
      await store.enqueue([aJob({ maxRetries: 0 })])
      const job = await claimOne(store)
      await store.settle([{ ...job, kind: 'retry', delayMs: 0, error: anError }])
      expect(await read(store, job.id)).toMatchObject({ status: 'failed', retries: 0 })
    })

    it('refuses a stale run of every kind, changes nothing, and reports it', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const old = await claimOne(store)
      await store.settle([{ ...old, kind: 'release' }])
      const current = await claimOne(store, { worker: OTHER_WORKER })
      const before = await read(store, old.id)
      const { id, run } = old
      const kinds: Settlement[] = [
        { id, run, kind: 'complete', result: '1' },
        { id, run, kind: 'fail', error: anError },
        { id, run, kind: 'retry', delayMs: 0, error: anError },
        { id, run, kind: 'snooze', delayMs: 0 },
        { id, run, kind: 'release' },
        { id, run, kind: 'cancel' },
      ]
      for (const settlement of kinds) {
        expect(await store.settle([settlement])).toEqual({ stale: [{ id, run }], refused: [] })
      }
      expect(await read(store, id)).toEqual(before)
      expect(await store.settle([complete(current)])).toMatchObject({ stale: [] })
    })

    it.each<[string, 'settle' | 'settleAndClaim']>([
      ['asked to stop', 'settle'],
      ['asked to stop', 'settleAndClaim'],
      ['replaced', 'settle'],
      ['replaced', 'settleAndClaim'],
    ])('reports which runs that were %s would otherwise have been retried, by %s', async (why, how) => {
      const store = await bench.open()
      const keyed = (n: number) =>
        aJob({ maxRetries: n === 1 ? 0 : 3, unique: { key: `key ${n}`, onConflict: 'replace' } })
      const ids = await store.enqueue([0, 1, 2, 3, 4, 5, 6].map(keyed))
      const { jobs } = await store.claim(claiming({ limit: 7 }))
      const runs = ids.map((id) => ({ id, run: 1 })) as [
        RunRef,
        RunRef,
        RunRef,
        RunRef,
        RunRef,
        RunRef,
        RunRef,
      ]
      expect(jobs).toHaveLength(7)
      if (why === 'replaced') await store.enqueue(ids.map((_, n) => keyed(n)))
      else await store.cancel(ids)
      const goOn = runs.slice(0, 4)
      const stale = { ...runs[0], run: 9 }
      const ends: Settlement[] = [
        { ...runs[0], kind: 'retry', delayMs: 0, error: anError },
        { ...runs[1], kind: 'retry', delayMs: 0, error: anError },
        { ...runs[2], kind: 'snooze', delayMs: 0 },
        { ...runs[3], kind: 'release' },
        { ...runs[4], kind: 'fail', error: anError },
        { ...runs[5], kind: 'cancel' },
        complete(runs[6]),
        { ...stale, kind: 'retry', delayMs: 0, error: anError },
      ]
      const settled = await (how === 'settle'
        ? store.settle(ends, WORKER)
        : store.settleAndClaim(ends, claiming()))
      expect(settled).toMatchObject({ stale: [stale], refused: [] })
      expect(settled.cancelled?.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))).toEqual(goOn)
      const ended = await Promise.all(ids.map(async (id) => (await read(store, id)).status))
      expect(ended.slice(0, 4)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled'])
      expect(ended.slice(4)).toEqual(['failed', 'cancelled', 'completed'])
    })

    it('settles the rest of a batch that has stale and unknown runs in it', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming())
      const stranger = { id: aJob().id, run: 1 }
      const [a, b, c] = jobs.map(({ id, run }) => ({ id, run })) as [RunRef, RunRef, RunRef]
      const report = await store.settle([
        complete(a),
        complete({ ...b, run: 9 }),
        complete(stranger),
        { ...c, kind: 'snooze', delayMs: 0 },
      ])
      expect(report.stale).toEqual(expect.arrayContaining([{ ...b, run: 9 }, stranger]))
      expect(report.stale).toHaveLength(2)
      expect(await store.stats()).toMatchObject({ completed: 1, processing: 1, pending: 1 })
    })

    it('settles a run once: a repeated completion is neither applied again nor reported as stale', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      await store.settle([complete(job, '1')])
      const before = await read(store, job.id)
      bench.clock.advance(1_000)
      expect(await store.settle([complete(job, '2'), complete(job, '3')])).toEqual({ stale: [], refused: [] })
      expect(await read(store, job.id)).toEqual(before)
    })

    it('stores results of every size, and leaves payloads where they are', async () => {
      const store = await bench.open()
      const big = 'y'.repeat(LIMITS.payloadBytes - 2)
      await store.enqueue([aJob({ payload: 'x'.repeat(10_000) }), aJob()])
      const { jobs } = await store.claim(claiming())
      await store.settle(jobs.map((job, n) => complete(job, JSON.stringify(n === 0 ? big : 'small'))))
      const [first, second] = await Promise.all(jobs.map((job) => read(store, job.id)))
      expect(first).toMatchObject({ result: big, payload: 'x'.repeat(10_000) })
      expect(second).toMatchObject({ result: 'small' })
    })

    it('fails the one job whose result the database refuses, and settles the rest of the batch', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(40))
      const { jobs } = await store.claim(claiming({ limit: 40 }))
      const poisoned = new Set([3, 17, 39])
      const report = await store.settle(
        jobs.map((job, n) => complete(job, poisoned.has(n) ? '{"half":' : '{}')),
      )
      expect(report.stale).toEqual([])
      expect(report.refused.map(({ id }) => id)).toEqual([...poisoned].map((n) => jobs[n]?.id))
      expect(await store.stats()).toMatchObject({ completed: 37, failed: 3, processing: 0 })
      expect((await read(store, jobs[3]?.id ?? '')).lastError?.message).toMatch(/cannot be stored/)
    })

    it('tells stale from current when one batch has both for the same job', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      await store.settle([{ ...(await claimOne(store)), kind: 'release' }])
      const { id, run } = await claimOne(store)
      const report = await store.settle([
        { id, run: run - 1, kind: 'fail', error: anError },
        { id, run, kind: 'snooze', delayMs: 5 },
      ])
      expect(report.stale).toEqual([{ id, run: run - 1 }])
      expect((await read(store, id)).status).toBe('pending')
    })

    it('does not change a completion that is sent again with another result', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      await store.settle([complete(job, '"first"')])
      await store.settle([complete(job, JSON.stringify('second'.repeat(1_000)))])
      expect((await read(store, job.id)).result).toBe('first')
    })

    it('a finished job that is enqueued again keeps its first record and blocks no other job', async () => {
      const store = await bench.openWithClock()
      const job = aJob({ maxRetries: 0 })
      await store.enqueue([job])
      await store.settle([complete(await claimOne(store), '"first"')])
      await store.enqueue([job])
      expect(await store.settle([complete(await claimOne(store), '"again"')])).toMatchObject({ refused: [] })
      expect(await read(store, job.id)).toMatchObject({ status: 'completed', result: 'first' })
      await store.enqueue([job, aJob({ topic: 'innocent' })])
      await claimOne(store)
      bench.clock.advance(LEASE + 1)
      expect(await claimOne(store)).toMatchObject({ topic: 'innocent' })
    })

    it('an empty batch does nothing', async () => {
      expect(await (await bench.open()).settle([])).toEqual({ stale: [], refused: [] })
    })
  })

  describe('settle and claim in one round trip', () => {
    const bench = new Bench(dialect)

    it('settles first, so that a released job can be claimed by the same call', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(3))
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      const [a, b] = jobs.map(({ id, run }) => ({ id, run })) as [RunRef, RunRef]
      const next = await store.settleAndClaim([complete(a), { ...b, kind: 'release' }], claiming())
      expect(next.stale).toEqual([])
      expect(next.jobs).toHaveLength(2)
      expect(next.jobs).toContainEqual(expect.objectContaining({ id: b.id, run: 2 }))
      expect(await store.stats()).toMatchObject({ completed: 1, processing: 2 })
    })

    it('reports stale runs together with what it claimed', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(2))
      const { id } = await claimOne(store)
      const next = await store.settleAndClaim([complete({ id, run: 7 })], claiming())
      expect(next).toMatchObject({ stale: [{ id, run: 7 }], refused: [], jobs: [{ run: 1 }] })
    })

    it('loses neither the settled nor the refused when one entry cannot be stored', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(4))
      const { jobs } = await store.claim(claiming({ limit: 3 }))
      const next = await store.settleAndClaim(
        jobs.map((job, n) => complete(job, n === 1 ? 'nonsense' : '1')),
        claiming(),
      )
      const { lastError } = await read(store, jobs[1]?.id ?? '')
      expect(lastError).toMatchObject({ class: 'DatabaseRefused' })
      expect(next.refused).toMatchObject([{ id: jobs[1]?.id, error: lastError }])
      expect(await store.stats()).toMatchObject({ completed: 2, failed: 1 })
    })

    it('claims alone when there is nothing to settle', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      expect(await store.settleAndClaim([], claiming())).toMatchObject({ stale: [], jobs: [{ run: 1 }] })
    })
  })

  describe('requeue', () => {
    const bench = new Bench(dialect)

    it.each<[string, (run: RunRef) => Settlement]>([
      ['completed', (run) => ({ ...run, kind: 'complete', result: JSON.stringify('r'.repeat(5_000)) })],
      ['failed', (run) => ({ ...run, kind: 'fail', error: anError })],
      ['cancelled', (run) => ({ ...run, kind: 'cancel' })],
    ])(
      'puts a %s job back with its payload, its attempts anew and its run number kept',
      async (_, settlement) => {
        const store = await bench.openWithClock()
        const payload = 'p'.repeat(5_000)
        await store.enqueue([aJob({ payload, meta: { agent_id: 'a' }, priority: 4 })])
        const { id, run } = await claimOne(store)
        await store.settle([settlement({ id, run })])
        expect(await store.requeue([id])).toEqual({ done: 1, skipped: {} })
        const job = { status: 'pending', retries: 0, crashes: 0, run: 1, payload, priority: 4, result: null }
        expect(await read(store, id)).toMatchObject({
          ...job,
          meta: { agent_id: 'a' },
          visibleAt: bench.clock.now(),
        })
      },
    )

    it("refuses the old run's settle although the attempts were reset", async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ maxRetries: 0 })])
      const { id, run } = await claimOne(store)
      // The run is lost: its lease expires, the next rescue fails the job, and a person requeues it.
      bench.clock.advance(LEASE + 1)
      await store.claim(claiming({ worker: OTHER_WORKER }))
      expect((await read(store, id)).status).toBe('failed')
      await store.requeue([id])
      const again = await claimOne(store, { worker: OTHER_WORKER })
      expect(again).toMatchObject({ id, retries: 0, crashes: 0 })
      expect(again.run).toBeGreaterThan(run)
      expect(await store.settle([complete({ id, run })])).toMatchObject({ stale: [{ id, run }] })
      expect((await read(store, id)).status).toBe('processing')
      expect(await store.settle([complete(again)])).toMatchObject({ stale: [] })
    })

    it('says why it skipped the others', async () => {
      const store = await bench.open()
      const [live = ''] = await store.enqueue([aJob()])
      expect(await store.requeue([live, aJob().id])).toEqual({
        done: 0,
        skipped: { INVALID_STATE: 1, JOB_NOT_FOUND: 1 },
      })
    })
  })
}
