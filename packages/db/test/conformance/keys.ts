import { describe, expect, it } from 'vitest'
import { aJob, Bench, claiming, claimOne, complete, type Dialect, MINUTE, read, someJobs } from './harness.ts'
import { processesOf } from './processes.ts'

export function describeKeys(dialect: Dialect): void {
  describe('unique keys', () => {
    const bench = new Bench(dialect)
    const { start, tell } = processesOf(dialect)
    const unique = (options: object = {}) => ({ unique: { key: 'digest:123', ...options } })

    it('the second enqueue with a key returns the id of the first', async () => {
      const store = await bench.open()
      const [first] = await store.enqueue([aJob(unique())])
      expect(await store.enqueue([aJob(unique()), aJob()])).toEqual([
        first,
        expect.not.stringMatching(first ?? ''),
      ])
      expect((await store.stats()).pending).toBe(2)
    })

    it('one call may name a key twice', async () => {
      const store = await bench.open()
      const [a, b] = await store.enqueue([aJob(unique()), aJob(unique())])
      expect(a).toBe(b)
      expect((await store.stats()).pending).toBe(1)
    })

    it('is free again when its job has ended, however it ended', async () => {
      const store = await bench.open()
      const ids = new Set<string | undefined>()
      for (const kind of ['complete', 'fail', 'cancel'] as const) {
        ids.add((await store.enqueue([aJob(unique())]))[0])
        const job = await claimOne(store)
        const error = { class: 'E', message: 'm', fingerprint: 'f' }
        await store.settle([kind === 'complete' ? complete(job) : { ...job, kind, error }])
      }
      ids.add((await store.enqueue([aJob(unique())]))[0])
      expect(ids.size).toBe(4)
    })

    it('stays taken while its job is retried', async () => {
      const store = await bench.open()
      const [id] = await store.enqueue([aJob(unique())])
      await store.settle([{ ...(await claimOne(store)), kind: 'snooze', delayMs: MINUTE }])
      expect(await store.enqueue([aJob(unique())])).toEqual([id])
    })

    it('within a time, finished jobs hold the key too; after it, live ones do not', async () => {
      const store = await bench.openWithClock()
      const [id] = await store.enqueue([aJob(unique({ within: MINUTE }))])
      await store.settle([complete(await claimOne(store))])
      bench.clock.advance(MINUTE - 1)
      expect(await store.enqueue([aJob(unique({ within: MINUTE }))])).toEqual([id])
      bench.clock.advance(1)
      const [next] = await store.enqueue([aJob(unique({ within: MINUTE }))])
      expect(next).not.toBe(id)
    })

    it('of a job in another queue is refused to a caller that may only use its own queue', async () => {
      const store = await bench.open()
      const elsewhere = { ...aJob({ ...unique(), queue: 'high', idempotencyKey: 'call' }) }
      await store.enqueue([elsewhere])
      const refusal = { code: 'QUEUE_NOT_ALLOWED', details: undefined }
      const mine = (options: object) => ({ ...aJob(options), sameQueue: true })
      const attempts = () => [
        ...(['existing', 'replace', 'reject'] as const).map((onConflict) => mine(unique({ onConflict }))),
        mine({ idempotencyKey: 'call' }),
      ]
      for (const job of attempts())
        await expect(store.enqueue([job, ...someJobs(1)])).rejects.toMatchObject(refusal)
      const run = await claimOne(store, { queues: ['high'] })
      for (const job of attempts()) await expect(store.enqueue([job])).rejects.toMatchObject(refusal)
      await store.settle([complete(run)])
      await expect(store.enqueue([mine({ idempotencyKey: 'call' })])).rejects.toMatchObject(refusal)
      expect(await read(store, elsewhere.id)).toMatchObject({ status: 'completed', events: [] })
      const [own] = await store.enqueue([mine(unique()), mine(unique({ onConflict: 'replace' }))])
      expect(await store.enqueue([mine(unique({ onConflict: 'replace' }))])).toEqual([own])
      expect((await store.stats()).pending).toBe(1)
    })

    it('reject names the job that holds the key, and writes nothing of the whole call', async () => {
      const store = await bench.open()
      const [jobId] = await store.enqueue([aJob(unique())])
      await expect(
        store.enqueue([...someJobs(3), aJob(unique({ onConflict: 'reject' }))]),
      ).rejects.toMatchObject({
        code: 'UNIQUE_KEY_LIVE',
        details: { jobId },
      })
      expect((await store.stats()).pending).toBe(1)
    })

    it('replace keeps one job with the latest payload, of any size: a debounce', async () => {
      const store = await bench.openWithClock()
      const replace = (payload: unknown) =>
        aJob({ payload, delay: MINUTE, ...unique({ onConflict: 'replace' }) })
      const [id] = await store.enqueue([replace(1)])
      for (const payload of ['x'.repeat(5_000), 'small', 'y'.repeat(6_000), 'last']) {
        bench.clock.advance(MINUTE / 2)
        expect(await store.enqueue([replace(payload)])).toEqual([id])
      }
      expect((await store.claim(claiming())).jobs).toEqual([])
      bench.clock.advance(MINUTE)
      expect(await claimOne(store)).toMatchObject({ id, payload: 'last' })
    })

    it('belongs to its topic', async () => {
      const store = await bench.open()
      const [mail] = await store.enqueue([aJob({ topic: 'mail', ...unique() })])
      const replace = unique({ onConflict: 'replace' })
      const [sms, again] = await store.enqueue([
        aJob({ topic: 'sms', payload: 'sms', ...replace }),
        aJob({ topic: 'mail', ...unique() }),
      ])
      expect(sms).not.toBe(mail)
      expect(again).toBe(mail)
      expect((await read(store, mail ?? '')).payload).toEqual({ userId: '123' })
    })

    it("with scope 'all' is shared by all topics, and separate from the keys of each topic", async () => {
      const store = await bench.open()
      const shared = unique({ scope: 'all' })
      const [own] = await store.enqueue([aJob({ topic: 'mail', ...unique() })])
      const [mail = ''] = await store.enqueue([aJob({ topic: 'mail', ...shared })])
      expect(mail).not.toBe(own)
      expect(await store.enqueue([aJob({ topic: 'sms', ...shared })])).toEqual([mail])
      await expect(
        store.enqueue([aJob({ topic: 'sms', ...unique({ scope: 'all', onConflict: 'reject' }) })]),
      ).rejects.toMatchObject({ code: 'UNIQUE_KEY_LIVE', details: { jobId: mail } })
      await store.settle((await store.claim(claiming())).jobs.map((job) => complete(job)))
      // After a requeue it holds the same key as before.
      const [sms = ''] = await store.enqueue([aJob({ topic: 'sms', ...shared })])
      expect(sms).not.toBe(mail)
      expect(await store.requeue([mail])).toEqual({ done: 0, skipped: { UNIQUE_KEY_LIVE: 1 } })
      await store.settle([complete(await claimOne(store))])
      expect(await store.requeue([mail])).toEqual({ done: 1, skipped: {} })
      expect(await store.enqueue([aJob({ topic: 'sms', ...shared })])).toEqual([mail])
    })

    it('replace leaves a running job alone; the new one takes over the key', async () => {
      const store = await bench.open()
      const [running] = await store.enqueue([aJob(unique())])
      await claimOne(store)
      const [next] = await store.enqueue([aJob({ payload: 2, ...unique({ onConflict: 'replace' }) })])
      expect(next).not.toBe(running)
      expect(await store.enqueue([aJob(unique())])).toEqual([next])
    })

    it('requeue of two jobs with the same key puts back the one that holds it', async () => {
      const store = await bench.openWithClock()
      const finish = async () => {
        const [id = ''] = await store.enqueue([aJob(unique({ within: MINUTE }))])
        await store.settle([complete(await claimOne(store))])
        return id
      }
      const older = await finish()
      bench.clock.advance(MINUTE)
      const newer = await finish()
      expect(await store.requeue([older, newer])).toEqual({ done: 1, skipped: { UNIQUE_KEY_LIVE: 1 } })
      expect(await read(store, newer)).toMatchObject({ status: 'pending' })
    })

    it('requeue of a job whose key is live again is skipped with UNIQUE_KEY_LIVE', async () => {
      const store = await bench.open()
      const [old = ''] = await store.enqueue([aJob(unique())])
      await store.settle([complete(await claimOne(store))])
      await store.enqueue([aJob(unique())])
      expect(await store.requeue([old])).toEqual({ done: 0, skipped: { UNIQUE_KEY_LIVE: 1 } })
      await store.settle([complete(await claimOne(store))])
      expect(await store.requeue([old])).toEqual({ done: 1, skipped: {} })
      expect(await store.enqueue([aJob(unique())])).toEqual([old])
    })

    it('50 concurrent enqueues of one key, in 3 processes, give one job and the same id to all', async () => {
      const store = await bench.open()
      const children = await Promise.all(Array.from({ length: 3 }, () => start(bench.url)))
      const answers = await Promise.all([
        ...children.map((child) => tell(child, { do: 'enqueueKey', key: 'digest:123', times: 16 })),
        Promise.all(Array.from({ length: 2 }, () => store.enqueue([aJob(unique())]))).then((ids) => ({
          ids: ids.flat(),
        })),
      ])
      const ids = answers.flatMap((answer) => answer.ids)
      expect(ids).toHaveLength(50)
      expect(new Set(ids).size).toBe(1)
      expect((await store.stats()).pending).toBe(1)
    })
  })

  describe('idempotency keys', () => {
    const bench = new Bench(dialect)

    it('a repeated enqueue returns the id of the first, also after it has completed', async () => {
      const store = await bench.openWithClock()
      const repeated = () => store.enqueue([aJob({ idempotencyKey: 'order-456' })])
      const [id] = await repeated()
      expect(await repeated()).toEqual([id])
      await store.settle([complete(await claimOne(store))])
      bench.clock.advance(23 * 60 * MINUTE)
      expect(await repeated()).toEqual([id])
      expect(await store.stats()).toMatchObject({ pending: 0, completed: 1 })
    })

    it('is forgotten after a day', async () => {
      const store = await bench.openWithClock()
      const [id] = await store.enqueue([aJob({ idempotencyKey: 'order-456' })])
      bench.clock.advance(24 * 60 * MINUTE)
      const [next] = await store.enqueue([aJob({ idempotencyKey: 'order-456' })])
      expect(next).not.toBe(id)
    })

    it('belongs to its topic', async () => {
      const store = await bench.open()
      const [mail] = await store.enqueue([aJob({ topic: 'mail', idempotencyKey: 'order-456' })])
      const [sms] = await store.enqueue([aJob({ topic: 'sms', idempotencyKey: 'order-456' })])
      expect(sms).not.toBe(mail)
    })

    it('is separate from the keys of jobs that Oncue creates, whatever its name', async () => {
      const store = await bench.open()
      const own = () => ({ ...aJob(), internalKey: 'schedule:digest:0' })
      const [a, b] = await store.enqueue([aJob({ idempotencyKey: 'schedule:digest:0' }), own()])
      expect(a).not.toBe(b)
      expect(await store.enqueue([own()])).toEqual([b])
    })

    it('does not mix with a unique key of the same name', async () => {
      const store = await bench.open()
      const [a] = await store.enqueue([aJob({ idempotencyKey: 'same' })])
      const [b] = await store.enqueue([aJob({ unique: { key: 'same' } })])
      expect(a).not.toBe(b)
    })

    it('stores everything that a job without a key stores', async () => {
      const store = await bench.openWithClock()
      const job = aJob({
        idempotencyKey: 'k',
        payload: null,
        meta: { a: 'ü' },
        priority: -3,
        delay: 5,
        maxRetries: 1,
      })
      const [id = ''] = await store.enqueue([job])
      expect(await read(store, id)).toMatchObject({
        payload: null,
        meta: { a: 'ü' },
        priority: -3,
        maxRetries: 1,
        runAt: new Date(bench.clock.now().getTime() + 5),
      })
    })

    it('of one call are decided in the order of its jobs, also where one has a unique key', async () => {
      const store = await bench.open()
      const first = aJob({ idempotencyKey: 'same', unique: { key: 'one' } })
      const jobs = [first, aJob({ idempotencyKey: 'same' }), aJob({ idempotencyKey: 'other' })]
      const [, , other] = jobs
      expect(await store.enqueueWithOutcomes(jobs)).toEqual([
        { id: first.id, kind: 'created' },
        { id: first.id, kind: 'existing' },
        { id: other?.id, kind: 'created' },
      ])
      expect(await store.enqueue([aJob({ unique: { key: 'one' } })])).toEqual([first.id])
    })

    it.each(['all of them new', 'with others that are not'])(
      'of one call keep the same, %s',
      async (which) => {
        const store = await bench.openWithClock()
        await store.enqueue([aJob({ idempotencyKey: 'expired' })])
        bench.clock.advance(24 * 60 * MINUTE)
        const [held = ''] = await store.enqueue([aJob({ idempotencyKey: 'held' })])
        const parent = aJob({ idempotencyKey: 'parent', payload: { text: 'x'.repeat(5_000) } })
        const child = aJob({ idempotencyKey: 'child', after: [parent.id], meta: { tenant: 'north' } })
        const later = aJob({ idempotencyKey: 'later', delay: 5, priority: -3, maxRetries: 1, payload: null })
        const twice = [
          aJob({ idempotencyKey: 'twice', payload: 1 }),
          aJob({ idempotencyKey: 'twice', payload: 2 }),
        ]
        const others = [
          aJob({ idempotencyKey: 'held' }),
          aJob({ idempotencyKey: 'expired' }),
          aJob({ idempotencyKey: 'and unique', unique: { key: 'one' } }),
          ...twice,
        ]
        const created = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => ({ id, kind: 'created' }))
        const news = [later, parent, child]
        const jobs = which === 'all of them new' ? news : [...others, ...news]
        expect(await store.enqueueWithOutcomes(jobs)).toEqual(
          jobs === news
            ? created(news)
            : [
                { id: held, kind: 'existing' },
                ...created([...others.slice(1, 3), ...twice.slice(0, 1)]),
                { id: twice[0]?.id, kind: 'existing' },
                ...created(news),
              ],
        )
        expect(await read(store, parent.id)).toMatchObject({ payload: { text: 'x'.repeat(5_000) } })
        expect(await read(store, child.id)).toMatchObject({ status: 'blocked', meta: { tenant: 'north' } })
        expect((await store.list({ meta: { tenant: 'north' } }, { limit: 2 })).items).toMatchObject([
          { id: child.id },
        ])
        expect(await read(store, later.id)).toMatchObject({
          payload: null,
          priority: -3,
          maxRetries: 1,
          runAt: new Date(bench.clock.now().getTime() + 5),
        })
      },
    )
  })
}
