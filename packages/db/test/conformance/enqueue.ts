import { DEFAULTS, type ErrorCode, LIMITS } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { aJob, Bench, claiming, claimOne, complete, type Dialect, MINUTE, read, someJobs } from './harness.ts'

export function describeEnqueue(dialect: Dialect): void {
  describe('enqueue', () => {
    const bench = new Bench(dialect)

    it('stores a job as it was given, pending and due at once', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([
        aJob({ meta: { agent_id: 'a1' }, trace: '00-1-2-01', priority: 7 }),
      ])
      expect(await read(store, id)).toMatchObject({
        id,
        status: 'pending',
        queue: 'default',
        topic: 'mail_digest',
        payload: { userId: '123' },
        meta: { agent_id: 'a1' },
        trace: '00-1-2-01',
        priority: 7,
        run: 0,
        retries: 0,
        maxRetries: 3,
        timeoutMs: 600_000,
        runAt: bench.clock.now(),
        created: bench.clock.now(),
        lockedBy: null,
        result: null,
      })
    })

    it('stores the timeout itself, also the default, until the job is requeued', async () => {
      const store = await bench.openWithClock()
      const timeouts = [LIMITS.timeoutMs, DEFAULTS.timeoutMs, 1]
      const ids = await store.enqueue(timeouts.map((timeoutMs) => aJob({ timeoutMs })))
      const stored = async () => Promise.all(ids.map(async (id) => (await read(store, id)).timeoutMs))
      const { jobs } = await store.claim(claiming())
      await store.settle(jobs.map((job) => complete(job)))
      expect(await stored()).toEqual(timeouts)
      await store.requeue(ids)
      expect(await stored()).toEqual(timeouts)
    })

    it('stores many in the order given, across several statements', async () => {
      const store = await bench.open()
      const jobs = Array.from({ length: 2_500 }, (_, n) => aJob({ payload: { n } }))
      expect(await store.enqueue(jobs)).toEqual(jobs.map((job) => job.id))
      const claimed = await store.claim(claiming({ limit: 2_500 }))
      expect(claimed.jobs.map((job) => (job.payload as { n: number }).n)).toEqual(jobs.map((_, n) => n))
    })

    it('stores all or none: a duplicate in the last thousand leaves nothing', async () => {
      const store = await bench.open()
      const jobs = someJobs(2_100)
      const duplicate = { ...aJob(), id: jobs[0]?.id ?? '' }
      await expect(store.enqueue([...jobs, duplicate])).rejects.toMatchObject({ code: 'DUPLICATE_ID' })
      expect((await store.stats()).pending).toBe(0)
    })

    it('stores nothing and does not fail when there are no jobs', async () => {
      expect(await (await bench.open()).enqueue([])).toEqual([])
    })

    // A batch of a few, of any number, and of a whole statement.
    it.each([3, 60, 1_000])('keeps the values of each of %i jobs apart, in every column', async (size) => {
      const store = await bench.openWithClock()
      const jobs = [
        aJob({ topic: 'a', queue: 'q1', priority: 1, maxRetries: 0, timeoutMs: 1_000, payload: null }),
        aJob({
          topic: 'b',
          queue: 'q2',
          priority: -1,
          retry: { strategy: 'fixed', baseDelay: 5 },
          payload: [1, 'ü "\\', {}, 1.5, null],
        }),
        aJob({
          topic: 'app:c',
          queue: 'q3/x.y',
          runAt: new Date('2030-05-05T05:05:05.005Z'),
          payload: 'text',
        }),
      ]
      await store.enqueue([...someJobs(size - jobs.length), ...jobs])
      for (const { id, topic, queue, priority, maxRetries, timeoutMs, retry, payload, runAt } of jobs) {
        const stored = {
          topic,
          queue,
          priority,
          maxRetries,
          timeoutMs,
          retry,
          payload: JSON.parse(payload),
        }
        expect(await read(store, id)).toMatchObject({ ...stored, runAt: runAt ?? bench.clock.now() })
      }
    })

    it('does not give out a delayed job before its time, to the millisecond', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ runAt: new Date(bench.clock.now().getTime() + 15 * MINUTE) })])
      bench.clock.advance(15 * MINUTE - 1)
      expect((await store.claim(claiming())).jobs).toEqual([])
      bench.clock.advance(1)
      expect((await store.claim(claiming())).jobs).toHaveLength(1)
    })

    it('counts a delay by the database clock, whatever the clock of the caller', async () => {
      const store = await bench.openWithClock()
      const [id = ''] = await store.enqueue([aJob({ delay: 15 * MINUTE })])
      expect((await read(store, id)).runAt).toEqual(new Date(bench.clock.now().getTime() + 15 * MINUTE))
    })

    it.each([
      ['null', null],
      ['an empty object', {}],
      ['text beyond ASCII', { text: 'späte Grüße 你好 🐌', 键: 1 }],
      ['quotes, backslashes and braces', { text: `"\\'{},$1 ?|&`, 'k"ey': ['{', '}', ',', 'NULL', ''] }],
      ['the largest safe integers', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
      ['a payload just inside a row', 'x'.repeat(LIMITS.inlineBytes - 2)],
      ['a payload just too large for a row', 'x'.repeat(LIMITS.inlineBytes - 1)],
      ['a payload of exactly 1 MB', 'x'.repeat(LIMITS.payloadBytes - 2)],
    ])('returns %s unchanged, to readers and to workers', async (_, payload) => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob({ payload })])
      expect((await read(store, id)).payload).toEqual(payload)
      expect((await claimOne(store)).payload).toEqual(payload)
    })

    const tooDeep = () => {
      let value: unknown = 1
      for (let i = 0; i < 10_000; i++) value = [value]
      return value
    }
    it.each<[string, Parameters<typeof aJob>[0], ErrorCode]>([
      ['a payload of 1 MB + 1 byte', { payload: 'x'.repeat(LIMITS.payloadBytes - 1) }, 'PAYLOAD_TOO_LARGE'],
      ['a topic with a newline', { topic: 'mail\ndigest' }, 'INVALID_TOPIC'],
      ['an empty topic', { topic: '' }, 'INVALID_TOPIC'],
      ['a queue with a space', { queue: 'my queue' }, 'INVALID_QUEUE'],
      ['NaN as priority', { priority: Number.NaN }, 'INVALID_PRIORITY'],
      ['a priority of 40 000', { priority: 40_000 }, 'INVALID_PRIORITY'],
      ['a date of the year 300 000', { runAt: new Date(9e15) }, 'INVALID_DATE'],
      ['a date of the year 200 000', { runAt: new Date(Date.UTC(200_000, 0)) }, 'INVALID_DATE'],
      ['a NUL byte in text', { payload: { text: 'a\0b' } }, 'INVALID_TEXT'],
      ['a lone surrogate', { payload: ['\ud83d'] }, 'INVALID_TEXT'],
      ['a number beyond 2⁵³', { payload: { n: 2 ** 53 } }, 'UNSAFE_NUMBER'],
      ['a bigint', { payload: { n: 1n } }, 'UNSAFE_NUMBER'],
      ['10 000 levels', { payload: tooDeep() }, 'INVALID_PAYLOAD'],
      ['an unknown option', { prioritty: 1 } as object, 'INVALID_INPUT'],
    ])('refuses %s with its code and writes nothing', async (_, options, code) => {
      const store = await bench.open()
      expect(() => aJob(options)).toThrow(expect.objectContaining({ code }))
      expect((await store.stats()).pending).toBe(0)
    })

    it.each([
      ['a topic of 129 characters', { topic: 't'.repeat(129) }],
      ['a payload of 1 MB + 1 byte', { payload: JSON.stringify('x'.repeat(LIMITS.payloadBytes - 1)) }],
      ['a payload that is no JSON', { payload: '{"half":' }],
      ['a priority of 40 000', { priority: 40_000 }],
    ])('refuses %s in the database too, where a client skipped the checks', async (_, wrong) => {
      const store = await bench.open()
      await expect(store.enqueue([aJob(), { ...aJob(), ...wrong }])).rejects.toMatchObject({
        code: 'DATABASE_REFUSED',
      })
      expect((await store.stats()).pending).toBe(0)
    })

    it('refuses a second job of the same id', async () => {
      const store = await bench.open()
      const job = aJob()
      await store.enqueue([job])
      await expect(store.enqueue([job])).rejects.toMatchObject({ code: 'DUPLICATE_ID' })
    })

    it('refuses everything once it is closed', async () => {
      const store = await bench.open()
      await store.close()
      await store.close()
      await expect(async () => store.enqueue([aJob()])).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    })
  })
}
