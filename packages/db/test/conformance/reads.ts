import { JOB_STATUSES, type JobSummary } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { JobFilter, Store } from '../../src/store.ts'
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
  someJobs,
} from './harness.ts'

export function describeReads(dialect: Dialect): void {
  describe('reads', () => {
    const bench = new Bench(dialect)
    const invalid = expect.objectContaining({ code: 'INVALID_INPUT' })

    it('get returns null for an unknown id', async () => {
      const store = await bench.open()
      expect(await store.get(aJob().id)).toBeNull()
      expect(await store.get('no id at all')).toBeNull()
      expect(await store.requeue(['no id at all'])).toEqual({ done: 0, skipped: { JOB_NOT_FOUND: 1 } })
    })

    it('glance returns the state of many jobs at once, live or finished, and leaves out unknown ids', async () => {
      const store = await bench.openWithClock()
      const [first, second, third] = someJobs(3)
      if (!first || !second || !third) return expect.unreachable()
      await store.enqueue([first, second, third])
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      bench.clock.advance(5)
      await store.settle([complete(jobs[0] ?? expect.unreachable(), '{"sent":3}')])
      const ids = [first.id, second.id, third.id, first.id, aJob().id, 'no id at all']
      const glances = await store.glance(ids)
      expect([...glances.keys()].sort()).toEqual([first.id, second.id, third.id].sort())
      for (const [id, seen] of glances) {
        const { topic, status, run, runAt, progress, created, updated } = await read(store, id)
        expect(seen).toEqual({ topic, status, run, runAt, progress, created, updated })
      }
      expect(new Set([...glances.values()].map(({ status }) => status))).toEqual(
        new Set(['completed', 'processing', 'pending']),
      )
      expect(await store.glance([])).toEqual(new Map())
    })

    it('list shows live and finished jobs together, the newest first, page by page', async () => {
      const store = await bench.openWithClock()
      const ids: string[] = []
      for (let i = 0; i < 6; i++) {
        ids.unshift(...(await store.enqueue([aJob()])))
        bench.clock.advance(1)
      }
      const { jobs } = await store.claim(claiming({ limit: 4 }))
      const [a, b, c] = jobs
      if (a && b && c)
        await store.settle([complete(a), { ...b, kind: 'fail', error: anError }, { ...c, kind: 'cancel' }])
      const page = await store.list({}, { limit: 4 })
      const byOffset = await store.list({}, { limit: 4, offset: 4 })
      const byCursor = await store.list({}, { limit: 4, cursor: page.nextCursor ?? '' })
      expect([...page.items, ...byOffset.items].map((job) => job.id)).toEqual(ids)
      expect(byCursor.items).toEqual(byOffset.items)
      expect(byCursor.nextCursor).toBeNull()
      expect([page.total, byOffset.total, byCursor.total]).toEqual([6, 6, 6])
    })

    it('list shows the oldest first where that is asked for, however many a page holds', async () => {
      const store = await bench.openWithClock()
      const ids: string[] = []
      for (let i = 0; i < 5; i++) {
        ids.push(...(await store.enqueue(someJobs(60, { topic: `t${i % 2}` }))).sort())
        bench.clock.advance(1)
      }
      await store.settle((await store.claim(claiming({ limit: 90 }))).jobs.map((job) => complete(job)))
      for (const limit of [7, 250]) {
        const first = await store.list({}, { order: 'oldest', limit })
        const second = await store.list({}, { order: 'oldest', limit, cursor: first.nextCursor ?? '' })
        expect([...first.items, ...second.items].map((job) => job.id)).toEqual(ids.slice(0, 2 * limit))
        expect([first.total, second.total]).toEqual([300, 300])
      }
    })

    it('list tells of each job what get tells, but for payload, result and events', async () => {
      const store = await bench.openWithClock()
      const options = {
        meta: { agent: 'a' },
        concurrencyKey: 'k',
        concurrencyLimit: 2,
        trace: '00-1-2-03',
        retry: { max: 2 },
      }
      await store.enqueue(someJobs(5, options))
      const { jobs } = await store.claim(claiming({ limit: 2 }))
      const [a, b] = jobs
      if (!a || !b) return expect.unreachable()
      await store.settle([{ ...a, kind: 'fail', error: anError }])
      await store.cancel([b.id])
      await store.enqueue([aJob({ after: [b.id] })])
      const { items } = await store.list()
      expect(items).toHaveLength(6)
      for (const item of items) {
        const { payload, result, events, ...job } = await read(store, item.id)
        expect(item).toEqual(job)
      }
    })

    describe('list filters', () => {
      const matching = async (store: Store, filter: JobFilter) => {
        const { items, total, totalIsExact } = await store.list(filter)
        expect({ total, totalIsExact }).toEqual({ total: items.length, totalIsExact: true })
        return items.map(({ id }) => id).sort()
      }

      it('by status, queue and topic', async () => {
        const store = await bench.open()
        const [a, b, c] = [aJob({ topic: 'a' }), aJob({ topic: 'b' }), aJob({ topic: 'a', queue: 'other' })]
        await store.enqueue([a, b, c])
        await store.settle((await store.claim(claiming({ topics: ['b'] }))).jobs.map((job) => complete(job)))
        expect(await matching(store, { topic: 'a' })).toEqual([a.id, c.id].sort())
        expect(await matching(store, { topic: 'a', queue: 'other' })).toEqual([c.id])
        expect(await matching(store, { queue: 'default' })).toEqual([a.id, b.id].sort())
        expect(await matching(store, { status: 'completed' })).toEqual([b.id])
        expect(await matching(store, { status: 'failed' })).toEqual([])
        expect(await matching(store, { topic: 'c' })).toEqual([])
      })

      it('by several statuses, of live and finished jobs', async () => {
        const store = await bench.open()
        const [a, b, c, d] = someJobs(4)
        if (!a || !b || !c || !d) return expect.unreachable()
        await store.enqueue([a, b, c, d])
        const { jobs } = await store.claim(claiming({ limit: 3 }))
        const [done, failing, running] = jobs
        if (!done || !failing || !running) return expect.unreachable()
        await store.settle([complete(done), { ...failing, kind: 'fail', error: anError }])
        const [waiting] = [a, b, c, d].filter(({ id }) => jobs.every((job) => job.id !== id))
        const ids = (...known: ({ id: string } | undefined)[]) => known.map((job) => job?.id ?? '').sort()
        expect(await matching(store, { status: ['failed'] })).toEqual(ids(failing))
        expect(await matching(store, { status: ['failed', 'completed'] })).toEqual(ids(failing, done))
        expect(await matching(store, { status: ['pending', 'failed', 'failed'] })).toEqual(
          ids(waiting, failing),
        )
        expect(await matching(store, { status: ['processing', 'pending', 'blocked'] })).toEqual(
          ids(running, waiting),
        )
        expect((await store.list({ status: [...JOB_STATUSES] })).total).toBe(4)
      })

      it('by the kind of pending jobs: due, due later, or due again after a failed run', async () => {
        const store = await bench.openWithClock()
        const [again] = await store.enqueue([aJob()])
        await store.settle([{ ...(await claimOne(store)), kind: 'retry', delayMs: MINUTE, error: anError }])
        const [later] = await store.enqueue([aJob({ delay: 2 * MINUTE })])
        const [due, done] = await store.enqueue(someJobs(2))
        await store.cancel([done ?? ''])
        const kinds = async () =>
          [
            await matching(store, { status: 'waiting' }),
            await matching(store, { status: 'scheduled' }),
            await matching(store, { status: 'retrying' }),
          ] as const
        expect(await kinds()).toEqual([[due], [later], [again]])
        expect(await store.stats()).toMatchObject({ pending: 3, waiting: 1, scheduled: 1, retrying: 1 })
        expect(await store.list({ status: 'retrying' })).toMatchObject({ total: 1, totalIsExact: true })
        const both = [again ?? '', done ?? ''].sort()
        expect(await matching(store, { status: ['cancelled', 'retrying'] })).toEqual(both)
        for (const status of [
          ['waiting', 'scheduled', 'retrying'],
          ['pending', 'retrying'],
        ] as const)
          expect(await matching(store, { status: [...status] })).toEqual([again, later, due].sort())

        const asOf = bench.clock.now()
        bench.clock.advance(3 * MINUTE)
        expect(await kinds()).toEqual([[later, due].sort(), [], [again]])
        // An action takes what matched at its moment: the scheduled job has become due since.
        expect(await store.cancel({ status: 'scheduled' }, { asOf })).toEqual({ done: 1, skipped: {} })
        expect(await store.requeue([done ?? ''])).toEqual({ done: 1, skipped: {} })
        expect(await kinds()).toEqual([[due, done].sort(), [], [again]])
      })

      it('by queue among those that finished, also where an index cannot tell two queues apart', async () => {
        const store = await bench.open()
        // The hashes of these names begin with the same byte on Postgres.
        const [a, b] = [aJob({ queue: 'queue-22' }), aJob({ queue: 'queue-29' })]
        await store.enqueue([a, b])
        const queues = [a.queue, b.queue]
        await store.settle(
          (await store.claim(claiming({ queues, limit: 2 }))).jobs.map((job) => complete(job)),
        )
        expect(await matching(store, { queue: 'queue-22' })).toEqual([a.id])
        expect(await matching(store, { queue: 'queue-29', status: 'completed' })).toEqual([b.id])
        expect(await matching(store, { status: 'completed' })).toEqual([a.id, b.id].sort())
        expect(
          await store.prune({ status: 'completed', finishedBefore: new Date(Date.now() + MINUTE) }),
        ).toBe(2)
        expect(await matching(store, {})).toEqual([])
      })

      it('by meta: all of the given values must match, with their types', async () => {
        const store = await bench.open()
        const metas = [
          { a: 1 },
          { a: '1' },
          { a: true },
          { a: 1, b: 'x' },
          { 'odd "key".[0]': 0.5 },
          { a: [1] },
          undefined,
        ]
        const jobs = metas.map((meta) => aJob(meta ? { meta } : {}))
        await store.enqueue(jobs)
        await store.settle((await store.claim(claiming({ limit: 4 }))).jobs.map((job) => complete(job)))
        const idsOf = (...places: number[]) => places.map((i) => jobs[i]?.id).sort()
        expect(await matching(store, { meta: { a: 1 } })).toEqual(idsOf(0, 3))
        expect(await matching(store, { meta: { a: '1' } })).toEqual(idsOf(1))
        expect(await matching(store, { meta: { a: true } })).toEqual(idsOf(2))
        expect(await matching(store, { meta: { a: false } })).toEqual([])
        expect(await matching(store, { meta: { a: 1, b: 'x' } })).toEqual(idsOf(3))
        expect(await matching(store, { meta: { 'odd "key".[0]': 0.5 } })).toEqual(idsOf(4))
        expect(await matching(store, { meta: { b: 'y' } })).toEqual([])
        expect((await store.list({ meta: {} })).total).toBe(7)
      })

      it('by meta together with every other filter, with the same result as a search without an index', async () => {
        const store = await bench.openWithClock()
        const start = bench.clock.now()
        for (let i = 0; i < 8; i++) {
          const topic = i % 2 ? 'odd' : 'even'
          const queue = i % 4 < 2 ? 'default' : 'other'
          await store.enqueue(
            [0, 1, 2].map((agent) =>
              aJob({ topic, queue, payload: { text: `no ${i}` }, meta: { agent, at: i } }),
            ),
          )
          bench.clock.advance(1_000)
        }
        const { jobs } = await store.claim(claiming({ queues: ['default', 'other'], limit: 16 }))
        await store.settle(
          jobs.map(({ id, run }, i) =>
            i % 3 ? complete({ id, run }) : { id, run, kind: 'fail' as const, error: anError },
          ),
        )
        const { items: all } = await store.list({}, { limit: 1_000 })
        const agent = { meta: { agent: 1 } }
        const created = { createdFrom: new Date(start.getTime() + 2_000), createdTo: bench.clock.now() }
        const others: [JobFilter, (job: JobSummary) => boolean][] = [
          [{}, () => true],
          ...JOB_STATUSES.map((status): [JobFilter, (job: JobSummary) => boolean] => [
            { status },
            (job) => job.status === status,
          ]),
          [{ queue: 'other' }, (job) => job.queue === 'other'],
          [{ topic: 'odd', status: 'failed' }, (job) => job.topic === 'odd' && job.status === 'failed'],
          [{ fingerprint: 'f00d' }, (job) => job.lastError?.fingerprint === 'f00d'],
          [created, (job) => job.created >= created.createdFrom],
          [{ ...created, payloadText: 'no 5' }, (job) => job.meta?.at === 5],
          [{ idPrefix: all[4]?.id.slice(0, 3) ?? '' }, () => true],
          [{ idPrefix: all[4]?.id ?? '' }, (job) => job.id === all[4]?.id],
          [{ idSuffix: all[4]?.id.slice(-8) ?? '' }, (job) => job.id === all[4]?.id],
          [{ errorText: 'userid' }, (job) => job.lastError !== null],
        ]
        for (const [other, fits] of others) {
          const expected = all.filter((job) => job.meta?.agent === 1 && fits(job)).map(({ id }) => id)
          const found = await store.list({ ...other, ...agent })
          expect(
            found.items.map(({ id }) => id),
            JSON.stringify(other),
          ).toEqual(expected)
          expect(found).toMatchObject({ total: expected.length, totalIsExact: true, nextCursor: null })
          expect((await store.list({ ...other, meta: { agent: 3 } })).items).toEqual([])
        }
      })

      it('by meta, however long its keys and values are', async () => {
        const store = await bench.open()
        const long = 'x'.repeat(3_000)
        const jobs = ['1', '2'].map((end) => aJob({ meta: { [long]: end, text: `${long}${end}` } }))
        await store.enqueue(jobs)
        expect(await matching(store, { meta: { [long]: '2' } })).toEqual([jobs[1]?.id])
        expect(await matching(store, { meta: { text: `${long}1` } })).toEqual([jobs[0]?.id])
        expect(await matching(store, { meta: { text: long } })).toEqual([])
      })

      it('by the meta that a job has now, in whichever table it is, until it is removed', async () => {
        const store = await bench.openWithClock()
        const unique = { key: 'k', onConflict: 'replace' as const }
        const [id = ''] = await store.enqueue([aJob({ unique, meta: { agent: 'a' } })])
        await store.enqueue([aJob({ unique, meta: { agent: 'b' } })])
        expect(await matching(store, { meta: { agent: 'a' } })).toEqual([])
        const agent = { meta: { agent: 'b' } }
        expect(await matching(store, agent)).toEqual([id])
        await store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }])
        expect(await matching(store, agent)).toEqual([id])
        await store.requeue(agent)
        expect(await matching(store, { ...agent, status: 'pending' })).toEqual([id])
        await store.settle([{ ...(await claimOne(store)), kind: 'fail', error: anError }])
        const [child = ''] = await store.enqueue([aJob({ ...agent, after: [id], onParentFailure: 'stop' })])
        expect(await matching(store, { ...agent, status: 'failed' })).toEqual([id, child].sort())
        const [waiting = ''] = await store.enqueue([aJob(agent)])
        expect(await store.delete([id, waiting])).toEqual({ done: 2, skipped: {} })
        expect(await matching(store, agent)).toEqual([child])
        bench.clock.advance(1_000)
        await store.prune({ status: 'failed', finishedBefore: bench.clock.now() })
        expect(await store.list(agent)).toMatchObject({ items: [], total: 0 })
      })

      it('by fingerprint: jobs that failed with it or are retried after it, not those that recovered', async () => {
        const store = await bench.openWithClock()
        await store.enqueue(someJobs(4))
        const [a, b, c, d] = (await store.claim(claiming())).jobs
        if (!a || !b || !c || !d) return expect.unreachable()
        const error = { ...anError, fingerprint: 'beef' }
        await store.settle([
          { ...a, kind: 'fail', error: anError },
          { ...b, kind: 'fail', error },
          { ...c, kind: 'retry', delayMs: 0, error: anError },
          { ...d, kind: 'retry', delayMs: 0, error: anError },
        ])
        await store.settle((await store.claim(claiming({ limit: 1 }))).jobs.map((job) => complete(job)))
        const retried = (await read(store, c.id)).status === 'pending' ? c : d
        expect(await matching(store, { fingerprint: 'f00d' })).toEqual([a.id, retried.id].sort())
        expect(await matching(store, { fingerprint: 'f00d', status: 'failed' })).toEqual([a.id])
        expect(await matching(store, { fingerprint: 'f00d', status: 'completed' })).toEqual([])
        expect(await matching(store, { fingerprint: 'beef', topic: 'mail_digest' })).toEqual([b.id])
        expect(await matching(store, { fingerprint: 'none' })).toEqual([])
      })

      it('by time: from a moment on, and before another', async () => {
        const store = await bench.openWithClock()
        const made: { id: string; at: Date }[] = []
        for (let i = 0; i < 3; i++) {
          const [id = ''] = await store.enqueue([aJob()])
          made.push({ id, at: bench.clock.now() })
          bench.clock.advance(1)
        }
        const [first, second, third] = made
        if (!first || !second || !third) return expect.unreachable()
        await store.settle([complete(await claimOne(store))])
        expect(await matching(store, { createdFrom: second.at })).toEqual([second.id, third.id].sort())
        expect(await matching(store, { createdTo: second.at })).toEqual([first.id])
        expect(await matching(store, { createdFrom: second.at, createdTo: third.at })).toEqual([second.id])
      })

      it('by the beginning of the id, of any length, with or without dashes', async () => {
        const store = await bench.open()
        const [a, b] = [aJob(), aJob()]
        await store.enqueue([a, b])
        await store.settle([complete(await claimOne(store))])
        for (const length of [9, 20, 36]) {
          const idPrefix = a.id.slice(0, length)
          const expected = [a.id, b.id].filter((id) => id.startsWith(idPrefix))
          expect(await matching(store, { idPrefix })).toEqual(expected.sort())
          expect(await matching(store, { idPrefix: idPrefix.replaceAll('-', '').toUpperCase() })).toEqual(
            expected,
          )
        }
        expect(await matching(store, { idPrefix: a.id.slice(0, 3) })).toEqual([a.id, b.id].sort())
        expect(await matching(store, { idPrefix: 'not-hex' })).toEqual([])
      })

      it('by the end of the id, of any length, with or without dashes', async () => {
        const store = await bench.open()
        const [a, b] = [aJob(), aJob()]
        await store.enqueue([a, b])
        await store.settle([complete(await claimOne(store))])
        for (const { id } of [a, b])
          for (const length of [8, 13, 20, 36]) {
            const idSuffix = id.slice(-length)
            expect(await matching(store, { idSuffix })).toEqual([id])
            expect(await matching(store, { idSuffix: idSuffix.replaceAll('-', '').toUpperCase() })).toEqual([
              id,
            ])
          }
        expect(await matching(store, { idSuffix: a.id.slice(-8), status: 'completed' })).toEqual([a.id])
        expect(await matching(store, { idSuffix: a.id.slice(-8), queue: 'other' })).toEqual([])
        const other = a.id.at(-1) === '0' ? '1' : '0'
        expect(await matching(store, { idSuffix: a.id.slice(-8, -1) + other })).toEqual([])
        // The middle of an id is not its end.
        expect(await matching(store, { idSuffix: a.id.slice(-9, -1) })).toEqual([])
        for (const idSuffix of ['', 'abc', 'not-hex', `${a.id}0`])
          await expect(store.list({ idSuffix })).rejects.toEqual(invalid)
      })

      it('by text in the class or message of an error, for jobs that failed or are retried', async () => {
        const store = await bench.open()
        const failing = (['fail', 'retry', 'complete', 'cancel'] as const).map((topic) => aJob({ topic }))
        const [failed, retried, recovered, cancelled] = failing.map(({ id }) => id)
        await store.enqueue([...failing, aJob({ topic: 'none' })])
        const error = {
          ...{ class: 'GatewayTimeout', message: 'Müller: no "answer" within 30 s', stack: 'at send' },
          fingerprint: 'f00d',
        }
        const runOf = async (topic: string) => {
          const { id, run } = await claimOne(store, { topics: [topic] })
          return { id, run }
        }
        await store.settle([
          { ...(await runOf('fail')), kind: 'fail', error },
          { ...(await runOf('retry')), kind: 'retry', delayMs: MINUTE, error },
          { ...(await runOf('complete')), kind: 'retry', delayMs: 0, error },
          { ...(await runOf('cancel')), kind: 'retry', delayMs: 0, error },
        ])
        expect(await matching(store, { errorText: 'gateway' })).toEqual(
          [failed, retried, recovered, cancelled].sort(),
        )
        await store.settle([complete(await runOf('complete'))])
        await store.cancel([cancelled ?? ''])
        const both = [failed, retried].sort()
        for (const errorText of ['gateway', 'NO "ANSWER"', 'GatewayTimeout: Müller', 'Müller: no'])
          expect(await matching(store, { errorText })).toEqual(both)
        expect(await matching(store, { errorText: 'gateway', status: 'failed' })).toEqual([failed])
        expect(await matching(store, { errorText: 'gateway', status: 'pending' })).toEqual([retried])
        expect(await matching(store, { errorText: 'gateway', topic: 'retry' })).toEqual([retried])
        expect(await matching(store, { errorText: 'gateway', fingerprint: 'f00d' })).toEqual(both)
        for (const errorText of ['MÜLLER', 'at send', 'f00d', 'no%answer'])
          expect(await matching(store, { errorText })).toEqual([])
        for (const status of ['completed', 'cancelled'] as const)
          expect(await matching(store, { errorText: 'gateway', status })).toEqual([])
        await expect(store.list({ errorText: '' })).rejects.toEqual(invalid)
      })

      it('by text within the payload, of any size, with a time limit', async () => {
        const store = await bench.openWithClock()
        const since = { createdFrom: bench.clock.now() }
        const quoted = aJob({ payload: { text: 'he said "now" \\ 50 %' } })
        const large = aJob({ payload: { text: `${'x'.repeat(5_000)}needle` } })
        const other = aJob({ payload: { text: 'Nothing', n: 4_711 } })
        await store.enqueue([quoted, large, other])
        await store.settle((await store.claim(claiming({ limit: 2 }))).jobs.map((job) => complete(job)))
        const find = (payloadText: string) => matching(store, { ...since, payloadText })
        expect(await find('said "now" \\ 50 %')).toEqual([quoted.id])
        expect(await find('needle')).toEqual([large.id])
        expect(await find('"n":4711')).toEqual([other.id])
        expect(await find('said%now')).toEqual([])
        expect(await matching(store, { createdFrom: bench.clock.advance(1), payloadText: 'needle' })).toEqual(
          [],
        )
        await expect(store.list({ payloadText: 'needle' })).rejects.toEqual(invalid)
      })
    })

    it('list refuses an invalid filter or page', async () => {
      const store = await bench.open()
      for (const limit of [0, 1_001, 1.5, Number.NaN])
        await expect(store.list({}, { limit })).rejects.toEqual(invalid)
      for (const offset of [-1, 0.5]) await expect(store.list({}, { offset })).rejects.toEqual(invalid)
      await expect(store.list({ status: 'done' as never })).rejects.toEqual(invalid)
      await expect(store.list({ status: ['failed', 'done' as never] })).rejects.toEqual(invalid)
      await expect(store.list({ status: [] })).rejects.toEqual(invalid)
      await expect(store.list({}, { order: 'random' as never })).rejects.toEqual(invalid)
      await expect(store.list({ topic: 'a\0b' })).rejects.toEqual(invalid)
      const meta = JSON.parse('{"__proto__":"x","a":"b"}')
      await expect(store.list({ meta })).rejects.toEqual(invalid)
      await expect(store.bulkOperations.count({ meta }, await store.now())).rejects.toEqual(invalid)
      await expect(store.list({ createdFrom: new Date(Number.NaN) })).rejects.toEqual(invalid)
    })

    it('a cursor is valid only for its filter, and cannot be forged', async () => {
      const store = await bench.open()
      await store.enqueue(someJobs(3, { topic: 'a' }))
      const { nextCursor } = await store.list({ topic: 'a', queue: undefined }, { limit: 1 })
      const cursor = nextCursor ?? expect.unreachable()
      expect((await store.list({ topic: 'a' }, { limit: 5, cursor })).items).toHaveLength(2)
      const refused = expect.objectContaining({ code: 'INVALID_CURSOR' })
      for (const filter of [{}, { topic: 'b' }, { topic: 'a', queue: 'default' }])
        await expect(store.list(filter, { cursor })).rejects.toEqual(refused)
      for (const made of ['', 'abc', cursor.slice(1), Buffer.from('[1,"x","y"]').toString('base64url')])
        await expect(store.list({ topic: 'a' }, { cursor: made })).rejects.toEqual(refused)
      // Moments that one of the databases cannot compare with, or that are none.
      for (const ms of [9e15, 8.64e15, -8.64e15, -1, 0.5]) {
        const [, ...rest] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
        const made = Buffer.from(JSON.stringify([ms, ...rest])).toString('base64url')
        await expect(store.list({ topic: 'a' }, { cursor: made })).rejects.toEqual(refused)
      }
      await expect(store.list({ topic: 'a' }, { cursor, offset: 1 })).rejects.toEqual(invalid)
      await expect(store.list({ topic: 'a' }, { cursor, order: 'oldest' })).rejects.toEqual(refused)
      const both = await store.list({ status: ['pending', 'failed'] }, { limit: 1 })
      const again = { limit: 5, cursor: both.nextCursor ?? '', order: 'newest' as const }
      expect((await store.list({ status: ['failed', 'pending'] }, again)).items).toHaveLength(2)
    })

    it('get has the payload, the error and the events of a job', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob({ payload: 'x'.repeat(5_000) })])
      await store.settle([{ ...(await claimOne(store)), kind: 'retry', delayMs: 0, error: anError }])
      expect(await store.get(id)).toMatchObject({
        payload: 'x'.repeat(5_000),
        lastError: anError,
        events: [{ version: 1, type: 'run_failed', data: { run: 1, error: anError } }],
      })
    })

    it('total is exact where counters have it, and a lower bound where not', async () => {
      const store = await bench.openWithClock()
      // Few enough to be searched within the time limit, on any machine.
      for (let i = 0; i < 3; i++) await store.enqueue(someJobs(20, { meta: { n: i } }))
      expect(await store.list({ meta: { n: 1 } })).toMatchObject({ total: 20, totalIsExact: true })
      await store.enqueue(someJobs(10_940))
      expect(await store.list()).toMatchObject({ total: 11_000, totalIsExact: true })
      const all = { createdFrom: new Date(0) }
      expect(await store.list(all)).toMatchObject({ total: 10_000, totalIsExact: false })
      expect((await store.list(all, { offset: 10_990 })).items).toHaveLength(10)
    })

    // Large pages and totals start from an estimate of how far back they reach.
    it.each([
      ['evenly', 1, 1],
      ['mostly late', 1, 50],
      ['mostly early', 50, 1],
    ])('large pages and totals equal small ones when jobs came %s', async (_, early, late) => {
      const store = await bench.openWithClock()
      for (let i = 0; i < 60; i++) {
        const queue = ['default', 'other', 'rare'][i % 20 === 7 ? 2 : i % 2]
        await store.enqueue(someJobs(10, { topic: `topic-${i % 3}`, queue }))
        if (i % 3)
          await store.settle(
            (await store.claim(claiming({ queues: ['default', 'other'], limit: 10 }))).jobs.map((job) =>
              complete(job),
            ),
          )
        bench.clock.advance((i < 30 ? late : early) * MINUTE)
      }
      const filter = { createdFrom: new Date(0) }
      const small: string[] = []
      let cursor: string | undefined
      do {
        const page = await store.list(filter, { limit: 100, cursor })
        expect(page).toMatchObject({ total: 600, totalIsExact: true })
        small.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor ?? undefined
      } while (cursor)
      expect(new Set(small).size).toBe(600)
      for (const [offset, limit] of [
        [0, 250],
        [190, 250],
        [390, 250],
        [0, 1_000],
      ] as const) {
        const { items, total } = await store.list(filter, { limit, offset })
        expect([total, items.map(({ id }) => id)]).toEqual([600, small.slice(offset, offset + limit)])
      }
    })

    it('queues shows what waits, runs and is throttled in each, and its settings', async () => {
      const store = await bench.openWithClock()
      const start = bench.clock.now()
      const [parent] = [aJob()]
      await store.enqueue([parent, ...someJobs(2)])
      await store.claim(claiming({ limit: 1 }))
      await store.enqueue([aJob({ after: [parent.id] }), aJob({ delay: 60_000 })])
      const keyed = { queue: 'keyed', concurrencyKey: 'k', concurrencyLimit: 1 }
      await store.enqueue(someJobs(3, keyed))
      await store.claim(claiming({ queues: ['keyed'] }))
      await store.pause('idle', 'kim')
      const { queues } = await bench.openControl(store)
      await queues.configure('idle', { ageingMs: 5_000 })
      await store.limit({ queue: 'limited' }, { maxRunning: 2, rate: { count: 10, intervalMs: 1_000 } })
      bench.clock.advance(10)
      const empty = {
        waiting: 0,
        scheduled: 0,
        running: 0,
        suspended: 0,
        blocked: 0,
        throttled: 0,
        oldestWaiting: null,
      }
      const unset = { paused: null, ageingMs: null, limit: null }
      expect(await store.queues()).toEqual([
        {
          queue: 'default',
          waiting: 2,
          scheduled: 1,
          running: 1,
          suspended: 0,
          blocked: 1,
          throttled: 0,
          oldestWaiting: start,
          ...unset,
        },
        {
          queue: 'idle',
          ...empty,
          paused: { at: start, by: 'kim', until: null },
          ageingMs: 5_000,
          limit: null,
        },
        { queue: 'keyed', ...empty, running: 1, throttled: 2, ...unset },
        {
          queue: 'limited',
          ...empty,
          ...unset,
          limit: { maxRunning: 2, rate: { count: 10, intervalMs: 1_000 } },
        },
      ])
    })

    it('queues still shows one whose jobs are all finished', async () => {
      const store = await bench.open()
      await store.enqueue([aJob({ queue: 'done' })])
      await store.settle([complete(await claimOne(store, { queues: ['done'] }))])
      expect(await store.queues()).toMatchObject([{ queue: 'done', waiting: 0, running: 0 }])
      await store.rollUp()
      expect(await store.queues()).toMatchObject([{ queue: 'done', waiting: 0, running: 0 }])
    })

    it('topics tell what workers announced', async () => {
      const store = await bench.openWithClock()
      const [mail, sync] = ['mail', 'sync'].map((topic) => ({
        topic,
        input: { type: 'object', properties: { n: { type: 'number' } } },
        output: true,
        policy: { queue: 'high' },
      }))
      if (!mail || !sync) return expect.unreachable()
      await store.announce([sync, mail])
      const announced = bench.clock.now()
      expect(await store.topics()).toEqual([
        { ...mail, announced },
        { ...sync, announced },
      ])
    })

    it('times are whole milliseconds, in order, and from one clock', async () => {
      const store = await bench.open()
      const before = await store.now()
      const [id = ''] = await store.enqueue([aJob()])
      await store.settle((await store.claim(claiming())).jobs.map((job) => complete(job)))
      const { created, startedAt, finishedAt } = await read(store, id)
      const times = [before, created, startedAt, finishedAt, await store.now()].map(
        (time) => time?.getTime() ?? 0,
      )
      expect(times).toEqual(times.toSorted((a, b) => a - b))
    })
  })
}
