import {
  defineJobs,
  defineWorkers,
  job,
  type NewJob,
  PermanentError,
  prepareJob,
  type RunningJob,
  Snooze,
} from '@oncue/core'
import { connectPostgres } from '@oncue/db/testing'
import { expect, it, vi } from 'vitest'
import { z } from 'zod'
import { describeBoth, describePostgres, Gate, nap, someJobs, TestLog, until } from './harness.ts'

/** Longer than any test, so that no result can be due to a poll. */
const NO_POLL = 3_600_000

describeBoth('dispatch', (bench) => {
  it('claims no more long jobs than it has slots', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(10, 'long'))
    const gate = new Gate()
    const worker = await bench.start({ store, concurrency: 3, workers: { long: () => gate.opened } })
    await until(() => worker.stats().running === 3)
    expect(await store.stats()).toMatchObject({ processing: 3, pending: 7 })
    gate.open()
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 10, processing: 0, pending: 0 })
  })

  it('claims short jobs in batches, many more than it has slots', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(3_000, 'short'))
    const worker = await bench.start({ store, concurrency: 2, workers: { short: async () => null } })
    await worker.drain()
    const { claims, claimed, settled } = worker.stats()
    expect(claimed).toBe(3_000)
    expect(settled.complete).toBe(3_000)
    expect(claims).toBeLessThan(100)
  })

  it('claims few large jobs ahead, and writes few large results at once', async () => {
    const store = await bench.open()
    const exchanges = vi.spyOn(store, 'settleAndClaim')
    const settles = vi.spyOn(store, 'settle')
    const large = 'x'.repeat(2 ** 19)
    for (let n = 0; n < 8; n++) {
      await store.enqueue(Array.from({ length: 10 }, () => prepareJob('large', large)))
    }
    const worker = await bench.start({ store, workers: { large: async () => large } })
    await until(() => worker.stats().settled.complete === 80)
    const claimed = exchanges.mock.settledResults.map(({ value }) => value?.jobs.length ?? 0)
    // Beside ten slots, 16 MB of payloads: 32 of them, or 50 before the size is well known.
    expect(Math.max(...claimed)).toBeLessThan(65)
    const written = [...exchanges.mock.calls, ...settles.mock.calls].map(([ends]) => ends.length)
    // 8 MB of results.
    expect(Math.max(...written)).toBeLessThanOrEqual(16)
  })

  it('releases prefetched jobs when short jobs turn into long ones, so that other workers can run them', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(300, 'short'))
    const gate = new Gate()
    const workers = { short: async () => null, long: () => gate.opened }
    const worker = await bench.start({ store, concurrency: 2, workers })
    await worker.drain()
    await store.enqueue(someJobs(20, 'long'))
    await until(() => worker.stats().prefetched === 18)
    await until(() => worker.stats().settled.release === 18)
    expect(await store.stats()).toMatchObject({ processing: 2, pending: 18 })
    const other = await bench.start({ store: await bench.open(), concurrency: 18, workers })
    await until(() => other.stats().running === 18)
    gate.open()
    await Promise.all([worker.drain(), other.drain()])
    expect(await store.stats()).toMatchObject({ completed: 320 })
    // Being released costs no attempt.
    expect((await store.list({ topic: 'long' })).items.every((job) => job.crashes + job.retries === 0)).toBe(
      true,
    )
  })

  it('serves its queues in the given order', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(3, 'note', { queue: 'low' }))
    await store.enqueue(someJobs(3, 'note', { queue: 'high' }))
    await store.enqueue(someJobs(3, 'note', { queue: 'elsewhere' }))
    const order: string[] = []
    const workers = { note: ({ queue }: RunningJob) => void order.push(queue) }
    const worker = await bench.start({ store, concurrency: 1, queues: ['high', 'low'], workers })
    await worker.drain()
    expect(order).toEqual(['high', 'high', 'high', 'low', 'low', 'low'])
  })

  it('announces its topics, with schemas and policy', async () => {
    const store = await bench.open()
    const input = z.object({ to: z.string() })
    const jobs = defineJobs({ mail: job({ input, output: z.object({ sent: z.number() }), queue: 'high' }) })
    await bench.start({ store, workers: defineWorkers(jobs, { mail: async () => ({ sent: 1 }) }) })
    expect(await store.topics()).toMatchObject([
      {
        topic: 'mail',
        input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
        output: { properties: { sent: { type: 'number' } } },
        policy: { queue: 'high' },
      },
    ])
  })

  it('does not claim topics that it has no handler for', async () => {
    const store = await bench.open()
    await store.enqueue([...someJobs(2, 'foreign'), ...someJobs(2, 'mine')])
    const worker = await bench.start({ store, workers: { mine: () => null } })
    await worker.drain()
    expect(await store.stats({ topic: 'foreign' })).toMatchObject({ pending: 2 })
    expect(await store.stats({ topic: 'mine' })).toMatchObject({ completed: 2 })
  })

  it('wakes when another process enqueues, without a poll', async () => {
    const store = await bench.open()
    const ran: string[] = []
    const worker = await bench.start({
      store,
      pollMs: NO_POLL,
      workers: { mail: ({ id }) => void ran.push(id) },
    })
    const other = await bench.spawn({ queues: ['elsewhere'] })
    await worker.drain()
    for (let n = 1; n <= 3; n++) {
      other.tell({ enqueue: { topic: 'mail', count: 1 } })
      await until(() => ran.length === n)
    }
  })

  it('runs a job that is due later at its time, without a poll', async () => {
    const store = await bench.open()
    const ranAt: number[] = []
    const workers = { later: () => void ranAt.push(performance.now()) }
    await store.enqueue(someJobs(1, 'later', { delay: 700 }))
    const enqueuedAt = performance.now()
    const worker = await bench.start({ store, pollMs: NO_POLL, workers })
    await until(() => ranAt.length === 1)
    // Part of the delay had passed when the enqueue returned.
    expect((ranAt[0] ?? 0) - enqueuedAt).toBeGreaterThan(500)
    expect(worker.stats().claims).toBeLessThan(10)
  })

  it('learns of a job due later also while it runs others', async () => {
    const store = await bench.open()
    const gate = new Gate()
    const ran: string[] = []
    const workers = { long: () => gate.opened, later: () => void ran.push('later') }
    await store.enqueue([...someJobs(1, 'long'), ...someJobs(1, 'later', { delay: 300 })])
    const worker = await bench.start({ store, concurrency: 2, pollMs: NO_POLL, workers })
    await until(() => ran.length === 1)
    expect(worker.stats().running).toBe(1)
    gate.open()
  })

  it('drains with a claim that also sees what was committed late', async () => {
    const store = await bench.open()
    const claims = vi.spyOn(store, 'settleAndClaim')
    await store.enqueue(someJobs(3, 'mail'))
    const worker = await bench.start({ store, workers: { mail: () => null }, pollMs: NO_POLL })
    await until(async () => (await store.stats()).completed === 3)
    expect(claims.mock.calls.some(([, request]) => request.thorough)).toBe(false)
    await worker.drain()
    expect(claims.mock.calls.at(-1)?.[1]).toMatchObject({ thorough: true })
  })

  it('drains what is due now, without waiting for what is due later', async () => {
    const store = await bench.open()
    await store.enqueue([...someJobs(50, 'mail'), ...someJobs(1, 'mail', { delay: 3_600_000 })])
    const worker = await bench.start({ store, workers: { mail: () => null } })
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 50, pending: 1 })
    await store.enqueue(someJobs(5, 'mail'))
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 55, pending: 1 })
  })

  it.each([
    ['queue', { queue: 'default' }, {}],
    ['concurrency key', { concurrencyKey: 'k' }, { concurrencyKey: 'k', concurrencyLimit: 10 }],
  ] as const)('drains jobs that wait for the rate of their %s', async (_, target, options) => {
    const store = await bench.open()
    await store.limit(target, { rate: { count: 2, intervalMs: 100 } })
    await store.enqueue(someJobs(5, 'mail', options))
    const worker = await bench.start({ store, workers: { mail: () => null }, pollMs: NO_POLL })
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 5, pending: 0 })
  })

  it('drains without waiting for a rate that delays none of its jobs', async () => {
    const store = await bench.open()
    const [queues, rate] = [['default', 'paused', 'other'], { count: 1, intervalMs: 3_600_000 }]
    for (const queue of queues) await store.limit({ queue }, { rate })
    await store.enqueue(queues.flatMap((queue) => someJobs(1, 'mail', { queue })))
    const worker = await bench.start({ store, queues, workers: { mail: () => null } })
    await worker.drain()
    await store.pause('paused')
    await store.enqueue([
      ...someJobs(1, 'mail', { delay: 3_600_000 }),
      ...someJobs(1, 'mail', { queue: 'paused' }),
      ...someJobs(1, 'unknown', { queue: 'other' }),
    ])
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 3, pending: 3 })
  })

  it('drains without waiting for a rate where something else stops the jobs', async () => {
    const store = await bench.open()
    const rate = { count: 1_000, intervalMs: 1_000 }
    await store.limit({ queue: 'stopped' }, { maxRunning: 0, rate })
    await store.limit({ concurrencyKey: 'busy' }, { rate })
    await store.enqueue(someJobs(2, 'mail', { concurrencyKey: 'busy' }))
    await store.claim({ queues: ['default'], limit: 1, worker: crypto.randomUUID(), leaseMs: 600_000 })
    await store.enqueue(someJobs(1, 'mail', { queue: 'stopped' }))
    const worker = await bench.start({ store, queues: ['default', 'stopped'], workers: { mail: () => null } })
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 0, pending: 2, processing: 1 })
  })

  it('runs jobs that a settle releases with the claim of the same call, without a poll', async () => {
    const store = await bench.open()
    const [parent] = someJobs(1, 'mail')
    if (!parent) throw new Error('there is one')
    await store.enqueue([parent, ...someJobs(3, 'mail', { after: [parent.id] })])
    const worker = await bench.start({ store, pollMs: NO_POLL, workers: { mail: () => null } })
    await until(() => worker.stats().settled.complete === 4)
  })

  it('runs throttled jobs of a full key one after the other, without a poll', async () => {
    const store = await bench.open()
    await store.limit({ concurrencyKey: 'one' }, { maxRunning: 1 })
    await store.enqueue(someJobs(50, 'mail', { concurrencyKey: 'one' }))
    let [running, most] = [0, 0]
    const mail = async () => {
      running += 1
      most = Math.max(most, running)
      await nap(2)
      running -= 1
    }
    const worker = await bench.start({ store, pollMs: NO_POLL, workers: { mail } })
    await until(() => worker.stats().settled.complete === 50)
    expect(most).toBe(1)
  })

  it('runs a chain whose jobs are in the queues of two workers, without a poll', async () => {
    const store = await bench.open()
    const order: unknown[] = []
    const mail = ({ payload }: RunningJob) => void order.push(payload)
    const workers = { mail }
    const [one, other] = await Promise.all([
      bench.start({ store, queues: ['one'], pollMs: NO_POLL, workers }),
      bench.start({ store: await bench.open(), queues: ['other'], pollMs: NO_POLL, workers }),
    ])
    await Promise.all([one.drain(), other.drain()])
    const chain: NewJob[] = []
    for (let n = 0; n < 10; n++) {
      const after = chain.slice(-1).map(({ id }) => id)
      chain.push(prepareJob('mail', n, { queue: n % 2 === 0 ? 'one' : 'other', after }))
    }
    await store.enqueue(chain)
    await until(() => order.length === 10)
    expect(order).toEqual(chain.map((_, n) => n))
  })

  it('refuses invalid options, and workers without handlers', async () => {
    const store = await bench.open()
    const workers = { mail: () => null }
    const invalid = { code: 'INVALID_INPUT' }
    await expect(bench.start({ store, workers, concurrency: 0 })).rejects.toMatchObject(invalid)
    await expect(bench.start({ store, workers, leaseMs: 1 })).rejects.toMatchObject(invalid)
    await expect(bench.start({ store, workers: {} })).rejects.toMatchObject(invalid)
    await expect(bench.start({ store, workers, queues: ['no spaces'] })).rejects.toMatchObject({
      code: 'INVALID_QUEUE',
    })
  })
})

describeBoth('onSettled', (bench) => {
  it('is called with what was written: the last retry is a failure, and a lost run is not reported', async () => {
    const store = await bench.open()
    const gate = new Gate()
    const ends: string[] = []
    const failures: string[] = []
    const fixed = { strategy: 'fixed', baseDelay: 0 } as const
    const [lost = ''] = await store.enqueue([prepareJob('lost', null)])
    await store.enqueue([
      prepareJob('fails', 7, { retry: { max: 1, ...fixed } }),
      prepareJob('hopeless', null),
      prepareJob('works', null),
    ])
    const worker = await bench.start({
      store,
      workers: {
        fails: () => Promise.reject(new TypeError('no luck')),
        hopeless: () => Promise.reject(new PermanentError('gone')),
        works: () => 'done',
        lost: () => gate.opened,
      },
      onSettled: ({ topic }, { kind }) => void ends.push(`${topic} ${kind}`),
      onFailed: ({ topic, payload }, { class: name, message }) => {
        failures.push(`${topic} ${payload} ${name} ${message}`)
        if (topic === 'hopeless') throw new Error('cannot be told')
      },
    })
    await until(() => failures.length === 2)
    await until(async () => (await store.get(lost))?.status === 'processing')
    // Settles the run from outside, as a rescue would.
    await store.settle([
      { id: lost, run: 1, kind: 'fail', error: { class: 'E', message: '', fingerprint: 'f' } },
    ])
    gate.open()
    await worker.stop()
    expect(ends.toSorted()).toEqual(['fails fail', 'fails retry', 'hopeless fail', 'works complete'])
    expect(failures.toSorted()).toEqual(['fails 7 TypeError no luck', 'hopeless null PermanentError gone'])
    const { settled, stale, lost: taken } = worker.stats()
    expect(settled).toMatchObject({ complete: 1, retry: 1, fail: 2 })
    // A heartbeat may have reported the loss before its end was refused.
    expect(stale + taken).toBe(1)
  })

  it.each(['replaced', 'asked to stop'])(
    'is called with a cancel for a job that would have continued and was %s: also for a last retry',
    async (why) => {
      const store = await bench.open()
      const [gate, log] = [new Gate(), new TestLog()]
      const ends: string[] = []
      const failures: string[] = []
      const unique = { key: 'one', onConflict: 'replace' } as const
      const topics = ['retries', 'last', 'sleeps'] as const
      const ids = await store.enqueue(
        topics.map((topic) => prepareJob(topic, null, { unique, maxRetries: topic === 'last' ? 0 : 3 })),
      )
      const end = (error: Error) => () => gate.opened.then(() => Promise.reject(error))
      const worker = await bench.start({
        store,
        log,
        workers: {
          retries: end(new TypeError('no luck')),
          last: end(new TypeError('no luck')),
          sleeps: end(new Snooze(0)),
        },
        onSettled: ({ topic }, { kind }) => void ends.push(`${topic} ${kind}`),
        onFailed: ({ topic }) => void failures.push(topic),
      })
      await until(() => worker.stats().running === 3)
      if (why === 'asked to stop') await store.cancel(ids)
      else await store.enqueue(topics.map((topic) => prepareJob(topic, null, { unique, delay: NO_POLL })))
      gate.open()
      await worker.drain()
      await worker.stop()
      expect(ends.toSorted()).toEqual(['last cancel', 'retries cancel', 'sleeps cancel'])
      expect(failures).toEqual([])
      expect(worker.stats().settled).toMatchObject({ cancel: 3, retry: 0, fail: 0, snooze: 0 })
      const stored = await Promise.all(ids.map(async (id) => (await store.get(id))?.status))
      expect(stored).toEqual(['cancelled', 'cancelled', 'cancelled'])
      // Nothing went wrong, so only `debug` lines are logged.
      expect([...log.of('error'), ...log.of('warn')]).toEqual([])
    },
  )

  it('is awaited when the worker stops', async () => {
    const store = await bench.open()
    await store.enqueue([prepareJob('hopeless', null)])
    const [called, gate] = [new Gate(), new Gate()]
    let isTold = false
    const worker = await bench.start({
      store,
      workers: { hopeless: () => Promise.reject(new PermanentError('gone')) },
      onFailed: async () => {
        called.open()
        await gate.opened
        isTold = true
      },
    })
    await called.opened
    const stopped = worker.stop()
    gate.open()
    await stopped
    expect(isTold).toBe(true)
  })
})

describePostgres('an end that the database refuses', (bench) => {
  async function start(refused: (id: string) => string) {
    const [store, session] = await Promise.all([bench.open(), connectPostgres(bench.url)])
    bench.defer(() => session.end())
    const [id = '', other = ''] = await store.enqueue([
      prepareJob('poisoned', null),
      prepareJob('works', null),
    ])
    await session.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'never'; end $$`,
    )
    await session.query(
      `create trigger refuse before insert on oncue.history for each row when (${refused(id)}) execute function refuse()`,
    )
    const [gate, log] = [new Gate(), new TestLog()]
    const ends: string[] = []
    const failures: unknown[] = []
    const worker = await bench.start({
      store,
      log,
      workers: { poisoned: () => gate.opened, works: () => gate.opened },
      onSettled: ({ topic }, { kind }) => void ends.push(`${topic} ${kind}`),
      onFailed: ({ topic }, error) => void failures.push({ topic, error }),
    })
    await until(() => worker.stats().running === 2)
    gate.open()
    await until(async () => (await store.get(other))?.status === 'completed')
    await until(() => ends.includes('works complete'))
    await worker.stop()
    return { stored: await store.get(id), ends: ends.toSorted(), failures, errors: log.of('error') }
  }

  it('is reported as the failure that is stored', async () => {
    const { stored, ends, failures, errors } = await start(
      (id) => `new.id = '${id}' and new.status = 'completed'`,
    )
    expect(stored).toMatchObject({ status: 'failed', lastError: { class: 'DatabaseRefused' } })
    expect(ends).toEqual(['poisoned fail', 'works complete'])
    expect(failures).toEqual([{ topic: 'poisoned', error: stored?.lastError }])
    expect(errors).toContain('database rejected the result of a run; its job failed')
  })

  it('is reported to no hook if not even the failure can be written: its job runs again', async () => {
    const { stored, ends, failures, errors } = await start((id) => `new.id = '${id}'`)
    expect(stored).toMatchObject({ status: 'processing', run: 1 })
    expect(ends).toEqual(['works complete'])
    expect(failures).toEqual([])
    expect(errors).toEqual([
      'database rejected both the result of a run and its failure; the job runs again when its lease expires',
    ])
  })
})

describePostgres('a job whose edge is committed after its parent has ended', (bench) => {
  it('is drained too', async () => {
    const store = await bench.open()
    const session = await connectPostgres(bench.url)
    const [parent] = someJobs(1, 'mail')
    if (!parent) throw new Error('there is one')
    await store.enqueue([parent])
    await session.query('begin')
    const [child = ''] = await store.enqueue(someJobs(1, 'mail', { after: [parent.id] }), { tx: session })
    const worker = await bench.start({ store, workers: { mail: () => null } })
    await worker.drain()
    await session.query('commit')
    await session.end()
    await worker.drain()
    expect(await store.get(child)).toMatchObject({ status: 'completed' })
  })
})
