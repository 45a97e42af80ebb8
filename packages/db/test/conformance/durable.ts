import { randomUUID } from 'node:crypto'
import { type EnqueueOptions, type JobError, type JobId, LIMITS } from '@oncue/core'
import { Gate, until } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { toTarget } from '../../src/portable/actions.ts'
import type { NewOutcome, SuspendedWait } from '../../src/portable/outcomes.ts'
import type { Transaction } from '../../src/queue/transaction.ts'
import type { ClaimedJob, JobFilter, RunRef, Settlement, Store } from '../../src/store.ts'
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
  WORKER,
} from './harness.ts'

const DAY = 24 * 60 * MINUTE

const bank: SuspendedWait = { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 }
const nap: SuspendedWait = { kind: 'timer', name: 'nap', key: 'sleep:nap', delayMs: MINUTE }

function suspend(
  { id, run }: RunRef,
  waits: readonly SuspendedWait[],
  progressed = true,
  error?: JobError,
): Settlement {
  return { id, run, kind: 'suspend', waits, progressed, error }
}

const aStep = (name: string, data?: string): NewOutcome => ({ key: `step:${name}`, kind: 'step', data })

/** Outcomes of runs, jobs that wait outside of their worker, and signals. */
export function describeDurable(dialect: Dialect): void {
  describe('durable jobs', () => {
    const bench = new Bench(dialect)

    async function aRun(store: Store, options: EnqueueOptions = {}): Promise<ClaimedJob> {
      await store.enqueue([aJob(options)])
      return claimOne(store)
    }

    const ref = ({ id, run }: RunRef) => ({ id, run })

    const record = async (store: Store, run: RunRef, outcomes: readonly NewOutcome[], after = 0) =>
      (await store.durable.record([{ ...ref(run), after, outcomes }], WORKER)).recorded.get(run.id) ?? []

    const keysOf = async (store: Store, id: JobId) => (await store.durable.outcomes(id)).map(({ key }) => key)

    const isDue = async (store: Store) => (await store.claim(claiming())).jobs.length > 0

    describe('outcomes', () => {
      it('are read in the order in which they were recorded, with what they hold', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await record(store, run, [aStep('b', '{"n":1}'), aStep('a', 'null')])
        await record(store, run, [aStep('c')], 2)
        expect(await store.durable.outcomes(run.id)).toEqual([
          { key: 'step:b', seq: 1, kind: 'step', name: null, data: { n: 1 } },
          { key: 'step:a', seq: 2, kind: 'step', name: null, data: null },
          { key: 'step:c', seq: 3, kind: 'step', name: null, data: null },
        ])
      })

      it('tell which live jobs of a topic rely on something, the newest first', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await record(store, run, [aStep('a')])
        const asleep = await aRun(store)
        await store.settle([suspend(asleep, [bank], false)])
        await aRun(store)
        const other = await aRun(store, { topic: 'other' } as EnqueueOptions)
        await record(store, other, [aStep('a')])
        const ended = await aRun(store)
        await record(store, ended, [aStep('a')])
        await store.settle([complete(ended)])
        await store.enqueue([aJob()])
        const known = [asleep.id, run.id].toSorted().toReversed()
        expect(await store.durable.live('mail_digest', 10)).toEqual(known)
        expect(await store.durable.live('mail_digest', 1)).toEqual(known.slice(0, 1))
        expect(await store.durable.live('none', 10)).toEqual([])
      })

      it('stand as they were first recorded, so that a call may be sent twice', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const first = await record(store, run, [aStep('a', '1'), aStep('b', '2')])
        const again = await record(store, run, [aStep('a', '7'), aStep('b', '8'), aStep('c', '9')])
        expect(first.map(({ key, seq }) => [key, seq])).toEqual([
          ['step:a', 1],
          ['step:b', 2],
        ])
        expect(again.map(({ key }) => key)).toEqual(['step:a', 'step:b', 'step:c'])
        expect((await store.durable.outcomes(run.id)).map(({ data }) => data)).toEqual([1, 2, 9])
      })

      it('are returned with what they hold if the call did not record them itself', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await record(store, run, [aStep('a', '1'), aStep('b', '2')])
        const found = await record(store, run, [aStep('b', '8'), aStep('c', '9')])
        expect(found.map(({ key, data }) => [key, data])).toEqual([
          ['step:a', 1],
          ['step:b', 2],
          ['step:c', null],
        ])
      })

      it('are written for many runs at once, and a stale one changes nothing', async () => {
        const store = await bench.openWithClock()
        await store.enqueue([aJob(), aJob(), aJob()])
        const { jobs } = await store.claim(claiming())
        const [a, b, c] = jobs as [ClaimedJob, ClaimedJob, ClaimedJob]
        await store.settle([complete(b)])
        const runs = [a, b, { ...c, run: c.run + 1 }].map((run) => ({
          ...ref(run),
          after: 0,
          outcomes: [aStep('a', '1')],
        }))
        const { stale, recorded } = await store.durable.record(runs, WORKER)
        expect(stale.map(({ id }) => id).toSorted()).toEqual([b.id, c.id].toSorted())
        expect([...recorded.keys()]).toEqual([a.id])
        expect(await keysOf(store, b.id)).toEqual([])
        expect(await keysOf(store, c.id)).toEqual([])
      })

      it('of a run that another worker claimed are refused', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const { stale } = await store.durable.record(
          [{ ...ref(run), after: 0, outcomes: [aStep('a')] }],
          OTHER_WORKER,
        )
        expect(stale).toEqual([ref(run)])
        expect(await keysOf(store, run.id)).toEqual([])
      })

      it('that are due at a moment are recorded from then on', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const dueAt = new Date(bench.clock.now().getTime() + 1_000)
        const timer: NewOutcome = { key: 'sleep:nap', kind: 'timer', dueAt }
        expect(await record(store, run, [timer])).toEqual([])
        bench.clock.advance(1_000)
        expect(await record(store, run, [timer])).toMatchObject([{ key: 'sleep:nap', seq: 1 }])
      })

      it('take the place of a timeout, if a signal was delivered', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        const timeout = (seen: number): NewOutcome => ({
          key: 'receive:bank#1',
          kind: 'timeout',
          unless: { signal: 'bank', seen },
        })
        const [signal, ...rest] = await record(store, run, [timeout(0)])
        expect(signal).toMatchObject({ kind: 'signal', name: 'bank', data: 1 })
        expect(rest).toEqual([])
        // The handler has used that signal: the next wait for one may time out.
        expect(await record(store, run, [timeout(1)], 1)).toMatchObject([{ kind: 'timeout' }])
      })

      it('are large as a payload may be', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const text = 'x'.repeat(1_000_000)
        await record(store, run, [aStep('a', JSON.stringify(text))])
        expect((await store.durable.outcomes(run.id))[0]?.data).toBe(text)
      })

      it('of an unknown job are none', async () => {
        const store = await bench.openWithClock()
        expect(await store.durable.outcomes('nothing')).toEqual([])
        expect(await store.durable.outcomes(randomUUID())).toEqual([])
      })
    })

    describe('a suspended job', () => {
      it('is due when its first timer is over, and not before', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, [{ ...bank, delayMs: 2 * MINUTE }, nap])])
        const since = bench.clock.now()
        const at = (ms: number) => new Date(since.getTime() + ms)
        expect(await read(store, run.id)).toMatchObject({
          status: 'pending',
          runAt: at(MINUTE),
          visibleAt: at(MINUTE),
          lockedBy: null,
          startedAt: null,
          waits: {
            since: since.toISOString(),
            for: [
              { kind: 'signal', name: 'bank', until: at(2 * MINUTE).toISOString() },
              { kind: 'timer', name: 'nap', until: at(MINUTE).toISOString() },
            ],
          },
        })
        bench.clock.advance(MINUTE - 1)
        expect(await isDue(store)).toBe(false)
        bench.clock.advance(1)
        const next = await claimOne(store)
        expect(next).toMatchObject({ id: run.id, run: 2, retries: 0 })
        expect(next.waits).not.toBeNull()
        expect((await read(store, run.id)).waits).toBeNull()
      })

      it('keeps the end of a wait that was recorded first', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const until = bench.clock.now().getTime() + MINUTE
        await store.settle([suspend(run, [nap])])
        bench.clock.advance(MINUTE)
        const second = await claimOne(store)
        await store.settle([suspend(second, [nap, bank])])
        expect(await read(store, run.id)).toMatchObject({ runAt: bench.clock.now() })
        expect(await store.durable.outcomes(run.id)).toMatchObject([
          { key: 'wait:sleep:nap', kind: 'wait', data: new Date(until).toISOString() },
        ])
      })

      it('ends a wait at the first moment it was given, also if later runs compute another', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const until = new Date(bench.clock.now().getTime() + MINUTE)
        const { delayMs: _, ...sleep } = nap
        await store.settle([suspend(run, [{ ...sleep, until }])])
        expect(await store.durable.outcomes(run.id)).toMatchObject([
          { key: 'wait:sleep:nap', kind: 'wait', data: until.toISOString() },
        ])
        bench.clock.advance(MINUTE)
        const second = await claimOne(store)
        const later = new Date(bench.clock.now().getTime() + MINUTE)
        await store.settle([suspend(second, [{ ...sleep, until: later }])])
        expect(await read(store, run.id)).toMatchObject({ runAt: bench.clock.now() })
        expect(await isDue(store)).toBe(true)
      })

      it('without a timer is blocked until its signal comes', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        bench.clock.advance(DAY)
        expect(await isDue(store)).toBe(false)
        expect(await read(store, run.id)).toMatchObject({
          status: 'blocked',
          visibleAt: null,
          waits: { for: [{ kind: 'signal', name: 'bank', until: null }] },
        })
        await store.durable.signal({ id: run.id, name: 'other', data: '1' })
        expect(await isDue(store)).toBe(false)
        await store.durable.signal({ id: run.id, name: 'bank', data: '{"ok":true}' })
        expect(await read(store, run.id)).toMatchObject({
          status: 'pending',
          runAt: bench.clock.now(),
          visibleAt: bench.clock.now(),
          waits: null,
        })
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2 })
        expect(await store.durable.outcomes(run.id)).toMatchObject([
          { kind: 'signal', name: 'other', data: 1 },
          { kind: 'signal', name: 'bank', data: { ok: true } },
        ])
      })

      it('with a timer is resumed by its signal before the timer is over', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, [nap, bank])])
        bench.clock.advance(1_000)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        expect(await read(store, run.id)).toMatchObject({ status: 'pending', runAt: bench.clock.now() })
        expect(await isDue(store)).toBe(true)
      })

      it('is due at once if its signal was there before it suspended', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        await store.settle([suspend(run, [bank, nap])])
        expect(await read(store, run.id)).toMatchObject({ status: 'pending', runAt: bench.clock.now() })
        expect(await isDue(store)).toBe(true)
      })

      it('is not resumed by a signal that its run has used already', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        const [used] = await record(store, run, [])
        await store.settle([suspend(run, [{ ...bank, after: used?.seq }])])
        expect(await read(store, run.id)).toMatchObject({ status: 'blocked' })
        await store.durable.signal({ id: run.id, name: 'bank', data: '2' })
        expect(await isDue(store)).toBe(true)
      })

      it.each([
        [true, { retries: 0, crashes: 0 }],
        [false, { retries: 1, crashes: 0 }],
      ])('starts its attempts anew if it recorded something: %s', async (progressed, left) => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([{ ...ref(run), kind: 'retry', delayMs: 0, error: anError }])
        const second = await claimOne(store)
        await store.settle([suspend(second, [nap], progressed)])
        expect(await read(store, run.id)).toMatchObject(left)
        expect(await store.failures()).toEqual([])
      })

      it('is not suspended by a run that lost it', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        bench.clock.advance(LEASE + 1)
        const { jobs } = await store.claim(claiming({ worker: OTHER_WORKER }))
        expect(jobs).toHaveLength(1)
        expect(await store.settle([suspend(run, [bank])], WORKER)).toMatchObject({ stale: [ref(run)] })
        expect(await read(store, run.id)).toMatchObject({ status: 'processing', run: 2 })
        expect(await keysOf(store, run.id)).toEqual([])
      })

      it('is reported once, and a second settlement is stale', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        expect(await store.settle([suspend(run, [bank])])).toEqual({ stale: [], refused: [] })
        expect(await store.settle([suspend(run, [bank])])).toMatchObject({ stale: [ref(run)] })
      })

      it('ends as cancelled if it was asked to stop', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.cancel([run.id])
        expect(await store.settle([suspend(run, [bank])])).toMatchObject({ cancelled: [ref(run)] })
        expect(await read(store, run.id)).toMatchObject({ status: 'cancelled', waits: null })
      })

      it.each([
        ['by a timer', [nap]],
        ['by a signal', [bank]],
      ])('can be cancelled, and does not come back %s', async (_, waits) => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, waits)])
        expect(await store.cancel([run.id])).toEqual({ done: 1, skipped: {} })
        await expect(store.durable.signal({ id: run.id, name: 'bank', data: '1' })).rejects.toMatchObject({
          code: 'JOB_FINISHED',
        })
        bench.clock.advance(DAY)
        expect(await isDue(store)).toBe(false)
      })

      it('frees its slot, and keeps its unique key', async () => {
        const store = await bench.openWithClock()
        const options = { concurrencyKey: 'user 1', unique: { key: 'refund 7' } }
        const run = await aRun(store, options)
        await store.settle([suspend(run, [bank])])
        const other = await aRun(store, { concurrencyKey: 'user 1' })
        expect(other.id).not.toBe(run.id)
        expect(await store.enqueue([aJob(options)])).toEqual([run.id])
      })

      it('waits for a slot when it is resumed, and a signal leaves it there', async () => {
        const store = await bench.openWithClock()
        const options = { concurrencyKey: 'user 1' }
        const run = await aRun(store, options)
        await store.settle([suspend(run, [nap, bank])])
        const other = await aRun(store, options)
        bench.clock.advance(MINUTE)
        expect(await isDue(store)).toBe(false)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        expect(await isDue(store)).toBe(false)
        await store.settle([complete(other)])
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2 })
      })

      it('counts for the rate of its queue when it is resumed, and keeps its queue and priority', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store, { priority: 7 })
        await store.settle([suspend(run, [nap])])
        await store.limit({ queue: 'default' }, { rate: { count: 1, intervalMs: MINUTE } })
        bench.clock.advance(MINUTE)
        await store.enqueue([aJob({ priority: 3 })])
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2, queue: 'default', priority: 7 })
        expect(await isDue(store)).toBe(false)
        bench.clock.advance(MINUTE)
        expect(await isDue(store)).toBe(true)
      })

      it('that waits until a moment in the past is due now, not before the jobs that have waited', async () => {
        const store = await bench.openWithClock()
        await store.enqueue([aJob(), aJob()])
        const run = await claimOne(store)
        const until = new Date(bench.clock.now().getTime() - DAY)
        bench.clock.advance(1_000)
        await store.settle([suspend(run, [{ kind: 'timer', name: 'nap', key: 'sleep:nap', until }])])
        expect(await read(store, run.id)).toMatchObject({
          ...{ status: 'pending', runAt: bench.clock.now(), visibleAt: bench.clock.now() },
        })
        expect((await claimOne(store)).id).not.toBe(run.id)
      })

      it('cannot be replaced, deleted or made due', async () => {
        const store = await bench.openWithClock()
        const unique = { key: 'refund 7', onConflict: 'replace' } as const
        for (const waits of [[nap], [bank]]) {
          const run = await aRun(store, { unique })
          await store.settle([suspend(run, waits)])
          await expect(store.enqueue([aJob({ unique })])).rejects.toMatchObject({ code: 'UNIQUE_KEY_LIVE' })
          expect(await store.delete([run.id])).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
          expect(await store.runNow([run.id])).toEqual({ done: 0, skipped: { SUSPENDED: 1 } })
          await store.cancel([run.id])
        }
      })

      it('waits while its queue is paused', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        await store.pause('default')
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        expect(await isDue(store)).toBe(false)
        await store.resume('default')
        expect(await isDue(store)).toBe(true)
      })

      it('is no longer suspended after a retry, a release or a crash of its next run', async () => {
        const store = await bench.openWithClock()
        const ends: ((run: RunRef) => Promise<unknown>)[] = [
          (run) => store.settle([{ ...ref(run), kind: 'retry', delayMs: DAY, error: anError }]),
          (run) => store.settle([{ ...ref(run), kind: 'release' }]),
          async () => {
            bench.clock.advance(LEASE + 1)
            await store.claim(claiming({ queues: ['default'], limit: 1, start: 0 }))
          },
        ]
        for (const end of ends) {
          const run = await aRun(store)
          await store.settle([suspend(run, [nap])])
          bench.clock.advance(MINUTE)
          const second = await claimOne(store)
          await end(second)
          expect((await read(store, run.id)).waits).toBeNull()
          await store.cancel([run.id])
          for (const left of await store.ownedRuns(WORKER)) await store.settle([complete(left)])
        }
      })

      it('waits from its wake-up on, for the statistics', async () => {
        const store = await bench.openWithClock()
        const from = bench.clock.now()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        bench.clock.advance(DAY)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        bench.clock.advance(1_000)
        await store.settle([complete(await claimOne(store))])
        await store.rollUp()
        const points = await store.series({ from, to: bench.clock.advance(MINUTE) })
        expect(points.map(({ wait }) => (wait.p95 ?? 0) < 5_000)).toEqual([true])
      })

      it('is counted and listed apart, and nowhere else, until something resumes it', async () => {
        const store = await bench.openWithClock()
        const [timed, endless] = [await aRun(store), await aRun(store)]
        await store.settle([suspend(timed, [nap]), suspend(endless, [bank], false)])
        const later = aJob({ delay: DAY })
        const blocked = aJob({ after: [later.id] })
        await store.enqueue([later, blocked])
        const asOf = bench.clock.now()
        const both = [timed.id, endless.id].toSorted()
        const found = async (status: JobFilter['status']) => {
          const { items, total } = await store.list({ status })
          expect(total).toBe(items.length)
          return items.map(({ id }) => id).toSorted()
        }
        expect(await store.stats()).toMatchObject({
          ...{ suspended: 2, blocked: 1, pending: 1, waiting: 0, scheduled: 1, retrying: 0 },
        })
        expect(await store.queues()).toMatchObject([
          { suspended: 2, blocked: 1, waiting: 0, scheduled: 1, throttled: 0, oldestWaiting: null },
        ])
        expect(await found('suspended')).toEqual(both)
        expect(await found('pending')).toEqual([later.id])
        expect(await found('scheduled')).toEqual([later.id])
        expect(await found('blocked')).toEqual([blocked.id])
        expect(await found(['blocked', 'suspended'])).toEqual([...both, blocked.id].toSorted())
        expect(await found(['pending', 'blocked', 'suspended'])).toHaveLength(4)
        expect(await found(['processing', 'completed'])).toEqual([])
        const preview = (status: JobFilter['status']) => store.bulkOperations.preview({ status }, asOf)
        expect(await preview(['pending', 'blocked', 'suspended'])).toMatchObject({
          ...{ total: 4, byStatus: { suspended: 2, blocked: 1, pending: 1 } },
        })
        expect(await store.runNow(toTarget({ status: 'pending' }))).toEqual({ done: 1, skipped: {} })

        bench.clock.advance(MINUTE)
        await store.durable.signal({ id: endless.id, name: 'bank', data: '1' })
        expect(await store.stats()).toMatchObject({ suspended: 0, pending: 3, waiting: 3 })
        expect(await store.queues()).toMatchObject([
          { suspended: 0, blocked: 1, waiting: 3, oldestWaiting: asOf },
        ])
        expect(await found('suspended')).toEqual([])
        expect(await found('waiting')).toEqual([...both, later.id].toSorted())
        expect((await store.tree(timed.id))?.counts).toMatchObject({ suspended: 0, pending: 1 })
      })

      it('says what it waits for', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank, nap])])
        expect((await store.explain(run.id))?.reasons[0]).toEqual({
          kind: 'suspended',
          text: 'Suspended: waits for signal bank or timer nap, for another 1 min',
          until: new Date(bench.clock.now().getTime() + MINUTE),
        })
        const other = await aRun(store)
        await store.settle([suspend(other, [bank])])
        expect((await store.explain(other.id))?.reasons[0]).toMatchObject({
          text: 'Suspended: waits for signal bank',
          until: null,
        })
        const again = await aRun(store)
        const pause: SuspendedWait = { kind: 'retry', name: 'charge', key: 'retry:charge#1', delayMs: 40_000 }
        await store.settle([suspend(again, [pause])])
        expect((await store.explain(again.id))?.reasons[0]).toMatchObject({
          text: 'Retrying step charge in 40 s',
        })
        bench.clock.advance(MINUTE)
        await record(store, await claimOne(store), [{ key: pause.key, kind: 'timer' }])
        expect((await store.timeline(again.id))?.entries).toContainEqual(
          expect.objectContaining({ kind: 'retried', name: 'charge' }),
        )
      })

      describe('that waits to repeat a step', () => {
        const charge: SuspendedWait = {
          kind: 'retry',
          name: 'charge',
          key: 'retry:charge#1',
          delayMs: MINUTE,
        }
        const { fingerprint } = anError

        /** Its step failed. */
        async function repeating(store: Store, ...waits: SuspendedWait[]): Promise<ClaimedJob> {
          const run = await aRun(store)
          await store.settle([suspend(run, [charge, ...waits], true, anError)])
          return run
        }
        const found = async (store: Store, filter: JobFilter) => {
          const { items, total } = await store.list(filter)
          expect(total).toBe(items.length)
          return items.map(({ id }) => id)
        }

        it('is a failure that is retried, uncharged, wherever these are told', async () => {
          const store = await bench.openWithClock()
          const seenAt = bench.clock.now()
          const { id } = await repeating(store)
          expect(await read(store, id)).toMatchObject({ lastError: anError, retries: 0, crashes: 0 })
          const nextTryAt = new Date(seenAt.getTime() + MINUTE)
          const group = {
            fingerprint,
            class: anError.class,
            message: anError.message,
            retrying: 1,
            failed: 0,
          }
          expect(await store.failures()).toMatchObject([
            { ...group, nextTryAt, firstSeen: seenAt, lastSeen: seenAt, isNew: true, sample: { jobId: id } },
          ])
          expect(await found(store, { fingerprint })).toEqual([id])
          expect(await found(store, { errorText: anError.message })).toEqual([id])
          expect(await found(store, { fingerprint, status: ['retrying', 'suspended'] })).toEqual([id])
          expect(await store.stats()).toMatchObject({ suspended: 1, retrying: 0, pending: 0 })

          bench.clock.advance(MINUTE)
          const again = await claimOne(store)
          expect(again.retries).toBe(0)
          expect(await store.failures()).toMatchObject([{ retrying: 1, nextTryAt: null, lastSeen: seenAt }])
          await store.settle([complete(again)])
          expect(await store.failures()).toEqual([])
          // It got over it, as a job whose run was retried.
          expect(await read(store, id)).toMatchObject({ status: 'completed', lastError: anError })
          const later = bench.clock.advance(1)
          expect(await store.alerts.failedBetween([fingerprint], seenAt, later)).toEqual(
            new Set([fingerprint]),
          )
        })

        it('is no longer one when it is suspended for another reason', async () => {
          const store = await bench.openWithClock()
          const { id } = await repeating(store)
          bench.clock.advance(MINUTE)
          await store.settle([suspend(await claimOne(store), [nap])])
          expect(await store.failures()).toEqual([])
          expect(await found(store, { fingerprint })).toEqual([])
          expect((await read(store, id)).lastError).toEqual(anError)
        })

        it('stays one in a run that something else resumed, and was first seen when its first attempt failed', async () => {
          const store = await bench.openWithClock()
          const firstSeen = bench.clock.now()
          const { id } = await repeating(store, bank)
          bench.clock.advance(1_000)
          await store.durable.signal({ id, name: 'bank', data: '1' })
          // It has not seen that attempt.
          await store.settle([suspend(await claimOne(store), [charge])])
          const nextTryAt = new Date(firstSeen.getTime() + MINUTE)
          expect(await store.failures()).toMatchObject([{ retrying: 1, nextTryAt, firstSeen }])

          bench.clock.advance(DAY)
          const second = { ...charge, key: 'retry:charge#2' }
          const error = { ...anError, message: 'again' }
          await store.settle([suspend(await claimOne(store), [second], false, error)])
          expect(await store.failures()).toMatchObject([
            { retrying: 1, message: 'again', firstSeen, lastSeen: bench.clock.now(), isNew: false },
          ])
        })

        it('moves to the group of its next run, if that fails', async () => {
          const store = await bench.openWithClock()
          const { id } = await repeating(store)
          bench.clock.advance(MINUTE)
          const { run } = await claimOne(store)
          const error = { ...anError, fingerprint: 'beef' }
          await store.settle([{ id, run, kind: 'retry', delayMs: 0, error }])
          expect(await store.failures()).toMatchObject([{ fingerprint: 'beef', retrying: 1 }])
        })

        it('is acted on as any suspended job is', async () => {
          const store = await bench.openWithClock()
          const { id, run } = await repeating(store)
          const target = toTarget({ fingerprint, status: ['retrying', 'suspended'] })
          expect(await store.bulkOperations.preview(target, bench.clock.now())).toMatchObject({
            ...{ total: 1, byStatus: { suspended: 1 } },
          })
          expect(await store.runNow(target)).toEqual({ done: 0, skipped: { SUSPENDED: 1 } })
          expect(await store.requeue([id])).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
          expect(await store.delete([id])).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
          const { updated } = await read(store, id)
          const change = { id, run, updated, payload: '{}' }
          await expect(store.requeueWithPayload(change)).rejects.toMatchObject({ code: 'INVALID_STATE' })
          expect(await store.cancel(target)).toEqual({ done: 1, skipped: {} })
          expect(await read(store, id)).toMatchObject({ status: 'cancelled', lastError: anError })
        })
      })

      it('tells its story', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const startedAt = bench.clock.now().toISOString()
        await store.settle([suspend(run, [bank, nap])])
        const [event, ...more] = (await read(store, run.id)).events
        expect(more).toEqual([])
        expect(event).toMatchObject({
          type: 'run_suspended',
          data: {
            ...{ run: 1, worker: WORKER, startedAt },
            for: [
              { kind: 'signal', name: 'bank' },
              { kind: 'timer', name: 'nap' },
            ],
          },
        })
      })
    })

    describe('a signal', () => {
      it('sent early is kept, and delivered in the order of sending', async () => {
        const store = await bench.openWithClock()
        const [id = ''] = await store.enqueue([aJob()])
        for (const n of [1, 2, 3]) await store.durable.signal({ id, name: 'bank', data: String(n) })
        const run = await claimOne(store)
        expect((await record(store, run, [])).map(({ data }) => data)).toEqual([1, 2, 3])
      })

      it('with a key is delivered once, also if the first was delivered long ago', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const send = (data: string) => store.durable.signal({ id: run.id, name: 'bank', data, key: 'm1' })
        await send('1')
        await send('2')
        await record(store, run, [])
        await send('3')
        await store.durable.signal({ id: run.id, name: 'other', data: '4', key: 'm1' })
        await record(store, run, [])
        expect((await store.durable.outcomes(run.id)).map(({ data }) => data)).toEqual([1, 4])
      })

      it('with a key, sent again when its job has ended, is known', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const send = (key: string) => store.durable.signal({ id: run.id, name: 'bank', data: '1', key })
        await send('m1')
        await record(store, run, [])
        await store.settle([complete(run)])
        await send('m1')
        await expect(async () => send('m2')).rejects.toMatchObject({ code: 'JOB_FINISHED' })
        expect(await keysOf(store, run.id)).toEqual(['signal:bank:key:m1'])
      })

      it('has a name without a colon, so that name and key are never mistaken for others', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const send = async (name: string, key: string) =>
          store.durable.signal({ id: run.id, name, data: '1', key })
        await send('a', 'b:key:c')
        await expect(send('a:key:b', 'c')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
        expect(await keysOf(store, run.id)).toEqual(['signal:a:key:b:key:c'])
      })

      it('to no job, or to a finished one, is refused', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.settle([complete(run)])
        const sent = (id: string) => store.durable.signal({ id, name: 'bank', data: '1' })
        await expect(async () => sent(run.id)).rejects.toMatchObject({ code: 'JOB_FINISHED' })
        await expect(async () => sent(randomUUID())).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
        await expect(async () => sent('nothing')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      })

      it('is checked against the topic of its job before anything is written', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        const topics: string[] = []
        const check = (topic: string) => {
          topics.push(topic)
          throw new RangeError('no such signal')
        }
        const sent = async () => store.durable.signal({ id: run.id, name: 'bank', data: '1', check })
        await expect(sent).rejects.toThrow('no such signal')
        expect(topics).toEqual(['mail_digest'])
        expect(await record(store, run, [])).toEqual([])
      })

      const [quick] = dialect.transactions
      const bounded = quick ? it : () => {}
      bounded('is refused when the job keeps as many as it may, delivered or not', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        const sent = async () => store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        await quick?.run(bench.url, async (tx) => {
          for (let n = 1; n < LIMITS.signals; n++)
            await store.durable.signal({ id: run.id, name: 'bank', data: '1' }, { tx })
        })
        const last = async () => store.durable.signal({ id: run.id, name: 'bank', data: '1', key: 'last' })
        await last()
        await expect(sent).rejects.toMatchObject({ code: 'TOO_MANY_SIGNALS' })
        await last()
        expect(await keysOf(store, run.id)).toHaveLength(LIMITS.signals)
      })

      // Behind a pooler nothing is heard: workers poll.
      const heard = dialect.pooled ? () => {} : it
      heard('wakes the workers of the queue', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        const woken = new Gate()
        const subscription = await store.onWake(['default'], () => woken.open())
        await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
        await woken.opened
        await subscription.close()
        expect(await isDue(store)).toBe(true)
      })
    })

    describe('a requeue', () => {
      it('keeps finished steps, timers and signals, and nothing that went wrong', async () => {
        const store = await bench.openWithClock()
        const run = await aRun(store)
        await store.durable.signal({ id: run.id, name: 'bank', data: '1', key: 'k' })
        await record(store, run, [
          aStep('paid', '1'),
          { key: 'step:lost', kind: 'step_failed', data: '{}' },
          { key: 'sleep:nap', kind: 'timer' },
          { key: 'retry:lost#1', kind: 'timer' },
          { key: 'receive:bank#1', kind: 'timeout' },
        ])
        await store.settle([suspend(run, [nap])])
        bench.clock.advance(MINUTE)
        await store.settle([{ ...ref(await claimOne(store)), kind: 'fail', error: anError }])
        await store.requeue([run.id])
        expect(await keysOf(store, run.id)).toEqual(['signal:bank:key:k', 'step:paid', 'sleep:nap'])
      })

      it('with another payload, while the job waits for its retry, keeps the same', async () => {
        const store = await bench.openWithClock()
        const first = await aRun(store)
        await store.settle([suspend(first, [nap])])
        bench.clock.advance(MINUTE)
        const second = await claimOne(store)
        await record(store, second, [
          aStep('paid', '1'),
          { key: 'step:lost', kind: 'step_failed', data: '{}' },
          { key: 'sleep:nap', kind: 'timer' },
          { key: 'retry:lost#1', kind: 'timer' },
          { key: 'receive:bank#1', kind: 'timeout' },
        ])
        await store.settle([{ ...ref(second), kind: 'retry', delayMs: DAY, error: anError }])
        const { id, run, updated } = await read(store, first.id)
        await store.requeueWithPayload({ id, run, updated, payload: '{}' })
        expect(await keysOf(store, id)).toEqual(['step:paid', 'sleep:nap'])
      })

      it('after which the job is pruned or deleted leaves nothing', async () => {
        const store = await bench.openWithClock()
        for (const kind of ['prune', 'delete'] as const) {
          const run = await aRun(store)
          await record(store, run, [aStep('paid', '1')])
          await store.settle([{ ...ref(run), kind: 'fail', error: anError }])
          if (kind === 'delete') await store.delete([run.id])
          else await store.prune({ status: 'failed', finishedBefore: bench.clock.advance(1_000) })
          expect(await store.get(run.id)).toBeNull()
          expect(await keysOf(store, run.id)).toEqual([])
        }
      })

      it('is new work where a job that waits for its retry is replaced', async () => {
        const store = await bench.openWithClock()
        const unique = { key: 'refund 7', onConflict: 'replace' } as const
        const run = await aRun(store, { unique })
        await record(store, run, [aStep('paid', '1')])
        await store.settle([{ ...ref(run), kind: 'retry', delayMs: MINUTE, error: anError }])
        await store.enqueue([aJob({ unique })])
        expect(await keysOf(store, run.id)).toEqual([])
      })

      it('is none where a job that has never run is replaced: its signals stay', async () => {
        const store = await bench.openWithClock()
        const unique = { key: 'refund 7', onConflict: 'replace' } as const
        const [id = ''] = await store.enqueue([aJob({ unique })])
        await store.durable.signal({ id, name: 'bank', data: '1', key: 'k' })
        await store.enqueue([aJob({ unique })])
        expect(await keysOf(store, id)).toEqual(['signal:bank:key:k'])
        await store.settle([suspend(await claimOne(store), [bank])])
        expect(await isDue(store)).toBe(true)
      })
    })

    describe.each(dialect.transactions)("a signal in the caller's transaction: $name", (kind) => {
      const sendIn = (store: Store, id: JobId) => (tx: Transaction) =>
        store.durable.signal({ id, name: 'bank', data: '{"ok":true}' }, { tx })

      it('is not there before the commit, and resumes the job after it', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        await kind.run(bench.url, async (tx) => {
          await sendIn(store, run.id)(tx)
          expect(await store.durable.outcomes(run.id)).toEqual([])
        })
        // As every worker does in its poll.
        await store.rescue()
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2 })
        expect(await store.durable.outcomes(run.id)).toMatchObject([{ kind: 'signal', data: { ok: true } }])
      })

      it('leaves nothing when the transaction is rolled back', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        const rolledBack = kind.run(bench.url, async (tx) => {
          await sendIn(store, run.id)(tx)
          throw new RangeError('rolled back')
        })
        await expect(rolledBack).rejects.toThrow('rolled back')
        await store.rescue()
        expect(await read(store, run.id)).toMatchObject({ status: 'blocked' })
        expect(await store.durable.outcomes(run.id)).toEqual([])
      })

      it('resumes the job by itself where a worker listens', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await store.settle([suspend(run, [bank])])
        const subscription = await store.onWake(['default'], () => {})
        await kind.run(bench.url, sendIn(store, run.id))
        if (dialect.pooled) await store.rescue()
        await until(async () => (await read(store, run.id)).status === 'pending')
        await subscription.close()
      })

      // On SQLite an open transaction is the only writer: nothing can happen meanwhile.
      const concurrently = dialect.name.startsWith('SQLite') ? () => {} : it
      concurrently('that is sent before the suspension and commits after it resumes the job', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await kind.run(bench.url, async (tx) => {
          await sendIn(store, run.id)(tx)
          // Neither the heartbeat, a record nor the suspension waits for the sender.
          await store.heartbeat({ worker: WORKER, leaseMs: LEASE, runs: [ref(run)] })
          expect(await record(store, run, [aStep('a', '1')])).toMatchObject([{ key: 'step:a' }])
          await store.settle([suspend(run, [bank])])
          expect(await read(store, run.id)).toMatchObject({ status: 'blocked' })
        })
        await store.rescue()
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2 })
      })

      it('that commits before the suspension makes the job due at once', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await kind.run(bench.url, sendIn(store, run.id))
        await store.settle([suspend(run, [bank])])
        expect(await claimOne(store)).toMatchObject({ id: run.id, run: 2 })
      })

      it('is kept for a requeue if the job ends before it can be delivered', async () => {
        const store = await bench.open()
        const run = await aRun(store)
        await kind.run(bench.url, sendIn(store, run.id))
        await store.settle([{ ...ref(run), kind: 'fail', error: anError }])
        await store.rescue()
        expect(await store.durable.outcomes(run.id)).toMatchObject([{ kind: 'signal', data: { ok: true } }])
        expect(await read(store, run.id)).toMatchObject({ status: 'failed' })
        await store.requeue([run.id])
        await store.settle([suspend(await claimOne(store), [bank])])
        expect(await isDue(store)).toBe(true)
      })
    })

    it('no signal is lost or used twice, however suspensions and signals meet', async () => {
      const [one, two] = [await bench.open(), await bench.open()]
      const count = 40
      await one.enqueue(Array.from({ length: count }, () => aJob()))
      const { jobs } = await one.claim(claiming({ limit: count }))
      await Promise.all(
        jobs.map(async (job, n) => {
          const send = () => two.durable.signal({ id: job.id, name: 'bank', data: String(n) })
          const leave = () => one.settle([suspend(job, [bank])], WORKER)
          await Promise.all(n % 2 === 0 ? [leave(), send()] : [send(), leave()])
        }),
      )
      const resumed = await one.claim(claiming({ limit: count }))
      expect(resumed.jobs.map(({ id }) => id).toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
      for (const [n, { id }] of jobs.entries()) {
        expect(await one.durable.outcomes(id)).toMatchObject([{ kind: 'signal', data: n }])
      }
    })
  })
}
