import { LIMITS, newJobId } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { JobEvent } from '../../src/portable/events/event.ts'
import type { Settlement, Store } from '../../src/store.ts'
import { aJob, anError, Bench, claiming, claimOne, complete, type Dialect, WORKER } from './harness.ts'
import { processesOf } from './processes.ts'

export function describeEvents(dialect: Dialect): void {
  describe('events', () => {
    const bench = new Bench(dialect)
    const children = processesOf(dialect)

    async function enqueueOne(store: Store): Promise<string> {
      const [id = ''] = await store.enqueue([aJob()])
      return id
    }
    const typesOf = (events: readonly JobEvent[]) => events.map((event) => event.type)
    const versionsOf = (events: readonly JobEvent[]) => events.map((event) => event.version)
    const upTo = (version: number) => Array.from({ length: version }, (_, n) => n + 1)

    it('are listed as they were appended, counted from 1, with the time of the store', async () => {
      const store = await bench.openWithClock()
      const id = await enqueueOne(store)
      expect(await store.events.list(id)).toEqual([])
      expect(await store.events.append(id, 0, [{ type: 'plan_generated', data: { steps: 2 } }])).toBe(1)
      const created = bench.clock.now()
      bench.clock.advance(5)
      expect(
        await store.events.append(id, 1, [{ type: 'node_started' }, { type: 'app:x/y.z-1', data: null }]),
      ).toBe(3)
      expect(await store.events.list(id)).toEqual([
        { jobId: id, version: 1, type: 'plan_generated', data: { steps: 2 }, created },
        { jobId: id, version: 2, type: 'node_started', data: null, created: bench.clock.now() },
        { jobId: id, version: 3, type: 'app:x/y.z-1', data: null, created: bench.clock.now() },
      ])
    })

    it.each([
      ['text', 'späte Grüße 你好 🐌 "\\\'{}$1 ?'],
      ['a text that looks like a number', '123'],
      ['a number', 1.5],
      ['false', false],
      ['nested', { a: [1, { b: null }, []], '': {} }],
      ['long', 'x'.repeat(60_000)],
    ])('return their data unchanged: %s', async (_, data) => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      await store.events.append(id, null, [{ type: 'log', data }])
      expect(await store.events.list(id)).toMatchObject([{ data }])
    })

    it('are listed after a version, and page by page', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      const other = await enqueueOne(store)
      await store.events.append(
        id,
        0,
        upTo(25).map((n) => ({ type: `t${n}` })),
      )
      await store.events.append(other, 0, [{ type: 'other' }])
      expect(versionsOf(await store.events.list(id, { limit: 10 }))).toEqual(upTo(10))
      expect(typesOf(await store.events.list(id, { afterVersion: 22 }))).toEqual(['t23', 't24', 't25'])
      expect(versionsOf(await store.events.list(id, { afterVersion: 10, limit: 2 }))).toEqual([11, 12])
      expect(await store.events.list(id, { afterVersion: 25 })).toEqual([])
    })

    it('an append at another version is refused with VERSION_MISMATCH and writes nothing', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      await store.events.append(id, 0, [{ type: 'a' }, { type: 'b' }])
      for (const expected of [0, 1, 3]) {
        await expect(store.events.append(id, expected, [{ type: 'c' }])).rejects.toMatchObject({
          code: 'VERSION_MISMATCH',
          details: { expected, actual: 2 },
        })
      }
      expect(typesOf(await store.events.list(id))).toEqual(['a', 'b'])
    })

    it('when two appends race one wins, every time, and the versions have no gaps', async () => {
      const stores = [await bench.open(), await bench.open()]
      const [first] = stores as [Store, Store]
      const id = await enqueueOne(first)
      for (let round = 0; round < 25; round++) {
        const version = (await first.events.list(id)).length
        const outcomes = await Promise.allSettled(
          stores.map((store, n) =>
            store.events.append(id, version, [{ type: `by_${n}` }, { type: `by_${n}` }]),
          ),
        )
        expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected'])
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected')
            expect(outcome.reason).toMatchObject({ code: 'VERSION_MISMATCH' })
        }
      }
      expect(versionsOf(await first.events.list(id))).toEqual(upTo(50))
    })

    it('several processes append to one stream at once, and each event gets a version of its own', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      const processes = await Promise.all([children.start(bench.url), children.start(bench.url)])
      const types = upTo(20).map((n) => `t${n}`)
      const answers = await Promise.all(
        processes.map((child) => children.tell(child, { do: 'append', jobId: id, types })),
      )
      const versions = answers.flatMap((answer) => answer.versions).sort((a, b) => a - b)
      expect(versions).toEqual(upTo(40))
      expect(versionsOf(await store.events.list(id))).toEqual(upTo(40))
    })

    it('what is appended in one call stays together, however many calls append at once', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      const ends = await Promise.all(
        upTo(20).map((n) =>
          store.events.append(
            id,
            null,
            upTo(3).map(() => ({ type: `by_${n}` })),
          ),
        ),
      )
      const events = await store.events.list(id)
      expect(versionsOf(events)).toEqual(upTo(60))
      ends.forEach((end, i) => {
        expect(typesOf(events.slice(end - 3, end))).toEqual(Array(3).fill(`by_${i + 1}`))
      })
    })

    it('an append of nothing returns the version of the stream', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      await store.events.append(id, 0, [{ type: 'a' }])
      expect(await store.events.append(id, null, [])).toBe(1)
      await expect(store.events.append(id, 0, [])).rejects.toMatchObject({ code: 'VERSION_MISMATCH' })
    })

    it('can be appended to a job that was enqueued again after it had finished', async () => {
      const store = await bench.open()
      const job = aJob()
      await store.enqueue([job])
      await store.events.append(job.id, 0, [{ type: 'first' }])
      await store.settle([complete(await claimOne(store))])
      await store.enqueue([job])
      expect(await store.events.append(job.id, 1, [{ type: 'second' }])).toBe(2)
      expect(await store.events.append(job.id, null, [{ type: 'third' }, { type: 'fourth' }])).toBe(4)
      expect((await store.events.list(job.id)).map(({ version }) => version)).toEqual([1, 2, 3, 4])
    })

    it('can be appended after the job has finished', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      await store.events.append(id, 0, [{ type: 'before' }])
      await store.settle([complete(await claimOne(store))])
      expect(await store.events.append(id, 1, [{ type: 'after' }])).toBe(2)
      expect(typesOf(await store.events.list(id))).toEqual(['before', 'after'])
    })

    it.each([
      ['an id that no job has', newJobId()],
      ['no id at all', 'job-1'],
    ])('of an unknown job, %s, are none, and none can be appended', async (_, id) => {
      const store = await bench.open()
      expect(await store.events.list(id)).toEqual([])
      for (const expected of [null, 0, 3]) {
        await expect(store.events.append(id, expected, [{ type: 'a' }])).rejects.toMatchObject({
          code: 'JOB_NOT_FOUND',
        })
      }
    })

    it.each([
      ['a type with a space', [{ type: 'a b' }], 'INVALID_INPUT'],
      ['an empty type', [{ type: '' }], 'INVALID_INPUT'],
      ['a long type', [{ type: 'x'.repeat(LIMITS.eventTypeLength + 1) }], 'INVALID_INPUT'],
      ['data that is no JSON', [{ type: 'a', data: { n: new Map() } }], 'INVALID_INPUT'],
      ['text that no database stores', [{ type: 'a', data: 'a\0b' }], 'INVALID_TEXT'],
      ['large data', [{ type: 'a', data: 'x'.repeat(LIMITS.eventBytes) }], 'PAYLOAD_TOO_LARGE'],
      ['too many', upTo(LIMITS.events + 1).map(() => ({ type: 'a' })), 'BATCH_TOO_LARGE'],
    ])('are refused together with the rest of their call: %s', async (_, events, code) => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      await expect(store.events.append(id, 0, [{ type: 'good' }, ...events])).rejects.toMatchObject({ code })
      expect(await store.events.list(id)).toEqual([])
    })

    it('as many as the limit allows are appended at once', async () => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      const events = upTo(LIMITS.events).map((n) => ({ type: 'log', data: n }))
      expect(await store.events.append(id, 0, events)).toBe(LIMITS.events)
      expect(await store.events.list(id)).toMatchObject(events)
    })

    it.each([-1, 1.5, Number.NaN, 2 ** 40])('a version of %d is refused', async (version) => {
      const store = await bench.open()
      const id = await enqueueOne(store)
      const code = 'INVALID_INPUT'
      const { signal } = new AbortController()
      await expect(store.events.append(id, version, [])).rejects.toMatchObject({ code })
      await expect(store.events.list(id, { afterVersion: version })).rejects.toMatchObject({ code })
      await expect(async () =>
        store.events.watch(id, { afterVersion: version, signal }),
      ).rejects.toMatchObject({
        code,
      })
    })
  })

  describe('watching events', () => {
    const bench = new Bench(dialect)
    const children = processesOf(dialect)

    /** Reads until it has seen `count` events. */
    async function take(iterable: AsyncIterable<JobEvent>, count: number): Promise<JobEvent[]> {
      const events: JobEvent[] = []
      for await (const event of iterable) if (events.push(event) === count) break
      return events
    }
    const never = new AbortController().signal
    const oneJob = async (store: Store) => (await store.enqueue([aJob()]))[0] ?? ''
    const numbered = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ type: 'log', data: n + 1 }))

    it('yields existing events and then new ones, each once and in order', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      await store.events.append(id, 0, numbered(250))
      const seen = take(store.events.watch(id, { signal: never }), 500)
      for (let version = 250; version < 500; version += 50) {
        await store.events.append(id, version, numbered(50))
      }
      expect((await seen).map((event) => event.version)).toEqual(numbered(500).map(({ data }) => data))
    })

    it('resumes after a version, in another store', async () => {
      const store = await bench.open()
      const other = await bench.open()
      const id = await oneJob(store)
      await store.events.append(id, 0, numbered(5))
      const [last] = (await take(store.events.watch(id, { signal: never }), 3)).slice(-1)
      expect(last?.version).toBe(3)
      const rest = take(other.events.watch(id, { afterVersion: 3, signal: never }), 4)
      await store.events.append(id, 5, numbered(2))
      expect((await rest).map((event) => event.version)).toEqual([4, 5, 6, 7])
    })

    it('sees what other processes append', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      const seen = take(store.events.watch(id, { signal: never }), 10)
      const child = await children.start(bench.url)
      const types = numbered(10).map(({ data }) => `t${data}`)
      await children.tell(child, { do: 'append', jobId: id, types })
      expect((await seen).map((event) => event.type)).toEqual(types)
    })

    it('gives many watchers of many jobs their own events, also two watchers of the same job', async () => {
      const store = await bench.open()
      const ids = await store.enqueue(Array.from({ length: 20 }, () => aJob()))
      const watched = [...ids, ...ids].map(async (id) => ({
        id,
        events: await take(store.events.watch(id, { signal: never }), 3),
      }))
      await Promise.all(
        ids.map((id) =>
          store.events.append(
            id,
            null,
            numbered(3).map((e) => ({ ...e, data: id })),
          ),
        ),
      )
      for (const { id, events } of await Promise.all(watched)) {
        expect(events).toMatchObject([1, 2, 3].map((version) => ({ jobId: id, version, data: id })))
      }
    })

    it('sees a failed run, which is recorded with the settle', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      const seen = take(store.events.watch(id, { signal: never }), 1)
      const { run } = await claimOne(store)
      await store.settle([{ id, run, kind: 'retry', delayMs: 1_000, error: anError }])
      expect(await seen).toMatchObject([{ version: 1, type: 'run_failed' }])
    })

    it('sees runs that were snoozed or interrupted, and no other run', async () => {
      const store = await bench.openWithClock()
      const id = await oneJob(store)
      const outcomes: Settlement[] = [
        { id, run: 1, kind: 'release' },
        { id, run: 2, kind: 'snooze', delayMs: 0 },
        { id, run: 3, kind: 'release', interrupted: true },
        { id, run: 4, kind: 'complete', result: '1' },
      ]
      for (const outcome of outcomes) {
        await claimOne(store)
        expect(await store.settle([outcome])).toMatchObject({ stale: [] })
        // Sent again, as after a lost connection: the events are not written twice.
        await store.settle([outcome])
      }
      const startedAt = expect.stringMatching(/^\d{4}-/)
      expect(await store.events.list(id)).toMatchObject([
        { version: 1, type: 'run_snoozed', data: { run: 2, worker: WORKER, startedAt, delayMs: 0 } },
        { version: 2, type: 'run_interrupted', data: { run: 3, worker: WORKER, startedAt } },
      ])
    })

    it('sees when a run that failed began, also one that was prefetched and short', async () => {
      const store = await bench.openWithClock()
      const id = await oneJob(store)
      const { jobs } = await store.claim(claiming({ start: 0 }))
      await store.settle(jobs.map(({ run }) => ({ id, run, kind: 'retry', delayMs: 0, error: anError })))
      const startedAt = bench.clock.now().toISOString()
      expect(await store.events.list(id)).toMatchObject([{ type: 'run_failed', data: { startedAt } }])
    })

    it('does not see a snooze of a run that was asked to stop: its job is cancelled', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      const { run } = await claimOne(store)
      await store.cancel([id])
      await store.settle([{ id, run, kind: 'snooze', delayMs: 1_000 }])
      expect((await store.events.list(id)).map(({ type }) => type)).toEqual(['cancel_requested'])
    })

    it('sees the snoozes of a job up to its 1,000th event, and failures after that', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      await store.events.append(id, 0, numbered(999))
      for (let n = 0; n < 3; n++) {
        await store.settle([{ ...(await claimOne(store)), kind: 'snooze', delayMs: 0 }])
      }
      await store.settle([{ ...(await claimOne(store)), kind: 'retry', delayMs: 0, error: anError }])
      const events = await store.events.list(id, { afterVersion: 999 })
      expect(events.map(({ type, data }) => [type, (data as { run: number }).run])).toEqual([
        ['run_snoozed', 1],
        ['run_failed', 4],
      ])
    })

    it('ends when its signal aborts: before it starts, while it waits, and while it is being read', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      await store.events.append(id, 0, numbered(3))
      expect(await take(store.events.watch(id, { signal: AbortSignal.abort() }), 1)).toEqual([])
      const waiting = new AbortController()
      const all = take(store.events.watch(id, { signal: waiting.signal }), 99)
      const reading = new AbortController()
      const versions: number[] = []
      for await (const event of store.events.watch(id, { signal: reading.signal })) {
        versions.push(event.version)
        if (event.version === 2) reading.abort()
      }
      expect(versions).toEqual([1, 2])
      waiting.abort()
      expect((await all).length).toBeLessThanOrEqual(3)
    })

    it('of a closed store ends with STORE_CLOSED', async () => {
      const store = await bench.open()
      const id = await oneJob(store)
      const watch = store.events.watch(id, { signal: never })
      const next = watch[Symbol.asyncIterator]().next()
      const ended = expect(next).rejects.toMatchObject({ code: 'STORE_CLOSED' })
      await store.close()
      await ended
      await expect(store.events.list(id)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
      await expect(store.events.append(id, null, [])).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    })
  })
}
