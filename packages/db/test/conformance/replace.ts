import type { EnqueueOptions } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { ClaimedJob, Settlement, Store } from '../../src/store.ts'
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
  read,
} from './harness.ts'

const HOUR = 60 * MINUTE

/** The ways in which a run can end other than by completing. */
const ENDS: Record<string, (run: ClaimedJob) => Settlement> = {
  'a retry': ({ id, run }) => ({ id, run, kind: 'retry', delayMs: 0, error: anError }),
  'a failure': ({ id, run }) => ({ id, run, kind: 'fail', error: anError }),
  'a snooze': ({ id, run }) => ({ id, run, kind: 'snooze', delayMs: 0 }),
  'being given back': ({ id, run }) => ({ id, run, kind: 'release' }),
  'a cancellation': ({ id, run }) => ({ id, run, kind: 'cancel' }),
}

/** Jobs that replace another one with the same unique key. */
export function describeReplace(dialect: Dialect): void {
  describe('replace', () => {
    const bench = new Bench(dialect)
    type Options = EnqueueOptions & { payload?: unknown }
    const replacing = (payload: unknown, { unique, ...rest }: Options = {}) =>
      aJob({ payload, ...rest, unique: { key: 'digest:123', onConflict: 'replace', ...unique } })
    const eventsOf = async (store: Store, id: string) =>
      (await read(store, id)).events.map(({ type, data }) => [type, data])
    const payloads = async (store: Store) => (await store.claim(claiming())).jobs.map((job) => job.payload)

    /** The first job of a key runs, and a second has replaced it. */
    async function replacedWhileRunning(store: Store, options?: Options) {
      const [oldId = ''] = await store.enqueue([replacing('v1')])
      const run = await claimOne(store)
      const [newId = ''] = await store.enqueue([replacing('v2', options)])
      expect(newId).not.toBe(oldId)
      return { run, oldId, newId }
    }

    it('of a waiting job is recorded as an event of that job', async () => {
      const store = await bench.open()
      const [first, second] = await store.enqueueWithOutcomes([
        replacing(1),
        aJob({ idempotencyKey: 'order-456' }),
      ])
      const again = await store.enqueueWithOutcomes([
        replacing(2),
        replacing(3),
        aJob({ unique: { key: 'digest:123' } }),
        aJob({ idempotencyKey: 'order-456' }),
      ])
      expect([first?.kind, second?.kind]).toEqual(['created', 'created'])
      expect(again.map(({ id, kind }) => [id, kind])).toEqual([
        [first?.id, 'replaced'],
        [first?.id, 'replaced'],
        [first?.id, 'existing'],
        [second?.id, 'existing'],
      ])
      expect(await eventsOf(store, first?.id ?? '')).toEqual([
        ['replaced', null],
        ['replaced', null],
      ])
    })

    it('of a job that waits for its retry is new work: cursor and progress are reset, attempts are not', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([replacing('v1')])
      const run = await claimOne(store)
      await store.recordProgress([{ id, run: run.run, progress: '0.5', cursor: '{"page":7}' }])
      await store.settle([{ id, run: run.run, kind: 'retry', delayMs: HOUR, error: anError }])
      expect(await read(store, id)).toMatchObject({ progress: 0.5, cursor: { page: 7 } })
      await store.enqueue([replacing('v2')])
      expect(await read(store, id)).toMatchObject({ progress: null, cursor: null, retries: 1, run: 1 })
      expect(await claimOne(store)).toMatchObject({ id, payload: 'v2', cursor: null, retries: 1 })
    })

    it('of a throttled job keeps the new time', async () => {
      const store = await bench.openWithClock()
      const limited = { concurrencyKey: 'user:1' }
      await store.enqueue([aJob(limited)])
      const [held = ''] = await store.enqueue([replacing('now', limited)])
      const { jobs } = await store.claim(claiming())
      expect(jobs).toHaveLength(1)
      expect((await read(store, held)).visibleAt).toBeNull()
      expect(await store.enqueue([replacing('in an hour', { ...limited, delay: HOUR })])).toEqual([held])
      await store.settle(jobs.map((job) => complete(job)))
      expect((await store.claim(claiming())).jobs).toEqual([])
      bench.clock.advance(HOUR)
      expect(await payloads(store)).toEqual(['in an hour'])
    })

    it('of a throttled job, by one that is due later, gives its turn to the next', async () => {
      const store = await bench.openWithClock()
      const limited = { concurrencyKey: 'user:1' }
      await store.enqueue([aJob({ ...limited, priority: 9 })])
      await store.enqueue([
        replacing('first', { ...limited, priority: 5 }),
        aJob({ ...limited, payload: 'next' }),
      ])
      const { jobs } = await store.claim(claiming())
      expect(jobs).toHaveLength(1)
      await store.enqueue([replacing('in an hour', { ...limited, priority: 5, delay: HOUR })])
      await store.settle(jobs.map((job) => complete(job)))
      expect(await payloads(store)).toEqual(['next'])
    })

    it('of a throttled job that is due stays throttled until there is a slot', async () => {
      const store = await bench.openWithClock()
      const limited = { concurrencyKey: 'user:1' }
      await store.enqueue([aJob(limited)])
      await store.enqueue([replacing('first', limited)])
      const { jobs } = await store.claim(claiming())
      await store.enqueue([replacing('second', limited)])
      expect((await store.claim(claiming())).jobs).toEqual([])
      await store.settle(jobs.map((job) => complete(job)))
      expect(await payloads(store)).toEqual(['second'])
    })

    it('while it runs: the new job starts when that run has completed', async () => {
      const store = await bench.open()
      const { run, oldId, newId } = await replacedWhileRunning(store)
      expect((await store.claim(claiming())).jobs).toEqual([])
      expect(await read(store, newId)).toMatchObject({ status: 'blocked', depsLeft: 1 })
      expect(await eventsOf(store, oldId)).toEqual([['replaced', { jobId: newId }]])
      expect((await store.settle([complete(run)])).stale).toEqual([])
      expect(await read(store, oldId)).toMatchObject({ status: 'completed' })
      expect(await claimOne(store)).toMatchObject({ id: newId, payload: 'v2' })
    })

    it.each(Object.entries(ENDS))(
      'while it runs: %s ends the old job, and the new one starts',
      async (_, end) => {
        const store = await bench.openWithClock()
        const { run, oldId, newId } = await replacedWhileRunning(store)
        const settlement = end(run)
        expect((await store.settle([settlement])).stale).toEqual([])
        const status = settlement.kind === 'fail' ? 'failed' : 'cancelled'
        expect(await read(store, oldId)).toMatchObject({ status, retries: 0 })
        expect(await payloads(store)).toEqual(['v2'])
        expect(await store.enqueue([aJob({ unique: { key: 'digest:123' } })])).toEqual([newId])
      },
    )

    it('while it runs: the new job starts when the lease of the old run expires', async () => {
      const store = await bench.openWithClock()
      const { run, oldId } = await replacedWhileRunning(store)
      bench.clock.advance(LEASE + 1)
      expect(await payloads(store)).toEqual(['v2'])
      expect(await read(store, oldId)).toMatchObject({ status: 'cancelled', crashes: 1 })
      expect((await store.settle([complete(run)])).stale).toHaveLength(1)
    })

    it('while it is prefetched: the new job starts when the old one is released unstarted', async () => {
      const store = await bench.openWithClock()
      const [oldId = ''] = await store.enqueue([replacing('v1')])
      await store.claim(claiming({ start: 0 }))
      await store.enqueue([replacing('v2')])
      bench.clock.advance(LEASE + 1)
      expect(await payloads(store)).toEqual(['v2'])
      expect(await read(store, oldId)).toMatchObject({ status: 'cancelled', crashes: 0 })
    })

    it('while it runs: the new job starts when the old run is cancelled and ends', async () => {
      const store = await bench.open()
      const { run, oldId, newId } = await replacedWhileRunning(store)
      expect(await store.cancel([oldId])).toEqual({ done: 1, skipped: {} })
      await store.settle([{ id: run.id, run: run.run, kind: 'retry', delayMs: 0, error: anError }])
      expect(await claimOne(store)).toMatchObject({ id: newId })
    })

    it('a second time, while the new job waits for the run, replaces the new job', async () => {
      const store = await bench.openWithClock()
      const { run, newId } = await replacedWhileRunning(store)
      expect(await store.enqueue([replacing('v3', { delay: HOUR }), replacing('v4')])).toEqual([newId, newId])
      await store.settle([complete(run)])
      expect(await payloads(store)).toEqual(['v4'])
      expect((await store.stats()).pending).toBe(0)
    })

    it('keeps the time of the new job', async () => {
      const store = await bench.openWithClock()
      const { run } = await replacedWhileRunning(store, { delay: HOUR })
      await store.settle([complete(run)])
      expect((await store.claim(claiming())).jobs).toEqual([])
      bench.clock.advance(HOUR)
      expect(await payloads(store)).toEqual(['v2'])
    })

    it('waits for its parents and for the run', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob({ queue: 'parents' })])
      const { run, newId } = await replacedWhileRunning(store, { after: [parent] })
      expect((await read(store, newId)).depsLeft).toBe(2)
      await store.settle([complete(await claimOne(store, { queues: ['parents'] }))])
      expect(await read(store, newId)).toMatchObject({ status: 'blocked', depsLeft: 1 })
      await store.settle([complete(run)])
      expect(await claimOne(store)).toMatchObject({ id: newId })
    })

    it('may name the run that it replaces as its parent: however that ends, the new job runs', async () => {
      const store = await bench.open()
      const [oldId = ''] = await store.enqueue([replacing('v1')])
      const run = await claimOne(store)
      const [newId = ''] = await store.enqueue([replacing('v2', { after: [oldId] })])
      expect((await read(store, newId)).depsLeft).toBe(1)
      await store.settle([{ id: run.id, run: run.run, kind: 'fail', error: anError }])
      expect(await claimOne(store)).toMatchObject({ id: newId })
    })

    it('counts the run once beside parents that are the same job', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob({ queue: 'parents', unique: { key: 'parent' } })])
      await store.enqueue([replacing('v1')])
      const run = await claimOne(store)
      const twins = [aJob({ unique: { key: 'parent' } }), aJob({ unique: { key: 'parent' } })]
      const after = twins.map((job) => job.id)
      const [, , newId = ''] = await store.enqueue([...twins, replacing('v2', { after })])
      expect((await read(store, newId)).depsLeft).toBe(2)
      await store.settle([complete(await claimOne(store, { queues: ['parents'] }))])
      expect(await read(store, newId)).toMatchObject({ status: 'blocked', depsLeft: 1 })
      expect(await read(store, parent)).toMatchObject({ status: 'completed' })
      await store.settle([complete(run)])
      expect(await claimOne(store)).toMatchObject({ id: newId })
    })

    it('counts the run once when a parent is that run', async () => {
      const store = await bench.open()
      await store.enqueue([replacing('v1')])
      const run = await claimOne(store)
      const parent = aJob({ unique: { key: 'digest:123' } })
      const [, newId = ''] = await store.enqueue([parent, replacing('v2', { after: [parent.id] })])
      expect((await read(store, newId)).depsLeft).toBe(1)
      await store.settle([complete(run)])
      expect(await claimOne(store)).toMatchObject({ id: newId })
    })

    it('with a concurrency key: the slot passes from the old run to the new one', async () => {
      const store = await bench.open()
      const limited = { concurrencyKey: 'user:1' }
      const [, other = ''] = await store.enqueue([replacing('v1', limited), aJob(limited)])
      const run = await claimOne(store)
      const [newId = ''] = await store.enqueue([replacing('v2', limited)])
      expect((await store.claim(claiming())).jobs).toEqual([])
      await store.settle([complete(run)])
      const next = await claimOne(store)
      expect((await store.claim(claiming())).jobs).toEqual([])
      await store.settle([complete(next)])
      expect([next.id, (await claimOne(store)).id].toSorted()).toEqual([other, newId].toSorted())
    })

    it('cancelled while it waits, it gives the key back to the run, which is still not retried', async () => {
      const store = await bench.open()
      const { run, oldId, newId } = await replacedWhileRunning(store)
      expect(await store.cancel([newId])).toEqual({ done: 1, skipped: {} })
      expect(await store.enqueue([aJob({ unique: { key: 'digest:123' } })])).toEqual([oldId])
      const [third = ''] = await store.enqueue([replacing('v3')])
      expect(await read(store, third)).toMatchObject({ status: 'blocked' })
      await store.settle([{ id: run.id, run: run.run, kind: 'retry', delayMs: 0, error: anError }])
      expect(await payloads(store)).toEqual(['v3'])
    })

    it('that ends at once because of its parents leaves the key to the run', async () => {
      const store = await bench.open()
      const [parent = ''] = await store.enqueue([aJob({ queue: 'parents' })])
      const { id, run } = await claimOne(store, { queues: ['parents'] })
      await store.settle([{ id, run, kind: 'fail', error: anError }])
      const [oldId = ''] = await store.enqueue([replacing('v1')])
      const old = await claimOne(store)
      const [ended = ''] = await store.enqueue([
        replacing('v2', { after: [parent], onParentFailure: 'stop' }),
      ])
      expect(await read(store, ended)).toMatchObject({ status: 'failed' })
      expect(await store.enqueue([aJob({ unique: { key: 'digest:123' } })])).toEqual([oldId])
      await store.settle([complete(old)])
      const [next] = await store.enqueue([aJob({ unique: { key: 'digest:123' } })])
      expect([oldId, ended]).not.toContain(next)
    })

    it('the old job cannot be requeued while the new one is live', async () => {
      const store = await bench.open()
      const { run, oldId } = await replacedWhileRunning(store)
      await store.settle([{ id: run.id, run: run.run, kind: 'fail', error: anError }])
      expect(await store.requeue([oldId])).toEqual({ done: 0, skipped: { UNIQUE_KEY_LIVE: 1 } })
      await store.settle([complete(await claimOne(store))])
      expect(await store.requeue([oldId])).toEqual({ done: 1, skipped: {} })
      // It is an ordinary job again, so a failure is retried.
      const again = await claimOne(store)
      await store.settle([{ id: again.id, run: again.run, kind: 'retry', delayMs: 0, error: anError }])
      expect(await claimOne(store)).toMatchObject({ id: oldId, payload: 'v1', retries: 1 })
    })

    it('an idempotency key stands for the new job', async () => {
      const store = await bench.open()
      const { run, newId } = await replacedWhileRunning(store, { idempotencyKey: 'order-456' })
      const repeated = () => store.enqueue([replacing('v3', { idempotencyKey: 'order-456' })])
      expect(await repeated()).toEqual([newId])
      await store.settle([complete(run)])
      expect(await repeated()).toEqual([newId])
      expect(await payloads(store)).toEqual(['v2'])
    })

    it("with ifRunning: 'start' starts it beside the run, which is not retried either", async () => {
      const store = await bench.open()
      const { run, oldId } = await replacedWhileRunning(store, {
        unique: { key: 'digest:123', onConflict: 'replace', ifRunning: 'start' },
      })
      expect(await payloads(store)).toEqual(['v2'])
      await store.settle([{ id: run.id, run: run.run, kind: 'retry', delayMs: 0, error: anError }])
      expect((await store.claim(claiming())).jobs).toEqual([])
      expect(await read(store, oldId)).toMatchObject({ status: 'cancelled' })
    })

    it('at the moment the run is put back: the old payload never runs again', async () => {
      const store = await bench.open()
      for (let round = 0; round < 30; round++) {
        const key = `round-${round}`
        const unique = { key, onConflict: 'replace' as const }
        await store.enqueue([aJob({ payload: 'v1', unique })])
        const { id, run } = await claimOne(store)
        await Promise.all([
          store.settle([{ id, run, kind: 'retry', delayMs: 0, error: anError }]),
          store.enqueue([aJob({ payload: 'v2', unique })]),
        ])
        const next = await claimOne(store)
        expect(next.payload).toBe('v2')
        expect((await store.claim(claiming())).jobs).toEqual([])
        await store.settle([complete(next)])
      }
    })

    it('by many at once, while it runs and ends: one job of the key runs at a time, and the last payload runs last', async () => {
      const store = await bench.open()
      const sent = new Set<number>()
      const ran: unknown[] = []
      let isSending = true
      let running = 0
      const produce = async (from: number) => {
        for (let n = from; n < from + 20; n++) {
          await store.enqueue([replacing(n)])
          sent.add(n)
        }
      }
      const work = async () => {
        for (;;) {
          const wasLast = !isSending
          const { jobs } = await store.claim(claiming())
          if (jobs.length === 0 && wasLast) return
          running += jobs.length
          expect(running).toBeLessThan(2)
          for (const job of jobs) {
            ran.push(job.payload)
            await store.now()
            running -= 1
            const { id, run } = job
            const failed = { id, run, kind: 'retry', delayMs: 0, error: anError } as const
            await store.settle([ran.length % 2 === 0 ? complete(job) : failed])
          }
        }
      }
      const working = Promise.all([work(), work(), work()])
      await Promise.all([produce(0), produce(100)])
      await store.enqueue([replacing('last')])
      isSending = false
      await working
      expect(sent.size).toBe(40)
      expect(ran.at(-1)).toBe('last')
      expect(await store.stats()).toMatchObject({ pending: 0, blocked: 0, processing: 0 })
    })
  })
}
