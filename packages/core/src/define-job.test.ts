import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  defineJob,
  defineJobs,
  type InputOf,
  job,
  type OutputOf,
  type PayloadOf,
  type ResultOf,
  type TopicOf,
} from './define-job.ts'

const jobs = defineJobs({
  mail_digest: job({
    input: z.object({ userId: z.string(), since: z.coerce.date<string>().optional() }),
    output: z.object({ sent: z.string().transform(Number) }),
    retry: { max: 5, strategy: 'exponential_jitter', retryOn: [TypeError] },
  }),
  'billing:check_payment': job({ input: z.object({ orderId: z.string() }), queue: 'high', retry: false }),
})
type Jobs = typeof jobs

describe('job', () => {
  it('reads its retry options once, where a mistake is cheap', () => {
    expect(jobs.mail_digest).toMatchObject({
      maxRetries: 5,
      retry: { strategy: 'exponential_jitter' },
      retryOn: [TypeError],
      queue: undefined,
    })
    expect(jobs['billing:check_payment']).toMatchObject({
      maxRetries: 0,
      retry: undefined,
      queue: 'high',
      retryOn: [],
    })
  })

  it.each<[object, string, string]>([
    [{ input: z.string(), queue: 'a b' }, 'INVALID_QUEUE', 'job.queue: contains " "'],
    [{ input: z.string(), priority: 1e6 }, 'INVALID_PRIORITY', 'job.priority'],
    [{ input: z.string(), retry: { tries: 3 } }, 'INVALID_INPUT', 'job.retry: Unrecognized key: "tries"'],
    [{ input: z.string(), timeout: 5 }, 'INVALID_INPUT', 'job: Unrecognized key: "timeout"'],
    [{ input: { type: 'object' } }, 'INVALID_INPUT', 'job.input must be a zod 4 schema'],
    [{}, 'INVALID_INPUT', 'job.input must be a zod 4 schema'],
    [{ input: z.string(), isolate: { memoryMb: 1 } }, 'INVALID_INPUT', 'job.isolate'],
    [{ input: z.string(), isolate: { memory: 64 } }, 'INVALID_INPUT', 'job.isolate'],
    [{ input: z.string(), output: 5 }, 'INVALID_INPUT', 'job.output must be a zod 4 schema'],
  ])('refuses %j', (config, code, message) => {
    expect(() => job(config as never)).toThrow(expect.objectContaining({ code }))
    expect(() => job(config as never)).toThrow(message)
  })

  it('is isolated only where it says so', () => {
    const isolateOf = (isolate?: boolean | { memoryMb?: number }) =>
      job({ input: z.string(), isolate }).isolate
    expect(isolateOf(true)).toEqual({})
    expect(isolateOf({ memoryMb: 64 })).toEqual({ memoryMb: 64 })
    expect(isolateOf(false)).toBeUndefined()
    expect(isolateOf()).toBeUndefined()
  })

  it('does not compile with a wrong option', () => {
    // @ts-expect-error a text is no priority
    expect(() => job({ input: z.string(), priority: 'high' })).toThrow()
    // @ts-expect-error no such strategy
    expect(() => job({ input: z.string(), retry: { strategy: 'linear' } })).toThrow()
  })
})

describe('defineJobs', () => {
  it('refuses a bad topic and what job() did not make', () => {
    expect(() => defineJobs({ 'no good': job({ input: z.string() }) })).toThrow(
      'topic "no good" contains " "',
    )
    // @ts-expect-error a config is no definition
    expect(() => defineJobs({ mail: { input: z.string() } })).toThrow('jobs.mail is not a definition')
    // @ts-expect-error nor is nothing
    expect(() => defineJobs({ mail: undefined })).toThrow('jobs.mail is not a definition')
  })

  it('keeps the types of every topic', () => {
    expectTypeOf<TopicOf<Jobs>>().toEqualTypeOf<'mail_digest' | 'billing:check_payment'>()
    expectTypeOf<InputOf<Jobs, 'mail_digest'>>().toEqualTypeOf<{
      userId: string
      since?: string | undefined
    }>()
    expectTypeOf<PayloadOf<Jobs, 'mail_digest'>>().toEqualTypeOf<{
      userId: string
      since?: Date | undefined
    }>()
    expectTypeOf<ResultOf<Jobs, 'mail_digest'>>().toEqualTypeOf<{ sent: string }>()
    expectTypeOf<OutputOf<Jobs, 'mail_digest'>>().toEqualTypeOf<{ sent: number }>()
    expectTypeOf<OutputOf<Jobs, 'billing:check_payment'>>().toEqualTypeOf<unknown>()
    // @ts-expect-error no such topic
    expectTypeOf<InputOf<Jobs, 'mail'>>().toEqualTypeOf<unknown>()
  })
})

describe('defineJob', () => {
  it('defines one topic, to be spread among others', () => {
    const all = defineJobs({
      ...defineJob('a', { input: z.string() }),
      ...defineJob('b', { input: z.number() }),
    })
    expect(Object.keys(all)).toEqual(['a', 'b'])
    expectTypeOf<InputOf<typeof all, 'a'>>().toEqualTypeOf<string>()
    expectTypeOf<InputOf<typeof all, 'b'>>().toEqualTypeOf<number>()
  })
})
