import { Cancel, defineJobs, defineWorkers, job, Snooze } from '@oncue/core'
import { afterEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker, type TestWorker, type TestWorkerOptions } from '../src/testing.ts'
import { TestLog } from './harness.ts'

const MINUTE = 60_000
const START = new Date('2026-01-01T00:00:00Z')

const jobs = defineJobs({
  digest: job({ input: z.object({ userId: z.string() }), output: z.object({ sent: z.number() }) }),
  flaky: job({ input: z.object({}), retry: { max: 2 } }),
  parent: job({ input: z.object({}), queue: 'high' }),
  heavy: job({ input: z.object({}), isolate: true }),
  receipt: job({
    input: z.object({}),
    output: z.object({ at: z.coerce.date<string>(), total: z.string().transform(Number) }),
  }),
  silent: job({ input: z.void(), output: z.void() }),
  elsewhere: job({ input: z.object({ n: z.number() }) }),
})

const workers = defineWorkers(jobs, {
  digest: async ({ payload }, ctx) => {
    ctx.log.info('sending', { to: payload.userId })
    return { sent: 3 }
  },
  flaky: async (_job, ctx) => {
    if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`)
    return 'at last'
  },
  parent: async (_job, ctx) => {
    await ctx.spawn('digest', { userId: 'ada' })
    await ctx.enqueue('elsewhere', { n: 1 }, { queue: 'other' })
  },
  heavy: () => process.pid,
  receipt: () => ({ at: '2026-01-01T00:00:00.000Z', total: '12' }),
  silent: () => {},
})

// On its default database; testing-durable.test.ts has both.
describe('createTestWorker', () => {
  const opened: TestWorker[] = []
  const open = async <Jobs extends typeof jobs>(options: Partial<TestWorkerOptions<Jobs>> = {}) => {
    const worker = await createTestWorker({ jobs, workers, now: START, ...options })
    opened.push(worker as never)
    return worker
  }
  afterEach(async () => {
    for (const worker of opened.splice(0)) await worker.close()
  })

  it('runs a job through the whole path, and returns what is stored', async () => {
    const worker = await open()
    const done = await worker.run('digest', { userId: 'ada' })
    expectTypeOf(done.result).toEqualTypeOf<{ sent: number } | null>()
    expect(done).toMatchObject({ status: 'completed', result: { sent: 3 }, created: START, lastError: null })
    expect(done.events).toMatchObject([{ type: 'log', data: { message: 'sending', fields: { to: 'ada' } } }])
  })

  it('logs runs and failed jobs, as a worker does', async () => {
    const log = new TestLog()
    const worker = await open({ log })
    await worker.run('flaky', {})
    await worker.run('flaky', {}, { maxRetries: 0 })
    expect(log.of('warn')).toEqual(['run failed; will retry'])
    expect(log.of('error')).toEqual(['job failed permanently'])
  })

  it('returns the result as callers that wait for it get it', async () => {
    const worker = await open()
    const done = await worker.run('receipt', {})
    expectTypeOf(done.result).toEqualTypeOf<{ at: Date; total: number } | null>()
    expect(done.result).toEqual({ at: START, total: 12 })
    expect((await worker.store.get(done.id))?.result).toEqual({ at: START.toISOString(), total: '12' })

    await worker.enqueue('receipt', {})
    const [drained] = await worker.drain()
    expect(drained?.result).toEqual({ at: START, total: 12 })
    expect(await worker.run('silent', undefined)).toMatchObject({ status: 'completed', result: undefined })
    expect((await worker.run('flaky', {})).result).toBeNull()
  })

  it('has the types of the definitions, and their checks', async () => {
    const worker = await open()
    // @ts-expect-error a number is not a user
    await expect(worker.run('digest', { userId: 5 })).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
    // @ts-expect-error no such topic
    await expect(worker.run('digets', {})).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
    await expect(worker.run('elsewhere', { n: 1 })).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
  })

  it('runs that job alone', async () => {
    const worker = await open()
    const waiting = await worker.enqueue('digest', { userId: 'bob' })
    const parent = await worker.run('parent', {})
    expect(parent.status).toBe('completed')
    const { items } = await worker.store.list({ status: 'pending' })
    expect(items.map(({ topic, parentId }) => [topic, parentId])).toEqual(
      expect.arrayContaining([
        ['digest', null],
        ['digest', parent.id],
        ['elsewhere', null],
      ]),
    )
    expect(await worker.store.get(waiting)).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
  })

  it('drains due jobs and those they lead to; other topics wait', async () => {
    const worker = await open()
    await worker.enqueue('parent', {})
    await worker.enqueue('digest', { userId: 'later' }, { delay: MINUTE })
    const done = await worker.drain()
    expect(done.map(({ topic, status }) => [topic, status])).toEqual([
      ['parent', 'completed'],
      ['digest', 'completed'],
    ])
    expect(await worker.store.stats()).toMatchObject({ pending: 2, completed: 2 })
  })

  it('moves its clock only when told to, and runs each job when it is due', async () => {
    const worker = await open()
    // Never due, and of a topic without a handler here: it must not keep the clock from moving.
    await worker.enqueue('elsewhere', { n: 1 })
    const failed = await worker.run('flaky', {})
    expect(failed).toMatchObject({ status: 'pending', retries: 1, lastError: { message: 'attempt 1' } })
    expect(failed.runAt).toEqual(new Date(START.getTime() + MINUTE))

    expect(await worker.advance(MINUTE - 1)).toEqual([])
    const [second, third] = await worker.advance(10 * MINUTE)
    expect(second?.startedAt).toBeNull()
    expect(third).toMatchObject({ status: 'completed', result: 'at last' })
    // One minute after the first failure, four after the second.
    expect(third?.finishedAt).toEqual(new Date(START.getTime() + 5 * MINUTE))
    expect(worker.now()).toEqual(new Date(START.getTime() + 11 * MINUTE - 1))
  })

  it('runs each job when its rate allows it', async () => {
    const worker = await open()
    await worker.store.limit({ queue: 'default' }, { rate: { count: 1, intervalMs: MINUTE } })
    for (const userId of ['ada', 'bob', 'eve']) await worker.enqueue('digest', { userId })
    expect(await worker.drain()).toHaveLength(1)
    const [second, third] = await worker.advance(10 * MINUTE)
    expect(second?.finishedAt).toEqual(new Date(START.getTime() + MINUTE))
    expect(third?.finishedAt).toEqual(new Date(START.getTime() + 2 * MINUTE))
  })

  it('reports snoozed and cancelled jobs', async () => {
    const snooze = () => Promise.reject(new Snooze(MINUTE))
    const cancel = () => Promise.reject(new Cancel())
    const worker = await createTestWorker({ workers: { snooze, cancel }, now: START })
    opened.push(worker)
    expect(await worker.run('snooze', null)).toMatchObject({ status: 'pending', retries: 0 })
    expect(await worker.run('cancel', null)).toMatchObject({ status: 'cancelled' })
    expect(await worker.advance(3 * MINUTE)).toHaveLength(3)
  })

  it('uses middleware and the retry policy it is given', async () => {
    const seen: string[] = []
    const worker = await open({
      use: [
        async (running, _ctx, next) => {
          seen.push(running.topic)
          return next()
        },
      ],
      retry: { strategy: 'fixed', baseDelay: 1_000 },
    })
    const failed = await worker.run('flaky', {})
    expect(failed.runAt.getTime() - START.getTime()).toBe(1_000)
    expect(seen).toEqual(['flaky'])
  })

  it('runs isolated topics in this process', async () => {
    const worker = await open()
    expect(await worker.run('heavy', {})).toMatchObject({ result: process.pid })
  })

  it('does not run for ever', async () => {
    const worker = await createTestWorker({ workers: { again: () => Promise.reject(new Snooze(0)) } })
    opened.push(worker)
    await worker.enqueue('again', null)
    await expect(worker.drain({ maxRuns: 20 })).rejects.toThrow(
      'after 20 runs there is still a job to run: again',
    )
  })

  it('reports why a job cannot run now', async () => {
    const worker = await open()
    await worker.store.pause('default')
    await expect(worker.run('digest', { userId: 'ada' })).rejects.toMatchObject({
      code: 'INVALID_STATE',
      hint: expect.stringContaining('paused'),
    })
  })

  it('is closed where its block ends', async () => {
    let store: TestWorker['store']
    {
      await using worker = await createTestWorker({ jobs, workers })
      store = worker.store
    }
    await expect(store.now()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})
