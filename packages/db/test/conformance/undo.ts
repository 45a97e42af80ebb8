import { type EnqueueOptions, type JobId, prepareJob } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { NewOutcome, SuspendedWait } from '../../src/portable/outcomes.ts'
import type { ClaimedJob, RunRef, Settlement, Store } from '../../src/store.ts'
import { claimChildren, spawn } from './children.ts'
import { aJob, anError, Bench, claimOne, type Dialect, LEASE, MINUTE, read, WORKER } from './harness.ts'

const ref = ({ id, run }: RunRef) => ({ id, run })
const settlement = (run: RunRef, rest: { kind: 'undone' | 'cancel' }): Settlement => ({
  ...ref(run),
  ...rest,
})
const fail = (run: RunRef, error = anError): Settlement => ({ ...ref(run), kind: 'fail', error })
const retry = (run: RunRef): Settlement => ({ ...ref(run), kind: 'retry', delayMs: 0, error: anError })
const suspend = (run: RunRef, ...waits: readonly SuspendedWait[]): Settlement => ({
  ...ref(run),
  kind: 'suspend',
  waits,
  progressed: true,
})
const undone = (run: RunRef) => settlement(run, { kind: 'undone' })

const bank: SuspendedWait = { kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 }
const nap: SuspendedWait = { kind: 'timer', name: 'nap', key: 'sleep:nap', delayMs: MINUTE }

const aStep = (name: string): NewOutcome => ({ key: `step:${name}`, kind: 'step', data: '{}' })
const anUndo = (name: string): NewOutcome => ({ key: `undo:${name}`, kind: 'undo' })
const wasUndone = (name: string): NewOutcome => ({ key: `undone:${name}`, kind: 'undone' })

const CRASHED = 'WORKER_CRASHED'

/** Jobs that end badly and have something to undo. */
export function describeUndo(dialect: Dialect): void {
  describe('a job with registered undos', () => {
    const bench = new Bench(dialect)

    const record = (store: Store, run: RunRef, ...outcomes: NewOutcome[]) =>
      store.durable.record([{ ...ref(run), after: 0, outcomes }], WORKER)

    /** A run that has charged and registered how to refund. */
    async function charged(store: Store, options: EnqueueOptions = {}): Promise<ClaimedJob> {
      await store.enqueue([aJob(options)])
      const run = await claimOne(store)
      await record(store, run, aStep('charge'), anUndo('refund'))
      return run
    }

    const keysOf = async (store: Store, id: JobId) => (await store.durable.outcomes(id)).map(({ key }) => key)
    const typesOf = async (store: Store, id: JobId) => (await read(store, id)).events.map(({ type }) => type)

    const undoing = (status: 'failed' | 'cancelled') => ({
      status: 'pending',
      runAt: bench.clock.now(),
      visibleAt: bench.clock.now(),
      ending: { since: bench.clock.now().toISOString(), status },
      waits: null,
      lockedBy: null,
      startedAt: null,
      cancelAt: null,
      retries: 0,
      crashes: 0,
    })

    it('is not undone while it goes on, nor when it completes', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: { max: 1 } })
      expect((await read(store, run.id)).ending).toBeNull()
      expect((await store.settle([retry(run)])).undoing ?? []).toEqual([])
      expect(await read(store, run.id)).toMatchObject({ status: 'pending', retries: 1, ending: null })
      const next = await claimOne(store)
      expect(next.ending).toEqual({})
      await store.settle([{ ...ref(next), kind: 'complete' }])
      expect(await read(store, run.id)).toMatchObject({ status: 'completed', ending: null })
    })

    it.each([
      ['that fails for good', fail],
      ['whose retries are used up', retry],
    ])('%s is undone, and then fails as it would have', async (_, end) => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      expect(await store.settle([end(run)], WORKER)).toMatchObject({ stale: [], undoing: [ref(run)] })
      expect(await read(store, run.id)).toMatchObject({ ...undoing('failed'), lastError: anError })
      expect(await typesOf(store, run.id)).toEqual(['run_failed', 'undoing'])
      bench.clock.advance(MINUTE)
      const next = await claimOne(store)
      expect(next.ending).toMatchObject({
        status: 'failed',
        error: anError,
        fingerprint: anError.fingerprint,
      })
      await record(store, next, wasUndone('refund'))
      expect(await store.settle([undone(next)], WORKER)).toMatchObject({ stale: [] })
      expect(await read(store, run.id)).toMatchObject({
        status: 'failed',
        lastError: anError,
        ending: null,
        finishedAt: bench.clock.now(),
      })
      expect(await store.stats()).toMatchObject({ failed: 1, pending: 0, cancelled: 0 })
      expect(await store.failures()).toMatchObject([{ fingerprint: anError.fingerprint }])
    })

    it('with others in one settle: only it is undone', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.enqueue([aJob({ retry: false }), aJob({ retry: false })])
      const [plain, other] = [await claimOne(store), await claimOne(store)]
      const ended = await store.settle([
        fail(plain),
        fail(run),
        undone({ id: other.id, run: 7 }),
        retry(other),
      ])
      expect(ended).toMatchObject({ stale: [{ id: other.id, run: 7 }], undoing: [ref(run)] })
      expect(await read(store, plain.id)).toMatchObject({ status: 'failed' })
      expect(await read(store, other.id)).toMatchObject({ status: 'failed' })
      expect(await read(store, run.id)).toMatchObject({ status: 'pending' })
    })

    it.each<[string, readonly SuspendedWait[]]>([
      ['without an end', [bank]],
      ['until a moment', [nap]],
      ['for an answer', [{ kind: 'ask', name: 'ok', key: 'ask:ok' }]],
    ])('that is suspended %s and cancelled is undone at once, and then cancelled', async (_, waits) => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      const asking = { name: 'ok', question: 'Go on?', schema: {}, role: 'operator' }
      await record(store, run, { key: 'ask:ok', kind: 'ask', data: JSON.stringify(asking) })
      await store.settle([suspend(run, ...waits)])
      bench.clock.advance(1_000)
      expect(await store.cancel([run.id], { by: 'anna' })).toMatchObject({ done: 1 })
      expect(await read(store, run.id)).toMatchObject({ ...undoing('cancelled'), lastError: null })
      expect(await typesOf(store, run.id)).toEqual(['run_suspended', 'cancelled', 'undoing'])
      expect((await store.explain(run.id))?.reasons[0]).toMatchObject({
        kind: 'undoing',
        text: 'Being undone: will be cancelled',
      })
      expect(await store.questions()).toEqual([])
      // A signal that it no longer waits for changes nothing.
      await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
      const next = await claimOne(store)
      expect(next.ending).toMatchObject({ status: 'cancelled' })
      await store.settle([undone(next)])
      expect(await read(store, run.id)).toMatchObject({ status: 'cancelled', lastError: null, ending: null })
    })

    it('is cancelled only once, waiting or running', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.settle([suspend(run, bank)])
      await store.cancel([run.id])
      const before = await read(store, run.id)
      expect(await store.cancel([run.id])).toEqual({ done: 0, skipped: { UNDOING: 1 } })
      expect(await read(store, run.id)).toEqual(before)
      const next = await claimOne(store)
      expect(await store.cancel([run.id])).toEqual({ done: 0, skipped: { UNDOING: 1 } })
      expect(await read(store, run.id)).toMatchObject({ status: 'processing', cancelAt: null })
      expect(await store.heartbeat({ worker: WORKER, leaseMs: LEASE, runs: [ref(next)] })).toMatchObject({
        cancelled: [],
      })
    })

    it('that is cancelled while it runs is undone by another run', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.cancel([run.id])
      expect(await store.settle([settlement(run, { kind: 'cancel' })])).toMatchObject({ undoing: [ref(run)] })
      expect(await read(store, run.id)).toMatchObject(undoing('cancelled'))
    })

    it('that would be put back after it was cancelled is undone', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.cancel([run.id])
      expect(await store.settle([suspend(run, bank)])).toMatchObject({ undoing: [ref(run)] })
      expect(await read(store, run.id)).toMatchObject(undoing('cancelled'))
    })

    it('is undone after its last crash, and survives two more', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      const crash = async () => {
        bench.clock.advance(LEASE + 1)
        await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: LEASE, topics: ['none'] })
        const { jobs } = await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: LEASE })
        if (jobs[0]) return jobs[0]
        bench.clock.advance(60 * MINUTE)
        return (await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: LEASE })).jobs[0]
      }
      const first = await crash()
      expect(first).toMatchObject({ id: run.id, crashes: 0 })
      expect(first?.ending).toMatchObject({ status: 'failed', error: { code: CRASHED } })
      expect(await crash()).toMatchObject({ id: run.id, crashes: 1, ending: { status: 'failed' } })
      expect(await crash()).toMatchObject({ id: run.id, crashes: 2, ending: { status: 'failed' } })
      expect(await crash()).toBeUndefined()
      expect(await read(store, run.id)).toMatchObject({ status: 'failed', lastError: { code: CRASHED } })
      expect((await read(store, run.id)).lastError?.causes).toMatchObject([{ code: CRASHED }])
    })

    it('keeps the reason of its end among the causes if its undoing crashes too often', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.settle([fail(run)])
      for (let n = 0; n < 3; n++) {
        expect((await claimOne(store)).ending?.status).toBe('failed')
        bench.clock.advance(LEASE + 1)
        // Expires the lease; the job backs off.
        await store
          .claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: LEASE })
          .then(({ jobs }) => store.settle(jobs.map((job) => ({ ...ref(job), kind: 'release' as const }))))
        bench.clock.advance(60 * MINUTE)
      }
      const { fingerprint: _, ...reason } = anError
      expect(await read(store, run.id)).toMatchObject({
        status: 'failed',
        lastError: { code: CRASHED, causes: [reason] },
      })
    })

    it('has three retries of its own, and is not cancelled by a release', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.settle([fail(run)])
      const late = { ...anError, message: 'took too long', fingerprint: 'late' }
      for (let n = 0; n < 3; n++) {
        const next = await claimOne(store)
        await store.settle([{ ...ref(next), kind: 'retry', delayMs: 0, error: late }])
        expect(await read(store, run.id)).toMatchObject({
          status: 'pending',
          retries: n + 1,
          lastError: late,
        })
      }
      const again = await claimOne(store)
      await store.settle([{ ...ref(again), kind: 'release' }])
      const last = await claimOne(store)
      await store.settle([undone(last)])
      // Why it failed, and not what went wrong while it was undone.
      expect(await read(store, run.id)).toMatchObject({ status: 'failed', lastError: anError })
    })

    it('fails with the error of its undoing if that fails', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.settle([suspend(run, bank)])
      await store.cancel([run.id])
      const error = { ...anError, message: 'refund: no route' }
      await store.settle([fail(await claimOne(store), error)])
      expect(await read(store, run.id)).toMatchObject({ status: 'failed', lastError: error, ending: null })
    })

    it('is retrying while it waits to repeat an undo, and ends as it had to', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.settle([fail(run)])
      const error = { ...anError, message: 'refund: no route', fingerprint: 'beef' }
      const pause: SuspendedWait = { ...nap, kind: 'retry', name: 'refund', key: 'undo_retry:refund#1' }
      await store.settle([
        { ...ref(await claimOne(store)), kind: 'suspend', waits: [pause], progressed: true, error },
      ])
      expect(await read(store, run.id)).toMatchObject({ lastError: error, retries: 0 })
      const nextTryAt = new Date(bench.clock.now().getTime() + MINUTE)
      expect(await store.failures()).toMatchObject([
        { fingerprint: 'beef', retrying: 0, undoing: 1, failed: 0, nextTryAt },
      ])
      bench.clock.advance(MINUTE)
      await store.settle([undone(await claimOne(store))])
      expect(await read(store, run.id)).toMatchObject({ status: 'failed', lastError: anError })
      expect(await store.failures()).toMatchObject([{ fingerprint: anError.fingerprint, failed: 1 }])
    })

    it('may be suspended while it is undone', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await store.settle([fail(run)])
      await store.settle([suspend(await claimOne(store), { ...nap, key: 'undo_retry:refund#1' })])
      expect(await read(store, run.id)).toMatchObject({
        waits: { for: [{ name: 'nap' }] },
        ending: { status: 'failed' },
      })
      expect(await store.cancel([run.id])).toEqual({ done: 0, skipped: { UNDOING: 1 } })
      bench.clock.advance(MINUTE)
      expect(await claimOne(store)).toMatchObject({ id: run.id, ending: { status: 'failed' } })
    })

    it('is named so among those that failed like it, in families and trees, and in what an action would find', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      const child = aJob({ topic: 'child', parentId: run.id, delay: MINUTE })
      await store.enqueue([child])
      await store.settle([fail(run)])
      const ending = { since: bench.clock.now().toISOString(), status: 'failed' }
      const { fingerprint } = anError
      expect(await store.failures()).toMatchObject([{ fingerprint, retrying: 0, undoing: 1, failed: 0 }])
      expect(await store.family(child.id)).toMatchObject({
        parent: { id: run.id, ending, isSuspended: false },
      })
      const tree = await store.tree(run.id)
      expect(tree?.counts).toMatchObject({ undoing: 1, pending: 1, suspended: 0 })
      expect(tree?.jobs.find(({ id }) => id === run.id)).toMatchObject({ ending, isSuspended: false })
      const asOf = bench.clock.now()
      const found = await store.bulkOperations.preview({ topic: 'mail_digest' }, asOf)
      expect(found.byStatus).toEqual({ undoing: 1 })

      const undoing = await claimOne(store)
      await store.settle([retry(undoing)])
      expect(await store.failures()).toMatchObject([{ fingerprint, retrying: 0, undoing: 1, failed: 0 }])
      await record(store, await claimOne(store), wasUndone('refund'))
      await store.settle([undone({ id: run.id, run: 3 })])
      expect(await store.failures()).toMatchObject([{ fingerprint, retrying: 0, undoing: 0, failed: 1 }])
    })

    it('is undone when its parent is cancelled', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const parent = await claimOne(store)
      const [child = ''] = await spawn(store, parent, 1)
      const [run] = await claimChildren(store)
      if (!run) throw new Error('there is no child')
      await record(store, run, anUndo('refund'))
      await store.settle([suspend(run, bank)])
      await store.cancel([parent.id])
      await store.settle([settlement(parent, { kind: 'cancel' })])
      expect(await read(store, child)).toMatchObject(undoing('cancelled'))
      await store.rescue()
      const next = await claimOne(store, { queues: ['children'] })
      await store.rescue()
      await store.settle([undone(next)])
      expect(await read(store, child)).toMatchObject({ status: 'cancelled' })
    })

    it('keeps those that wait for it waiting until it is undone', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      const [after = ''] = await store.enqueue([aJob({ after: [run.id], onParentFailure: 'cancel' })])
      await store.settle([fail(run)])
      expect(await read(store, after)).toMatchObject({ status: 'blocked' })
      await store.settle([undone(await claimOne(store))])
      expect(await read(store, after)).toMatchObject({ status: 'cancelled' })
    })

    it('is neither deleted nor replaced, and gets no other payload while it is undone', async () => {
      const store = await bench.openWithClock()
      const unique = { key: 'order' }
      const run = await charged(store, { unique, retry: { max: 1 } })
      await store.settle([retry(run)])
      expect(await store.delete([run.id])).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
      const replacing = aJob({ unique: { ...unique, onConflict: 'replace' } })
      await expect(store.enqueue([replacing])).rejects.toMatchObject({ code: 'UNIQUE_KEY_LIVE' })
      await store.settle([retry(await claimOne(store))])
      const { updated } = await read(store, run.id)
      const change = { id: run.id, run: run.run + 1, updated, payload: '1' }
      await expect(store.requeueWithPayload(change)).rejects.toMatchObject({ code: 'INVALID_STATE' })
      // The run that undoes it has no successor that could end it.
      const next = await claimOne(store)
      await store.enqueue([replacing])
      await store.settle([{ ...ref(next), kind: 'release' }])
      expect(await read(store, run.id)).toMatchObject({ status: 'pending', ending: { status: 'failed' } })
    })

    it('is undone if it is replaced while it runs, and would go on', async () => {
      const store = await bench.openWithClock()
      const unique = { key: 'order' }
      const run = await charged(store, { unique })
      const [next = ''] = await store.enqueue([aJob({ unique: { ...unique, onConflict: 'replace' } })])
      await store.settle([retry(run)])
      expect(await read(store, run.id)).toMatchObject(undoing('cancelled'))
      expect(await read(store, next)).toMatchObject({ status: 'blocked' })
      await store.settle([undone(await claimOne(store))])
      expect(await read(store, run.id)).toMatchObject({ status: 'cancelled' })
      expect(await read(store, next)).toMatchObject({ status: 'pending' })
    })

    it('repeats, when it is requeued, all that was recorded after its last undo that did not run', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await record(store, run, aStep('book'), anUndo('unbook'))
      const job = prepareJob('child', 0, { parentId: run.id, queue: 'children' })
      const spawns = [{ key: 'spawn:child#1', hash: 'x', job, child: { cancels: true } }]
      await store.durable.spawn({ ...ref(run), after: 0, spawns }, WORKER)
      await store.settle([{ ...ref((await claimChildren(store))[0] as ClaimedJob), kind: 'complete' }])
      await record(store, run, aStep('ship'), anUndo('unship'), aStep('mail'))
      await store.durable.signal({ id: run.id, name: 'bank', data: '1', key: 'k' })
      await store.settle([fail(run)])
      const next = await claimOne(store)
      await record(store, next, wasUndone('unship'), wasUndone('unbook'))
      await store.settle([fail(next, { ...anError, message: 'no refund' })])
      await store.requeue([run.id])
      expect(await keysOf(store, run.id)).toEqual(['step:charge', 'undo:refund', 'signal:bank:key:k'])
      // What is left to undo is known, and the child is made again.
      const again = await claimOne(store)
      expect(again.ending).toEqual({})
      const [child = ''] = await spawn(store, again, 1)
      await store.settle([fail((await claimChildren(store))[0] as ClaimedJob)])
      await store.settle([fail(again)])
      expect(await read(store, run.id)).toMatchObject(undoing('failed'))
      expect((await store.family(run.id))?.children.map(({ id }) => id)).toContain(child)
    })

    it('forgets everything but its signals when all of it was undone', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.settle([fail(run)])
      const next = await claimOne(store)
      await record(store, next, { key: 'undo_retry:refund#1', kind: 'timer' }, wasUndone('refund'))
      await store.settle([undone(next)])
      await store.requeue([run.id])
      expect(await keysOf(store, run.id)).toEqual([])
      expect((await claimOne(store)).ending).toBeNull()
    })

    it('repeats what was undone also when it is requeued from a later step', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store)
      await record(store, run, aStep('ship'), anUndo('recall'))
      await store.settle([fail(run)], WORKER)
      const next = await claimOne(store)
      await record(store, next, wasUndone('recall'), wasUndone('refund'))
      await store.settle([undone(next)], WORKER)
      await store.requeueFrom({ id: run.id, step: 'ship' })
      expect(await keysOf(store, run.id)).toEqual([])
    })

    it('keeps its undos when it is requeued after it completed, or before one ran', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.settle([{ ...ref(run), kind: 'complete' }])
      await store.requeue([run.id])
      const second = await claimOne(store)
      await store.settle([fail(second)])
      expect(await read(store, run.id)).toMatchObject(undoing('failed'))
      const third = await claimOne(store)
      await record(store, third, { key: 'undo_retry:refund#1', kind: 'timer' })
      await store.settle([fail(third)])
      await store.requeue([run.id])
      expect(await keysOf(store, run.id)).toEqual(['step:charge', 'undo:refund'])
      expect((await claimOne(store)).ending).toEqual({})
    })

    it('tells its undos in its timeline', async () => {
      const store = await bench.openWithClock()
      const run = await charged(store, { retry: false })
      await store.settle([fail(run)])
      const next = await claimOne(store)
      await record(store, next, wasUndone('refund'))
      await store.settle([undone(next)])
      const story = (await store.timeline(run.id))?.entries.map(({ kind, name }) => [kind, name])
      expect(story).toContainEqual(['undo', 'refund'])
      expect(story).toContainEqual(['undone', 'refund'])
    })
  })
}
