import { describe, expect, it } from 'vitest'
import type { PayloadChange, Settlement, Store } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  MINUTE,
  read,
  WORKER,
} from './harness.ts'

const SMALL = JSON.stringify({ amount: 2 })
const LARGE = JSON.stringify({ text: 'x'.repeat(5_000) })

const ENDS: Record<string, (run: { id: string; run: number }) => Settlement> = {
  failed: ({ id, run }) => ({ id, run, kind: 'fail', error: anError }),
  cancelled: ({ id, run }) => ({ id, run, kind: 'cancel' }),
  completed: (run) => complete(run, JSON.stringify('y'.repeat(5_000))),
}
const fail = ENDS.failed as (run: { id: string; run: number }) => Settlement

/** A job that is requeued with another payload. */
export function describePayloadChanges(dialect: Dialect): void {
  describe('requeue with another payload', () => {
    const bench = new Bench(dialect)

    async function ended(store: Store, options?: Parameters<typeof aJob>[0], end = fail) {
      const [id = ''] = await store.enqueue([aJob(options)])
      await store.settle([end(await claimOne(store))])
      return id
    }

    async function retrying(store: Store, options?: Parameters<typeof aJob>[0]) {
      const [id = ''] = await store.enqueue([aJob(options)])
      await store.settle([
        { ...(await claimOne(store)), kind: 'retry', delayMs: 60 * MINUTE, error: anError },
      ])
      return id
    }

    /** As a caller saw the job. */
    async function seen(store: Store, id: string): Promise<PayloadChange> {
      const { run, updated } = await read(store, id)
      return { id, run, updated, payload: SMALL, by: 'on-call', paths: ['payload.amount'] }
    }

    /** `done`, or the code of the error. */
    const edit = (store: Store, change: PayloadChange): Promise<string> =>
      store.requeueWithPayload(change).then(
        () => 'done',
        (error) => error.code,
      )

    it.each(Object.entries(ENDS))('puts a %s job back, and says by whom', async (_, end) => {
      const store = await bench.open()
      const id = await ended(store, { payload: { amount: 1 }, meta: { order: 7 }, maxRetries: 2 }, end)
      expect(await edit(store, await seen(store, id))).toBe('done')
      expect(await read(store, id)).toMatchObject({
        status: 'pending',
        payload: { amount: 2 },
        result: null,
        run: 1,
        retries: 0,
        maxRetries: 2,
        meta: { order: 7 },
        finishedAt: null,
      })
      expect((await store.events.list(id)).slice(-2)).toMatchObject([
        { type: 'requeued', data: { by: 'on-call' } },
        { type: 'payload_changed', data: { by: 'on-call', paths: ['payload.amount'] } },
      ])
      expect(await store.stats()).toMatchObject({ pending: 1, failed: 0, cancelled: 0, completed: 0 })
      const run = await claimOne(store)
      expect(run).toMatchObject({ id, run: 2, payload: { amount: 2 } })
      await store.settle([complete(run)])
    })

    it.each([
      ['small to large', SMALL, LARGE],
      ['large to small', LARGE, SMALL],
      ['large to large', LARGE, JSON.stringify('z'.repeat(9_000))],
      ['something to null', SMALL, 'null'],
    ])('from %s: the worker and readers get the new payload', async (_, before, payload) => {
      const store = await bench.open()
      for (const make of [ended, retrying]) {
        const id = await make(store, { payload: JSON.parse(before) })
        expect(await edit(store, { ...(await seen(store, id)), payload })).toBe('done')
        expect((await read(store, id)).payload).toEqual(JSON.parse(payload))
        const run = await claimOne(store)
        expect(run.payload).toEqual(JSON.parse(payload))
        await store.settle([fail(run)])
        expect((await read(store, id)).payload).toEqual(JSON.parse(payload))
        expect(await store.delete([id])).toEqual({ done: 1, skipped: {} })
      }
    })

    it('makes a job that waits for its retry due at once, with all its retries', async () => {
      const store = await bench.openWithClock()
      const id = await retrying(store, { payload: { amount: 1 }, unique: { key: 'order-7' } })
      expect(await read(store, id)).toMatchObject({ retries: 1 })
      bench.clock.advance(1_000)
      expect(await edit(store, await seen(store, id))).toBe('done')
      expect(await read(store, id)).toMatchObject({
        ...{ status: 'pending', run: 1, retries: 0, runAt: bench.clock.now(), lastError: anError },
      })
      expect(await store.failures()).toEqual([])
      expect(await store.enqueue([aJob({ unique: { key: 'order-7' } })])).toEqual([id])
      expect(await claimOne(store)).toMatchObject({ id, run: 2, payload: { amount: 2 } })
    })

    it('keeps finished steps and cursor, as a requeue does', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob()])
      const run = await claimOne(store)
      const events = [{ type: 'step_finished', data: { name: 'charge', result: 'ch_1' } }]
      await store.recordProgress([{ ...run, cursor: '{"page":3}', events }], WORKER)
      await store.settle([fail(run)])
      await edit(store, await seen(store, id))
      expect(await read(store, id)).toMatchObject({ cursor: { page: 3 } })
      expect((await store.events.list(id)).map(({ type }) => type)).toContain('step_finished')
    })

    it('refuses a job that is not as it was seen, and changes nothing', async () => {
      const store = await bench.openWithClock()
      const id = await ended(store, { payload: { amount: 1 } })
      const change = await seen(store, id)
      expect(await edit(store, { ...change, run: 2 })).toBe('JOB_CHANGED')
      bench.clock.advance(1)
      // Requeued and cancelled before it ran: the same run, at another time.
      await store.requeue([id])
      expect(await edit(store, change)).toBe('JOB_CHANGED')
      await store.cancel([id])
      expect(await edit(store, change)).toBe('JOB_CHANGED')
      expect(await read(store, id)).toMatchObject({ status: 'cancelled', payload: { amount: 1 } })
      const again = await seen(store, id)
      bench.clock.advance(1)
      expect(await edit(store, again)).toBe('done')
      expect(await edit(store, again)).toBe('JOB_CHANGED')
      const run = await claimOne(store)
      expect(await edit(store, { ...again, payload: LARGE })).toBe('JOB_CHANGED')
      await store.settle([complete(run)])
      expect(await edit(store, { ...again, payload: LARGE })).toBe('JOB_CHANGED')
      expect(await read(store, id)).toMatchObject({ status: 'completed', payload: { amount: 2 } })
    })

    it('says why it cannot: running, new, blocked, throttled, another with its key, none', async () => {
      const store = await bench.open()
      const refused = async (id: string) => edit(store, await seen(store, id))
      const [running = ''] = await store.enqueue([aJob()])
      const run = await claimOne(store)
      expect(await refused(running)).toBe('INVALID_STATE')
      const [blocked = ''] = await store.enqueue([aJob({ after: [running] })])
      expect(await refused(blocked)).toBe('INVALID_STATE')
      const [fresh = ''] = await store.enqueue([aJob({ queue: 'other', delay: MINUTE })])
      expect(await refused(fresh)).toBe('INVALID_STATE')

      const keyed = { queue: 'keyed', concurrencyKey: 'k', concurrencyLimit: 1 }
      await store.enqueue([aJob(keyed), aJob(keyed)])
      await store.claim(claiming({ queues: ['keyed'], limit: 2 }))
      const [throttled] = (await store.list({ queue: 'keyed', status: 'pending' })).items
      expect(await refused(throttled?.id ?? '')).toBe('INVALID_STATE')
      await store.settle([complete(run)])

      await store.cancel([blocked])
      const unique = { key: 'order-7' }
      const first = await ended(store, { unique, payload: { amount: 1 } })
      const [second] = await store.enqueue([aJob({ unique })])
      expect(second).not.toBe(first)
      expect(await refused(first)).toBe('UNIQUE_KEY_LIVE')
      expect(await read(store, first)).toMatchObject({ status: 'failed', payload: { amount: 1 } })
      expect((await store.events.list(first)).map(({ type }) => type)).toEqual(['run_failed'])

      const change = await seen(store, first)
      expect(await edit(store, { ...change, id: aJob().id })).toBe('JOB_NOT_FOUND')
      expect(await edit(store, { ...change, id: 'no id' })).toBe('JOB_NOT_FOUND')
      await store.delete([first])
      expect(await edit(store, change)).toBe('JOB_NOT_FOUND')
    })

    it('of several at once one wins, also against a requeue, a delete and a prune', async () => {
      const store = await bench.open()
      for (let round = 0; round < 10; round++) {
        const id = await ended(store, { payload: 'before' })
        const change = await seen(store, id)
        const finishedBefore = new Date((await store.now()).getTime() + MINUTE)
        const [first, second, requeued, deleted, pruned] = await Promise.all([
          edit(store, { ...change, payload: '"first"' }),
          edit(store, { ...change, payload: LARGE }),
          store.requeue([id]),
          store.delete([id]),
          store.prune({ status: 'failed', finishedBefore }),
        ])
        const wins = [first === 'done', second === 'done', requeued.done === 1, pruned === 1]
        const job = await store.get(id)
        // A delete also takes a job that one of the others has put back.
        if (job) {
          expect(wins.filter(Boolean)).toHaveLength(1)
          const expected = first === 'done' ? 'first' : second === 'done' ? JSON.parse(LARGE) : 'before'
          expect(job).toMatchObject({ status: 'pending', payload: expected })
          await store.cancel([id])
        } else expect(deleted.done + Number(pruned === 1)).toBe(1)
        const changes = (await store.events.list(id)).filter(({ type }) => type === 'payload_changed')
        expect(changes).toHaveLength(job && (first === 'done' || second === 'done') ? 1 : 0)
      }
    })

    it('against a claim of a job whose retry is due: either the change or the run, never both', async () => {
      const store = await bench.open()
      for (let round = 0; round < 10; round++) {
        const [id = ''] = await store.enqueue([aJob({ payload: 'before' })])
        await store.settle([{ ...(await claimOne(store)), kind: 'retry', delayMs: 0, error: anError }])
        const change = await seen(store, id)
        const [outcome, { jobs }] = await Promise.all([
          edit(store, { ...change, payload: '"after"' }),
          store.claim(claiming()),
        ])
        const runs = jobs.length > 0 ? jobs : (await store.claim(claiming())).jobs
        expect(runs).toMatchObject([{ id, payload: outcome === 'done' ? 'after' : 'before' }])
        await store.settle(runs.map((run) => complete(run)))
      }
    })
  })
}
