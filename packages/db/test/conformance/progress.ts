import { describe, expect, it } from 'vitest'
import type { RunRef } from '../../src/store.ts'
import {
  aJob,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  LEASE,
  OTHER_WORKER,
  read,
} from './harness.ts'

/** A claimed job with a cursor of its own. */
const ref = ({ id, run }: RunRef): RunRef => ({ id, run })

/** What runs report before they end. */
export function describeProgress(dialect: Dialect): void {
  describe('updates of runs', () => {
    const bench = new Bench(dialect)
    const eventsOf = async (id: string) =>
      (await read(await bench.openWithClock(), id)).events.map(({ version, type, data }) => [
        version,
        type,
        data,
      ])

    it('progress, cursor and events are visible while the job runs, and afterwards', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      const events = [{ type: 'log', data: { message: 'half' } }, { type: 'node_started' }]
      expect(
        await store.recordProgress([{ ...ref(job), progress: '{"done":1}', cursor: '"page 2"', events }]),
      ).toEqual({
        stale: [],
      })
      const told = { progress: { done: 1 }, cursor: 'page 2' }
      expect(await read(store, job.id)).toMatchObject({ ...told, status: 'processing', run: 1 })
      expect(await eventsOf(job.id)).toEqual([
        [1, 'log', { message: 'half' }],
        [2, 'node_started', null],
      ])
      await store.settle([complete(job)])
      expect(await read(store, job.id)).toMatchObject({ ...told, status: 'completed' })
      expect(await eventsOf(job.id)).toHaveLength(2)
    })

    it('events keep the time at which they happened, by their age', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      const now = bench.clock.advance(10_000)
      const events = [
        { type: 'a', ageMs: 900 },
        { type: 'b', ageMs: 299.6 },
        { type: 'c', ageMs: -5 },
        { type: 'd' },
      ]
      await store.recordProgress([{ ...ref(job), events }])
      const stored = (await read(store, job.id)).events
      expect(stored.map(({ type, created }) => [type, now.getTime() - created.getTime()])).toEqual([
        ['a', 900],
        ['b', 300],
        ['c', 0],
        ['d', 0],
      ])
    })

    it('what an update does not name stays as it is, and the last of several updates wins', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      await store.recordProgress([{ id, run, progress: '1', cursor: '{"after":7}' }])
      await store.recordProgress([
        { id, run, progress: '2', events: [{ type: 'a' }] },
        { id, run, progress: '3' },
      ])
      await store.recordProgress([
        { id, run, events: [{ type: 'b' }] },
        { id, run, events: [{ type: 'c' }] },
      ])
      expect(await read(store, id)).toMatchObject({ progress: 3, cursor: { after: 7 } })
      expect((await eventsOf(id)).map(([, type]) => type)).toEqual(['a', 'b', 'c'])
    })

    it('a later run finds the cursor of the run before', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      await store.recordProgress([{ ...ref(job), cursor: '{"page":2}' }])
      await store.settle([{ ...job, kind: 'release' }])
      expect(await claimOne(store)).toMatchObject({ run: 2, cursor: { page: 2 } })
    })

    it('a stale update changes nothing and is reported; the others of the batch are written', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob(), aJob(), aJob()])
      const { jobs } = await store.claim(claiming())
      const [lost, settled, mine] = jobs as [(typeof jobs)[0], (typeof jobs)[0], (typeof jobs)[0]]
      await store.settle([complete(settled), { ...lost, kind: 'release' }])
      const taken = await claimOne(store, { worker: OTHER_WORKER })
      const update = { progress: '"late"', events: [{ type: 'late' }] }
      const recorded = await store.recordProgress(
        [lost, settled, mine, taken].map((job) => ({ ...ref(job), ...update })),
      )
      expect(recorded.stale).toHaveLength(2)
      expect(recorded.stale).toEqual(expect.arrayContaining([lost, settled].map(ref)))
      const progress = async (id: string) => (await read(store, id)).progress
      expect(await progress(settled.id)).toBeNull()
      expect(await progress(mine.id)).toBe('late')
      expect(await progress(taken.id)).toBe('late')
      expect(await eventsOf(taken.id)).toHaveLength(1)
      expect(await eventsOf(settled.id)).toEqual([])
    })

    it('a run whose lease has expired may still update, until the job is claimed again', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      bench.clock.advance(LEASE + 1)
      expect(await store.recordProgress([{ ...ref(job), progress: '1' }])).toEqual({ stale: [] })
      await claimOne(store, { worker: OTHER_WORKER })
      expect(await store.recordProgress([{ ...ref(job), progress: '2' }])).toEqual({ stale: [ref(job)] })
    })

    it('events of a run keep their order while others append to the same stream', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      const types = (prefix: string) => Array.from({ length: 5 }, (_, n) => ({ type: `${prefix}.${n}` }))
      await Promise.all(
        Array.from({ length: 10 }, (_, n) => [
          store.recordProgress([{ ...ref(job), events: types(`update${n}`) }]),
          store.events.append(job.id, null, types(`append${n}`)),
        ]).flat(),
      )
      const stream = (await read(store, job.id)).events
      expect(stream.map(({ version }) => version)).toEqual(stream.map((_, n) => n + 1))
      expect(stream).toHaveLength(100)
      for (const prefix of ['update0', 'update9', 'append0', 'append9']) {
        const own = stream.map(({ type }) => type).filter((type) => type.startsWith(`${prefix}.`))
        expect(own).toEqual(types(prefix).map(({ type }) => type))
      }
    })

    it('updates, heartbeats and settles of the same runs never deadlock', async () => {
      const store = await bench.open()
      await store.enqueue(Array.from({ length: 200 }, () => aJob()))
      const { jobs } = await store.claim(claiming({ limit: 200 }))
      for (let n = 0; n < jobs.length; n += 20) {
        const batch = jobs.slice(n, n + 20)
        const updates = batch.map((job) => ({ ...ref(job), progress: '1', events: [{ type: 'log' }] }))
        const [, , settled] = await Promise.all([
          store.recordProgress(updates.toReversed()),
          store.heartbeat({ worker: claiming().worker, leaseMs: LEASE, runs: batch }),
          store.settle(batch.map((job) => complete(job))),
        ])
        expect(settled).toEqual({ stale: [], refused: [] })
      }
      expect(await store.stats()).toMatchObject({ completed: 200, processing: 0 })
    })

    it('refuses an event without a proper type, and writes nothing', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const job = await claimOne(store)
      const update = { ...ref(job), progress: '1', events: [{ type: 'no spaces' }] }
      await expect(store.recordProgress([update])).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect((await read(store, job.id)).progress).toBeNull()
    })
  })
}
