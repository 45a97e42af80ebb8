import { type EnqueueOptions, type JobId, prepareJob } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { Spawned } from '../../src/portable/children.ts'
import type { SuspendedWait } from '../../src/portable/outcomes.ts'
import type { ClaimedJob, RunRef, Settlement, Store } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  OTHER_WORKER,
  read,
  WORKER,
} from './harness.ts'

const ref = ({ id, run }: RunRef) => ({ id, run })
const fail = (run: RunRef): Settlement => ({ ...ref(run), kind: 'fail', error: anError })

export function awaiting(children: readonly JobId[], name = 'all#1'): SuspendedWait {
  return { kind: 'children', name, key: `${name}:0`, children }
}

export function suspend(run: RunRef, ...waits: readonly SuspendedWait[]): Settlement {
  return { ...ref(run), kind: 'suspend', waits, progressed: true }
}

/** Spawns so many children, and returns their ids. */
export async function spawn(
  store: Store,
  parent: RunRef,
  count: number,
  {
    cancels = true,
    ...options
  }: EnqueueOptions & { readonly cancels?: boolean; readonly from?: number } = {},
): Promise<JobId[]> {
  const { from = 0, ...enqueue } = options
  const spawns = Array.from({ length: count }, (_, n) => ({
    key: `spawn:child#${from + n + 1}`,
    hash: `${from + n}`,
    job: prepareJob('child', n, { ...enqueue, parentId: parent.id, queue: 'children' }),
    child: { cancels },
  }))
  const [outcome] = (await store.durable.spawn({ ...ref(parent), after: 0, spawns }, WORKER))?.slice(-1) ?? []
  return Object.values((outcome?.data ?? {}) as Spawned).map(([id]) => id)
}

export async function claimChildren(store: Store): Promise<ClaimedJob[]> {
  const { jobs } = await store.claim(claiming({ queues: ['children'], limit: 100 }))
  return jobs.toSorted((a, b) => Number(a.payload) - Number(b.payload))
}

/** Jobs that a run makes, and waits for. */
export function describeChildren(dialect: Dialect): void {
  describe('children', () => {
    const bench = new Bench(dialect)

    async function aParent(store: Store, options: EnqueueOptions = {}): Promise<ClaimedJob> {
      await store.enqueue([aJob(options)])
      return claimOne(store)
    }

    const groupOf = async (store: Store, id: JobId) =>
      (await store.durable.outcomes(id)).find(({ kind }) => kind === 'children')?.data

    describe('are spawned', () => {
      it('once, however often the call is sent, with all that a job may have', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const first = await spawn(store, parent, 2, { priority: 7 })
        expect(await spawn(store, parent, 2, { priority: 7 })).toEqual(first)
        const { items } = await store.list({ topic: 'child' })
        expect(items.map(({ id, parentId, priority }) => [id, parentId, priority]).toSorted()).toEqual(
          first.map((id) => [id, parent.id, 7]).toSorted(),
        )
        expect(await store.durable.outcomes(parent.id)).toMatchObject([
          { key: 'spawned:spawn:child#1', kind: 'spawn', data: { 'spawn:child#1': [first[0], '0'] } },
        ])
      })

      it('not at all by a run that has lost its job, or if one of them is refused', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const one = {
          key: 'a',
          hash: '',
          job: prepareJob('child', null, { unique: { key: 'k', onConflict: 'reject' } }),
        }
        const call = { ...ref(parent), after: 0, spawns: [one] }
        expect(await store.durable.spawn(call, OTHER_WORKER)).toBeNull()
        expect(await store.durable.spawn({ ...call, run: 7 }, WORKER)).toBeNull()
        const both = [one, { ...one, key: 'b', job: { ...one.job, id: prepareJob('child', null).id } }]
        await expect(store.durable.spawn({ ...call, spawns: both }, WORKER)).rejects.toMatchObject({
          code: 'UNIQUE_KEY_LIVE',
        })
        expect((await store.list({ topic: 'child' })).items).toEqual([])
        expect(await store.durable.outcomes(parent.id)).toEqual([])
      })
    })

    describe('wake their parent', () => {
      it('when the last of them has ended, however they ended, and it knows which failed', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 3)
        await store.settle([suspend(parent, awaiting(ids))])
        const [a, b, c] = (await claimChildren(store)) as [ClaimedJob, ClaimedJob, ClaimedJob]
        await store.settle([complete(a)])
        await store.settle([fail(b)])
        expect(await read(store, parent.id)).toMatchObject({
          status: 'blocked',
          waits: { for: [{ kind: 'children', name: 'all#1', children: { left: 1, total: 3 } }] },
        })
        expect((await store.explain(parent.id))?.reasons[0]?.text).toBe(
          'Suspended: waits for 1 of 3 children',
        )
        expect((await store.list({ topic: parent.topic })).items[0]?.waits?.for).toMatchObject([
          { children: { left: 1, total: 3 } },
        ])
        await store.cancel([c.id])
        await store.settle([{ ...ref(c), kind: 'cancel' }])
        expect(await read(store, parent.id)).toMatchObject({ status: 'pending', waits: null })
        expect(await groupOf(store, parent.id)).toMatchObject({
          failed: expect.arrayContaining([
            [b.id, 'failed', expect.objectContaining({ message: anError.message })],
            [c.id, 'cancelled', null],
          ]),
        })
        expect(await claimOne(store)).toMatchObject({ id: parent.id, run: 2 })
      })

      it('at once, if they have ended before it is suspended, also in the same call', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 2)
        const [a, b] = (await claimChildren(store)) as [ClaimedJob, ClaimedJob]
        await store.settle([complete(a)])
        await store.settle([suspend(parent, awaiting(ids)), complete(b)])
        expect(await read(store, parent.id)).toMatchObject({ status: 'pending', waits: null })
      })

      it('before its timer is over, and not a second time', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 1)
        const nap: SuspendedWait = { kind: 'timer', name: 'nap', key: 'sleep:nap', delayMs: 60_000 }
        await store.settle([suspend(parent, awaiting(ids), nap)])
        const [child] = (await claimChildren(store)) as [ClaimedJob]
        await store.settle([complete(child)])
        const second = await claimOne(store)
        expect(second).toMatchObject({ id: parent.id, run: 2 })
        await store.settle([complete(second)])
        expect((await store.claim(claiming())).jobs).toEqual([])
      })

      it('of one of two waits when the children of that one have ended', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const [a = '', b = ''] = await spawn(store, parent, 2)
        await store.settle([suspend(parent, awaiting([a, b]), awaiting([b], 'all#2'))])
        const children = await claimChildren(store)
        await store.settle([complete(children.find(({ id }) => id === b) as ClaimedJob)])
        const outcomes = await store.durable.outcomes(parent.id)
        expect(outcomes.flatMap(({ key, kind }) => (kind === 'children' ? [key] : []))).toEqual(['all#2:0'])
        expect(await claimOne(store)).toMatchObject({ id: parent.id })
      })

      it('that runs and looks for their end', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 1)
        const look = async () => {
          const outcomes = [{ key: 'all#1:0', kind: 'children' as const, children: ids }]
          return (await store.durable.record([{ ...ref(parent), after: 1, outcomes }], WORKER)).recorded.get(
            parent.id,
          )
        }
        expect(await look()).toBeUndefined()
        await store.settle([complete((await claimChildren(store))[0] as ClaimedJob)])
        expect(await look()).toMatchObject([{ kind: 'children', data: { failed: [] } }])
      })
    })

    describe('of a live job', () => {
      it('are neither pruned nor deleted nor, once completed, requeued; afterwards they are', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 3)
        const [a, b] = (await claimChildren(store)) as [ClaimedJob, ClaimedJob]
        await store.settle([complete(a), fail(b)])
        bench.clock.advance(1_000)
        const rule = { finishedBefore: bench.clock.now(), limit: 10 }
        const prune = async () =>
          (await store.prune({ status: 'completed', ...rule })) +
          (await store.prune({ status: 'failed', ...rule }))
        expect(await store.requeue([a.id])).toEqual({ done: 0, skipped: { PARENT_LIVE: 1 } })
        expect(await store.delete(ids)).toEqual({ done: 0, skipped: { HAS_DEPENDANTS: 3 } })
        expect(await prune()).toBe(0)
        const [one, two] = await Promise.all([store.durable.results(ids, 100), store.get(a.id)])
        expect([...one.results.keys()]).toEqual([a.id])
        expect(two?.status).toBe('completed')
        await store.settle([complete(parent)])
        expect(await store.requeue([a.id])).toEqual({ done: 1, skipped: {} })
        expect(await prune()).toBeGreaterThan(0)
      })

      it('have results up to a size', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        await spawn(store, parent, 2)
        const children = await claimChildren(store)
        const [small, big] = ['"x"', JSON.stringify('y'.repeat(100_000))]
        await store.settle(
          children.map((run, n) => ({ ...ref(run), kind: 'complete', result: n ? big : small })),
        )
        const ids = children.map(({ id }) => id)
        const { results, bytes } = await store.durable.results(ids, 200_000)
        expect([...results.values()].map((result) => String(result).length).toSorted()).toEqual([1, 100_000])
        expect(bytes).toBeGreaterThan(100_000)
        await expect(store.durable.results(ids, 100_000)).rejects.toMatchObject({ code: 'RESULTS_TOO_LARGE' })
      })
    })

    describe('of a cancelled job', () => {
      it('are cancelled with it, and theirs with them; those to be left, and jobs of others, go on', async () => {
        const store = await bench.openWithClock()
        const unique = { key: 'shared' }
        const [shared = ''] = await store.enqueue([prepareJob('child', null, { unique, queue: 'children' })])
        const parent = await aParent(store)
        const [middle = ''] = await spawn(store, parent, 1)
        const [left = ''] = await spawn(store, parent, 1, { cancels: false, from: 1 })
        expect(await spawn(store, parent, 1, { unique, from: 2 })).toEqual([shared])
        const run = (await claimChildren(store)).find(({ id }) => id === middle) as ClaimedJob
        const [leaf = ''] = await spawn(store, run, 1, { from: 3 })
        await store.settle([suspend(run, awaiting([leaf])), suspend(parent, awaiting([middle, left]))])
        await store.cancel([parent.id])
        const statuses = await Promise.all(
          [middle, leaf, left, shared].map(async (id) => (await read(store, id)).status),
        )
        expect(statuses).toEqual(['cancelled', 'cancelled', 'processing', 'processing'])
      })

      it('that were requeued after it was cancelled go on, whatever else waits for it', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const [child = ''] = await spawn(store, parent, 1)
        await store.settle([{ ...ref(parent), kind: 'cancel' }])
        expect((await read(store, child)).status).toBe('cancelled')
        await store.requeue([child])
        await store.enqueue([
          aJob({ after: [parent.id] }),
          aJob({ after: [parent.id], onParentFailure: 'stop' }),
        ])
        await store.rescue()
        expect((await read(store, child)).status).toBe('pending')
      })
    })

    describe('that failed', () => {
      it('go back with their parent, and their parent with them if it failed because of them', async () => {
        const store = await bench.openWithClock()
        const parent = await aParent(store)
        const ids = await spawn(store, parent, 3)
        const [a, b, c] = (await claimChildren(store)) as [ClaimedJob, ClaimedJob, ClaimedJob]
        await store.settle([fail(a), fail(b), complete(c)])
        const error = { ...anError, code: 'CHILDREN_FAILED' }
        await store.durable.record(
          [{ ...ref(parent), after: 1, outcomes: [{ key: 'all#1:0', kind: 'children', children: ids }] }],
          WORKER,
        )
        await store.settle([{ ...ref(parent), kind: 'fail', error }])
        expect(await store.requeue([a.id])).toEqual({ done: 1, skipped: {} })
        const statuses = await Promise.all(
          [parent.id, ...ids].map(async (id) => (await read(store, id)).status),
        )
        expect(statuses.toSorted()).toEqual(['completed', 'pending', 'pending', 'pending'])
        expect(await groupOf(store, parent.id)).toBeUndefined()
        const again = await claimOne(store)
        await store.settle([suspend(again, awaiting(ids))])
        await store.settle((await claimChildren(store)).map((run) => complete(run)))
        expect(await claimOne(store)).toMatchObject({ id: parent.id, run: 3 })
      })
    })
  })
}
