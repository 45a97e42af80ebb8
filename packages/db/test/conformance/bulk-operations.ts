import { randomUUID } from 'node:crypto'
import { INTERNAL_QUEUE } from '@oncue/core/internal'
import { describe, expect, it } from 'vitest'
import type { Control } from '../../src/control/index.ts'
import { BATCH } from '../../src/portable/actions.ts'
import {
  BULK_OPERATION_LEAD,
  type BulkOperationRow,
  type NewBulkOperation,
} from '../../src/portable/bulk-operations.ts'
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
  OTHER_WORKER,
  read,
  someJobs,
  WORKER,
} from './harness.ts'

const DAY = 24 * 60 * MINUTE
const ada = { id: 't1', name: 'Ada', kind: 'token' }

type Both = { readonly store: Store; readonly control: Control }

export function describeBulkOperations(dialect: Dialect): void {
  describe('bulkOperations', () => {
    const bench = new Bench(dialect)

    async function failSome(store: Store, count: number, options?: Parameters<typeof aJob>[0]) {
      const ids = await store.enqueue(someJobs(count, options))
      const { jobs } = await store.claim(claiming({ limit: count }))
      await store.settle(jobs.map((job) => ({ ...job, kind: 'fail', error: anError })))
      return ids
    }

    const aBulkOperation = (changes: Partial<NewBulkOperation> = {}): NewBulkOperation => ({
      ...{ action: 'requeue', filter: { status: 'failed' }, asOf: bench.clock.now(), spreadMs: 0 },
      ...{ idempotencyKey: randomUUID(), actor: ada, total: 0, totalIsExact: true },
      ...changes,
    })

    /** Advances it as its runner does, until it ends. */
    async function finish({ store, control }: Both, operation: BulkOperationRow): Promise<BulkOperationRow> {
      let last = operation
      while (!last.finishedAt) {
        const next = (await store.bulkOperations.advance(last)) ?? (await control.bulkOperations.get(last.id))
        if (!next) throw new Error('the bulk operation is gone')
        last = next
      }
      return last
    }

    const requeuesOf = async (store: Store, ids: readonly string[]) => {
      const streams = await Promise.all(ids.map((id) => store.events.list(id)))
      return streams.map((events) => events.filter(({ type }) => type === 'requeued').length)
    }

    const audited = async (store: Store) => (await (await bench.openControl(store)).audit.list()).items

    describe('a batch', () => {
      it('is done and counted, one after the other, until the end', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, BATCH + 20)
        await store.enqueue(someJobs(3))
        const begun = await control.bulkOperations.create(aBulkOperation({ total: BATCH + 20 }))
        expect(begun).toMatchObject({ status: 'running', total: BATCH + 20, done: 0, skipped: {}, step: 0 })

        bench.clock.advance(1_000)
        const first = await store.bulkOperations.advance(begun)
        expect(first).toMatchObject({ status: 'running', done: BATCH, step: 1, updated: bench.clock.now() })
        expect(await control.bulkOperations.get(begun.id)).toEqual(first)
        expect(await store.stats()).toMatchObject({ failed: 20, pending: 3 + BATCH })

        const last = first && (await store.bulkOperations.advance(first))
        expect(last).toEqual({
          ...begun,
          ...{ status: 'completed', done: BATCH + 20, step: 2, position: null },
          outcomes: { completed: 0, running: 0, waiting: BATCH + 20, failedAgain: 0, cancelled: 0 },
          ...{ updated: bench.clock.now(), finishedAt: bench.clock.now() },
        })
        expect(await control.bulkOperations.get(begun.id)).toEqual(last)
        expect(await store.stats()).toMatchObject({ failed: 0 })
      })

      it('records who started it with each job, and its end in the audit', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const [id = ''] = await failSome(store, 2)
        const { id: operationId } = await finish(
          { store, control },
          await control.bulkOperations.create(aBulkOperation()),
        )
        expect((await store.events.list(id)).at(-1)).toMatchObject({ type: 'requeued', data: { by: 'Ada' } })
        const target = { id: operationId, action: 'requeue', status: 'completed', skipped: {} }
        expect(await audited(store)).toMatchObject([
          { actor: ada, action: 'bulkOperations.end', target, count: 2 },
        ])
      })

      it('is done once when two processes try at the same time', async () => {
        const [one, two] = await Promise.all([bench.open(), bench.open()])
        const ids = await failSome(one, 60)
        const asOf = await one.now()
        const { bulkOperations } = await bench.openControl(one)
        let seen: BulkOperationRow | null = await bulkOperations.create(aBulkOperation({ asOf }))
        while (seen?.status === 'running') {
          const same: BulkOperationRow = seen
          const both: (BulkOperationRow | null)[] = await Promise.all(
            [one, two].map((store) => store.bulkOperations.advance(same, 10)),
          )
          expect(both.filter((row) => row === null)).toHaveLength(1)
          seen = both.find((row) => row !== null) ?? null
        }
        expect(seen).toMatchObject({ status: 'completed', done: 60, skipped: {} })
        expect(await requeuesOf(one, ids)).toEqual(ids.map(() => 1))
        expect(await audited(one)).toHaveLength(1)
      })

      it('is not done by a process that was paused and comes back with an old state', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 30)
        const old = await control.bulkOperations.create(aBulkOperation())
        const newer = await store.bulkOperations.advance(old, 10)
        expect(await store.bulkOperations.advance(old, 10)).toBeNull()
        expect(await control.bulkOperations.get(old.id)).toEqual(newer)
        expect(await store.stats()).toMatchObject({ failed: 20, pending: 10 })
      })

      it('does not take a job again that comes to match a second time', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const ids = await failSome(store, 4)
        const begun = await control.bulkOperations.create(aBulkOperation())
        const half = await store.bulkOperations.advance(begun, 2)
        // The requeued jobs fail again, and are failed jobs like the others.
        const { jobs } = await store.claim(claiming())
        await store.settle(jobs.map((job) => ({ ...job, kind: 'fail', error: anError })))
        expect(half && (await finish({ store, control }, half))).toMatchObject({ done: 4, skipped: {} })
        expect(await requeuesOf(store, ids)).toEqual([1, 1, 1, 1])
      })
    })

    it('skips what failed after it started', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      await failSome(store, 3)
      const operation = aBulkOperation()
      bench.clock.advance(1)
      const later = await failSome(store, 2)
      expect(await store.bulkOperations.count(operation.filter, operation.asOf)).toEqual({
        total: 3,
        totalIsExact: true,
      })
      expect(await finish({ store, control }, await control.bulkOperations.create(operation))).toMatchObject({
        done: 3,
      })
      expect(await store.stats()).toMatchObject({ pending: 3, failed: 2 })
      expect(await requeuesOf(store, later)).toEqual([0, 0])
    })

    it.each([
      ['cancel', { cancelled: 2, failed: 1 }, { done: 2, skipped: { INVALID_STATE: 1 } }],
      ['delete', { pending: 0, failed: 0 }, { done: 3, skipped: {} }],
    ] as const)('can %s, and says how many it skipped and why', async (action, stats, report) => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      await failSome(store, 1, { topic: 'mail' })
      await store.enqueue(someJobs(2, { topic: 'mail' }))
      const operation = aBulkOperation({ action, filter: { topic: 'mail' } })
      expect(await finish({ store, control }, await control.bulkOperations.create(operation))).toMatchObject(
        report,
      )
      expect(await store.stats()).toMatchObject(stats)
    })

    it.each([
      ['cancel', { status: 'pending' }],
      ['cancel', { fingerprint: anError.fingerprint }],
      ['delete', { status: 'pending' }],
      ['delete', { fingerprint: anError.fingerprint }],
    ] as const)('to %s %j skips what came to match after it started', async (action, filter) => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const retry = async () => {
        const { jobs } = await store.claim(claiming())
        await store.settle(jobs.map((job) => ({ ...job, kind: 'retry', delayMs: MINUTE, error: anError })))
      }
      const requeued = await failSome(store, 1)
      const [seen] = await store.enqueue(someJobs(1))
      await retry()
      const retried = await store.enqueue(someJobs(1))
      const asOf = bench.clock.now()
      bench.clock.advance(1_000)
      await retry()
      await store.requeue(requeued)
      const begun = await control.bulkOperations.create(aBulkOperation({ action, filter, asOf }))
      expect(await finish({ store, control }, begun)).toMatchObject({ done: 1 })
      const left = (await store.list({ status: 'pending' })).items.map(({ id }) => id)
      expect(left.sort()).toEqual([...retried, ...requeued].sort())
      expect(left).not.toContain(seen)
    })

    it.each([
      ['by its error', { fingerprint: anError.fingerprint }],
      ['by its status', { status: 'processing' }],
    ] as const)('to cancel running jobs, %s, asks no run that began after it started', async (_, filter) => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const ids = await store.enqueue(someJobs(2, { retry: { strategy: 'fixed', baseDelay: 0, max: 5 } }))
      const retryAndRun = async () => {
        const { jobs } = await store.claim(claiming({ limit: 1 }))
        await store.settle(jobs.map((job) => ({ ...job, kind: 'retry', delayMs: 0, error: anError })))
        return (await store.claim(claiming({ limit: 1 }))).jobs
      }
      const before = await retryAndRun()
      const asOf = bench.clock.now()
      bench.clock.advance(1_000)
      const after = await retryAndRun()
      bench.clock.advance(1_000)
      const beat = { worker: WORKER, leaseMs: MINUTE, runs: [...before, ...after] }
      await store.heartbeat(beat)
      const begun = await control.bulkOperations.create(aBulkOperation({ action: 'cancel', filter, asOf }))
      expect(await finish({ store, control }, begun)).toMatchObject({ done: 1 })
      const { cancelled } = await store.heartbeat(beat)
      expect(cancelled.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
      expect(ids).toEqual(expect.arrayContaining(after.map(({ id }) => id)))
    })

    it('to cancel running jobs skips those that were waiting when it started', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      await store.enqueue(someJobs(1))
      const asOf = bench.clock.now()
      bench.clock.advance(1_000)
      await store.claim(claiming())
      const filter = { status: 'processing' } as const
      const begun = await control.bulkOperations.create(aBulkOperation({ action: 'cancel', filter, asOf }))
      expect(await finish({ store, control }, begun)).toMatchObject({ done: 0, skipped: {} })
    })

    it("skips Oncue's own jobs, unless it names their queue or topic", async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [own = ''] = await store.enqueue([aJob({ topic: 'oncue:notify', queue: INTERNAL_QUEUE })])
      await store.enqueue(someJobs(2))
      const cancel = async (filter: NewBulkOperation['filter']) =>
        finish(
          { store, control },
          await control.bulkOperations.create(aBulkOperation({ action: 'cancel', filter })),
        )
      const waiting = { status: 'pending' } as const
      expect(await store.bulkOperations.count(waiting, bench.clock.now())).toMatchObject({ total: 2 })
      expect(await cancel(waiting)).toMatchObject({ done: 2 })
      expect(await store.cancel(waiting)).toEqual({ done: 0, skipped: {} })
      expect(await read(store, own)).toMatchObject({ status: 'pending' })
      expect(await cancel({ queue: INTERNAL_QUEUE })).toMatchObject({ done: 1 })
    })

    it('that matches nothing ends at once', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const begun = await control.bulkOperations.create(aBulkOperation())
      expect(await store.bulkOperations.advance(begun)).toMatchObject({ status: 'completed', done: 0 })
    })

    it('finds the total when not all matches were counted at the start', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      await failSome(store, 5)
      const begun = await control.bulkOperations.create(aBulkOperation({ total: 2, totalIsExact: false }))
      const some = await store.bulkOperations.advance(begun, 4)
      expect(some).toMatchObject({ done: 4, total: 4, totalIsExact: false })
      expect(some && (await finish({ store, control }, some))).toMatchObject({
        done: 5,
        total: 5,
        totalIsExact: true,
      })
    })

    it('applies every filter condition, from one batch to the next', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const createdFrom = bench.clock.now()
      bench.clock.advance(1)
      const fit = await store.enqueue(someJobs(5, { meta: { team: 'red', size: 1 }, payload: 'needle' }))
      await store.enqueue(someJobs(5, { meta: { team: 'red', size: 1 }, payload: 'hay' }))
      await store.enqueue(someJobs(5, { meta: { team: 'blue' }, payload: 'needle' }))
      const createdTo = bench.clock.advance(1)
      const filter = { createdFrom, createdTo, meta: { team: 'red', size: 1 }, payloadText: 'needle' }
      let seen: BulkOperationRow | null = await control.bulkOperations.create(
        aBulkOperation({ action: 'cancel', filter }),
      )
      expect(seen.filter).toEqual(filter)
      for (let i = 0; seen?.status === 'running' && i < 10; i++)
        seen = await store.bulkOperations.advance(seen, 2)
      expect(seen).toMatchObject({ status: 'completed', done: 5, skipped: {} })
      for (const id of fit) expect((await read(store, id)).status).toBe('cancelled')
    })

    it('finds a text in few of many payloads', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const createdFrom = bench.clock.now()
      for (let i = 0; i < 5; i++) {
        bench.clock.advance(1)
        await store.enqueue([...someJobs(999, { payload: 'hay' }), aJob({ payload: 'needle' })])
      }
      const filter = { createdFrom, payloadText: 'needle' }
      expect(await store.bulkOperations.count(filter, bench.clock.now())).toEqual({
        total: 5,
        totalIsExact: true,
      })
      const operation = await control.bulkOperations.create(aBulkOperation({ action: 'delete', filter }))
      expect(await finish({ store, control }, operation)).toMatchObject({ done: 5, skipped: {} })
      expect(await store.stats()).toMatchObject({ pending: 4_995 })
    })

    describe('a key', () => {
      it('stands for one bulk operation, however often it is sent', async () => {
        const control = await bench.openControl()
        const operation = aBulkOperation()
        expect(await control.bulkOperations.begun(operation)).toBeNull()
        const [first, second] = await Promise.all([
          control.bulkOperations.create(operation),
          control.bulkOperations.create(operation),
        ])
        expect(first).toEqual(second)
        expect(await control.bulkOperations.begun({ ...operation, filter: { ...operation.filter } })).toEqual(
          first,
        )
        expect((await control.bulkOperations.list()).items).toEqual([first])
      })

      it('of another token is a different key', async () => {
        const control = await bench.openControl()
        const operation = aBulkOperation()
        const { id } = await control.bulkOperations.create(operation)
        const other = await control.bulkOperations.create({ ...operation, actor: { ...ada, id: 't2' } })
        expect(other.id).not.toBe(id)
      })

      it.each([
        ['action', { action: 'delete' }],
        ['filter', { filter: { status: 'failed', topic: 'other' } }],
        ['moment', { asOf: new Date(0) }],
        ['spread', { spreadMs: 1_000 }],
      ] as const)('is refused with another %s', async (_, change) => {
        const control = await bench.openControl()
        const operation = aBulkOperation()
        await control.bulkOperations.create(operation)
        const other = { ...operation, ...change }
        await expect(control.bulkOperations.begun(other)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
        await expect(control.bulkOperations.create(other)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
        expect((await control.bulkOperations.list()).items).toHaveLength(1)
      })
    })

    describe('when it is stopped', () => {
      it('does nothing more, and keeps what it did', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 30)
        const begun = await control.bulkOperations.create(aBulkOperation())
        const some = await store.bulkOperations.advance(begun, 10)
        const now = bench.clock.advance(1_000)
        const stopped = await control.bulkOperations.stop(begun.id, 'Grace')
        expect(stopped).toEqual({
          ...some,
          ...{ status: 'stopped', stoppedBy: 'Grace', updated: now, finishedAt: now },
        })
        expect(some && (await store.bulkOperations.advance(some, 10))).toBeNull()
        expect(await store.stats()).toMatchObject({ failed: 20, pending: 10 })
        expect((await control.bulkOperations.list({ status: 'running' })).items).toEqual([])
        bench.clock.advance(1)
        expect(await control.bulkOperations.stop(begun.id, 'Ada')).toEqual(stopped)
      })

      it('waits for the batch in progress, so that its numbers are final', async () => {
        const store = await bench.open()
        const control = await bench.openControl(store)
        const ids = await failSome(store, 300)
        const begun = await control.bulkOperations.create(aBulkOperation({ asOf: await store.now() }))
        await Promise.all([
          store.bulkOperations.advance(begun, 200),
          control.bulkOperations.stop(begun.id, 'Grace'),
        ])
        const { done, status } = (await control.bulkOperations.get(begun.id)) ?? {}
        expect(status).toBe('stopped')
        const requeued = (await requeuesOf(store, ids)).reduce((sum, count) => sum + count, 0)
        expect(requeued).toBe(done)
      })

      it.each([randomUUID(), 'no id'])('says that there is no bulk operation %s', async (id) => {
        const control = await bench.openControl()
        await expect(control.bulkOperations.stop(id, 'Ada')).rejects.toMatchObject({
          code: 'BULK_OPERATION_NOT_FOUND',
        })
        expect(await control.bulkOperations.get(id)).toBeNull()
      })
    })

    it('that cannot continue says why, and what was done', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      await failSome(store, 5)
      const begun = await control.bulkOperations.create(aBulkOperation())
      const some = await store.bulkOperations.advance(begun, 2)
      const error = { code: 'DATABASE_REFUSED', message: 'no room' }
      expect(await store.bulkOperations.fail(begun, error)).toBeNull()
      expect(some && (await store.bulkOperations.fail(some, error))).toMatchObject({
        ...{ status: 'failed', error, done: 2, finishedAt: bench.clock.now() },
      })
      expect(await audited(store)).toMatchObject([{ target: { status: 'failed', error }, count: 2 }])
    })

    describe('the outcomes of its jobs', () => {
      const NONE = { completed: 0, running: 0, waiting: 0, failedAgain: 0, cancelled: 0 }

      async function follow({ store, control }: Both, id: string): Promise<BulkOperationRow> {
        const seen = await control.bulkOperations.get(id)
        const followed = seen && (await store.bulkOperations.follow(seen))
        if (!followed) throw new Error('the bulk operation has changed')
        expect(await control.bulkOperations.get(id)).toEqual(followed.operation)
        return followed.operation
      }

      const settleOne = async (
        store: Store,
        { kind }: { kind: 'complete' | 'fail' | 'retry' | 'snooze' },
      ) => {
        const { jobs } = await store.claim(claiming({ limit: 1 }))
        const again = { delayMs: MINUTE, error: anError }
        await store.settle(
          jobs.map(({ id, run }) =>
            kind === 'complete' ? { id, run, kind } : { id, run, ...again, kind: kind as 'retry' },
          ),
        )
      }

      it('are counted until all are known', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 7)
        const { id } = await finish({ store, control }, await control.bulkOperations.create(aBulkOperation()))
        const look = () => follow({ store, control }, id)
        expect((await look()).outcomes).toEqual({ ...NONE, waiting: 7 })
        for (const kind of ['complete', 'fail', 'retry', 'snooze'] as const) await settleOne(store, { kind })
        await claimOne(store)
        const [cancelled = '', gone = ''] = (await store.list({ status: 'pending' })).items
          .filter(({ runAt }) => runAt <= bench.clock.now())
          .map((job) => job.id)
        await store.cancel([cancelled])
        await store.delete([gone])
        // The job that snoozed is still open; failed runs count as failures, retried or not.
        expect(await look()).toMatchObject({
          outcomes: { completed: 1, running: 1, waiting: 1, failedAgain: 2, cancelled: 2 },
          isOpen: true,
        })
        bench.clock.advance(10 * MINUTE)
        for (let n = 0; n < 3; n++) await settleOne(store, { kind: 'complete' })
        expect(await look()).toMatchObject({
          outcomes: { completed: 4, running: 0, waiting: 0, failedAgain: 1, cancelled: 2 },
          isOpen: false,
        })
        expect(await control.bulkOperations.open()).toEqual([])
      })

      it('are counted beyond jobs that have not ended, none of which is forgotten', async () => {
        const store = await bench.open()
        const control = await bench.openControl(store)
        await failSome(store, 1)
        const asked = aBulkOperation({ asOf: await store.now() })
        const ended = await finish({ store, control }, await control.bulkOperations.create(asked))
        const begun = await control.bulkOperations.create(aBulkOperation({ asOf: await store.now() }))
        expect(await control.bulkOperations.open()).toEqual([begun.id, ended.id])
      })

      it('of jobs that it runs now include only failures after it started', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await store.enqueue(someJobs(2))
        for (let n = 0; n < 2; n++) await settleOne(store, { kind: 'retry' })
        const asked = aBulkOperation({ action: 'run_now', filter: { fingerprint: anError.fingerprint } })
        const ended = await finish({ store, control }, await control.bulkOperations.create(asked))
        expect(ended).toMatchObject({ done: 2, skipped: {}, outcomes: { ...NONE, waiting: 2 } })
        await settleOne(store, { kind: 'complete' })
        await settleOne(store, { kind: 'retry' })
        expect((await follow({ store, control }, ended.id)).outcomes).toEqual({
          ...NONE,
          ...{ completed: 1, failedAgain: 1 },
        })
      })

      it('are read a thousand jobs at a time, however many there are', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 1_200)
        const ended = await finish({ store, control }, await control.bulkOperations.create(aBulkOperation()))
        const { jobs } = await store.claim(claiming({ limit: 1_200 }))
        await store.settle(jobs.map((job) => complete(job)))
        const first = await store.bulkOperations.follow(ended)
        expect(first?.operation.outcomes).toEqual({ ...NONE, completed: 1_000, waiting: 200 })
        const second = first && (await store.bulkOperations.follow(first.operation, first.next))
        expect(second).toMatchObject({ operation: { outcomes: { ...NONE, completed: 1_200 } }, next: null })
        expect((await follow({ store, control }, ended.id)).isOpen).toBe(false)
      })

      it('are counted once when two processes look at the same time', async () => {
        const [one, two] = await Promise.all([bench.open(), bench.open()])
        const control = await bench.openControl(one)
        await failSome(one, 3)
        const asked = aBulkOperation({ asOf: await one.now() })
        const ended = await finish({ store: one, control }, await control.bulkOperations.create(asked))
        await settleOne(one, { kind: 'complete' })
        await Promise.all([one, two].map((store) => store.bulkOperations.follow(ended)))
        expect((await follow({ store: one, control }, ended.id)).outcomes).toEqual({
          ...NONE,
          ...{ completed: 1, waiting: 2 },
        })
      })

      it('are no longer followed a day after its end', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 1)
        const { id } = await finish({ store, control }, await control.bulkOperations.create(aBulkOperation()))
        expect((await follow({ store, control }, id)).isOpen).toBe(true)
        bench.clock.advance(DAY + 1)
        expect(await follow({ store, control }, id)).toMatchObject({
          isOpen: false,
          outcomes: { waiting: 1 },
        })
      })

      it.each(['cancel', 'delete'] as const)('are not counted for a %s', async (action) => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await store.enqueue(someJobs(1))
        const asked = aBulkOperation({ action, filter: { status: 'pending' } })
        const ended = await finish({ store, control }, await control.bulkOperations.create(asked))
        expect(ended).toMatchObject({ done: 1, outcomes: null, isOpen: false })
      })

      describe('its canary', () => {
        async function tryFirst(count: number, maxFailed = 0) {
          const store = await bench.openWithClock()
          const control = await bench.openControl(store)
          await failSome(store, 20)
          const begun = await control.bulkOperations.create(
            aBulkOperation({ total: 20, canary: { count, maxFailed } }),
          )
          expect(begun).toMatchObject({ status: 'canary', canary: { count, maxFailed } })
          const tried = await store.bulkOperations.advance(begun)
          expect(tried).toMatchObject({
            status: 'canary',
            done: count,
            outcomes: { ...NONE, waiting: count },
          })
          // No further batch is done while the canary is open.
          expect(tried && (await store.bulkOperations.advance(tried))).toEqual(tried)
          return { store, control, id: begun.id }
        }

        it('lets the rest begin when it has completed', async () => {
          const { store, control, id } = await tryFirst(3)
          for (let n = 0; n < 2; n++) await settleOne(store, { kind: 'complete' })
          expect(await follow({ store, control }, id)).toMatchObject({ status: 'canary' })
          await settleOne(store, { kind: 'complete' })
          const passed = await follow({ store, control }, id)
          expect(passed).toMatchObject({ status: 'running', done: 3, outcomes: { ...NONE, completed: 3 } })
          expect(await finish({ store, control }, passed)).toMatchObject({ status: 'completed', done: 20 })
        })

        it('stops it with the first failure above the limit, even if that job is retried', async () => {
          const { store, control, id } = await tryFirst(5, 1)
          await settleOne(store, { kind: 'fail' })
          expect(await follow({ store, control }, id)).toMatchObject({ status: 'canary' })
          await settleOne(store, { kind: 'retry' })
          const error = { code: 'FAILED_AGAIN', message: '2 of 5 failed again' }
          const stopped = await follow({ store, control }, id)
          expect(stopped).toMatchObject({
            ...{ status: 'stopped', error, stoppedBy: null, done: 5, finishedAt: bench.clock.now() },
          })
          expect(await store.bulkOperations.advance(stopped)).toBeNull()
          expect(await store.stats()).toMatchObject({ failed: 16 })
          expect(await audited(store)).toMatchObject([
            { actor: ada, action: 'bulkOperations.end', target: { id, status: 'stopped', error }, count: 5 },
          ])
        })

        it('stops it when it was cancelled, because that proves nothing', async () => {
          const { store, control, id } = await tryFirst(2)
          await store.cancel({ status: 'pending' })
          expect(await follow({ store, control }, id)).toMatchObject({
            ...{ status: 'stopped', error: { message: 'none of 2 completed' } },
          })
        })

        it('is the whole operation when no more jobs match', async () => {
          const store = await bench.openWithClock()
          const control = await bench.openControl(store)
          await failSome(store, 2)
          const asked = aBulkOperation({ canary: { count: 5, maxFailed: 0 } })
          const ended = await store.bulkOperations.advance(await control.bulkOperations.create(asked))
          expect(ended).toMatchObject({ status: 'completed', done: 2 })
        })

        it('can be stopped by a person', async () => {
          const { control, id } = await tryFirst(2)
          expect(await control.bulkOperations.stop(id, 'Grace')).toMatchObject({
            ...{ status: 'stopped', stoppedBy: 'Grace', error: null },
          })
        })
      })

      it('stops it when too large a share fails again', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        await failSome(store, 40)
        const begun = await control.bulkOperations.create(aBulkOperation({ stopWhenFailing: 0.2 }))
        await store.bulkOperations.advance(begun, 20)
        for (let n = 0; n < 7; n++) await settleOne(store, { kind: 'complete' })
        for (let n = 0; n < 2; n++) await settleOne(store, { kind: 'fail' })
        // Nine outcomes are too few to judge.
        expect(await follow({ store, control }, begun.id)).toMatchObject({ status: 'running' })
        await settleOne(store, { kind: 'complete' })
        expect(await follow({ store, control }, begun.id)).toMatchObject({ status: 'running' })
        await settleOne(store, { kind: 'retry' })
        expect(await follow({ store, control }, begun.id)).toMatchObject({
          ...{ status: 'stopped', done: 20, outcomes: { ...NONE, completed: 8, failedAgain: 3, waiting: 9 } },
          error: { code: 'FAILED_AGAIN', message: '3 of 11 failed again, more than 20%' },
        })
      })
    })

    it('of a fingerprint keeps the error that it stands for, also when its jobs are gone', async () => {
      const { store, control } = await bench.openBoth()
      await store.enqueue(someJobs(2))
      for (const order of [1, 2]) {
        const job = await claimOne(store)
        const error = { ...anError, message: `order ${order} is gone` }
        await store.settle([{ id: job.id, run: job.run, kind: 'fail', error }])
        bench.clock.advance(1)
      }
      const { fingerprint } = anError
      const begun = async (filter: NewBulkOperation['filter']) => {
        const counted = await store.bulkOperations.count(filter, bench.clock.now())
        return control.bulkOperations.create(aBulkOperation({ action: 'delete', filter, ...counted }))
      }
      const operation = await begun({ status: 'failed', fingerprint })
      const filterError = { class: anError.class, message: 'order 2 is gone' }
      expect(operation).toMatchObject({ total: 2, filterError })
      expect(await finish({ store, control }, operation)).toMatchObject({ done: 2, filterError })
      expect(await store.failures({ fingerprint })).toEqual([])
      expect(await control.bulkOperations.get(operation.id)).toMatchObject({ done: 2, filterError })

      expect(await begun({ status: 'failed', fingerprint })).toMatchObject({ total: 0, filterError: null })
      expect(await begun({ status: 'failed' })).toMatchObject({ filterError: null })
    })

    describe('a preview', () => {
      it('says how many match, what they are and why they failed', async () => {
        const store = await bench.openWithClock()
        await failSome(store, 3, { topic: 'mail', payload: { secret: 'x' } })
        bench.clock.advance(1)
        await store.enqueue(someJobs(2, { topic: 'mail', queue: 'slow' }))
        const preview = await store.bulkOperations.preview({ topic: 'mail' }, bench.clock.now())
        expect(preview).toEqual({
          total: 5,
          totalIsExact: true,
          byStatus: { failed: 3, pending: 2 },
          byError: [{ class: anError.class, message: anError.message, count: 3 }],
          errorKinds: 1,
          inspected: 5,
          sample: expect.any(Array),
        })
        expect(preview.sample).toHaveLength(5)
        expect(preview.sample[0]).toEqual({
          id: expect.any(String),
          ...{ topic: 'mail', queue: 'slow', status: 'pending' },
        })
        expect(await store.bulkOperations.preview({ topic: 'none' }, bench.clock.now())).toEqual({
          ...{
            total: 0,
            totalIsExact: true,
            byStatus: {},
            byError: [],
            errorKinds: 0,
            inspected: 0,
            sample: [],
          },
        })
      })

      it('counts the errors by their fingerprint, whatever their messages quote', async () => {
        const store = await bench.openWithClock()
        await store.enqueue(someJobs(3))
        for (const order of [1, 2, 3]) {
          const job = await claimOne(store)
          const error = { ...anError, message: `order ${order} is gone` }
          await store.settle([{ id: job.id, run: job.run, kind: 'fail', error }])
          bench.clock.advance(1)
        }
        const { byError, errorKinds } = await store.bulkOperations.preview(
          { status: 'failed' },
          bench.clock.now(),
        )
        expect(byError).toEqual([{ class: anError.class, message: expect.any(String), count: 3 }])
        expect(errorKinds).toBe(1)
      })

      it('refuses an invalid filter', async () => {
        const store = await bench.openWithClock()
        await expect(
          store.bulkOperations.preview({ payloadText: 'x' }, bench.clock.now()),
        ).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      })
    })

    it('are listed page by page, the newest first', async () => {
      const control = await bench.openControl()
      const ids: string[] = []
      for (let i = 0; i < 5; i++) {
        bench.clock.advance(1)
        ids.unshift((await control.bulkOperations.create(aBulkOperation())).id)
      }
      await control.bulkOperations.stop(ids[1] ?? '', 'Ada')
      const pages: string[][] = []
      let cursor: string | undefined
      do {
        const page = await control.bulkOperations.list({}, { limit: 2, cursor })
        pages.push(page.items.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
      } while (cursor)
      expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
      expect((await control.bulkOperations.list({ status: 'stopped' })).items).toMatchObject([{ id: ids[1] }])
      expect((await control.bulkOperations.open()).toSorted()).toEqual(
        ids.filter((id) => id !== ids[1]).toSorted(),
      )
      expect([...(await control.bulkOperations.find([...ids, 'no id'])).keys()].toSorted()).toEqual(
        ids.toSorted(),
      )
    })

    it('that ended long ago are removed, with the rows of their leaders', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [old, running] = [
        await control.bulkOperations.create(aBulkOperation()),
        await control.bulkOperations.create(aBulkOperation()),
      ]
      await store.lead(`${BULK_OPERATION_LEAD}${old.id}`, WORKER, 5_000)
      await store.lead('maintenance', WORKER, 5_000)
      await control.bulkOperations.stop(old.id, 'Ada')
      const before = bench.clock.advance(DAY)
      const recent = await control.bulkOperations.create(aBulkOperation())
      await control.bulkOperations.stop(recent.id, 'Ada')
      expect(await control.bulkOperations.prune({ before })).toBe(1)
      expect((await control.bulkOperations.list()).items.map(({ id }) => id)).toEqual([recent.id, running.id])
      // If the row were still there, a clock that is set back would keep it for its leader.
      bench.clock.advance(-DAY)
      expect(await store.lead(`${BULK_OPERATION_LEAD}${old.id}`, OTHER_WORKER, 5_000)).toBe(true)
      expect(await store.lead('maintenance', OTHER_WORKER, 5_000)).toBe(false)
    })
  })
}
