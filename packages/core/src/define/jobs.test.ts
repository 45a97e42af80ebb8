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
} from './jobs.ts'

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
  it('checks its retry options when it is defined', () => {
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
    [{ input: { type: 'object' } }, 'INVALID_INPUT', 'job.input must be a schema of zod 4'],
    [{}, 'INVALID_INPUT', 'job.input must be a schema of zod 4'],
    [
      { input: z.string(), signals: { 'a:b': z.null() } },
      'INVALID_INPUT',
      'job.signals: a name must not contain ":"',
    ],
    [{ input: z.string(), isolate: { memoryMb: 1 } }, 'INVALID_INPUT', 'job.isolate'],
    [{ input: z.string(), isolate: { memory: 64 } }, 'INVALID_INPUT', 'job.isolate'],
    [{ input: z.string(), isolate: { env: ['A=B'] } }, 'INVALID_INPUT', 'job.isolate'],
    [{ input: z.string(), events: 'some' }, 'INVALID_INPUT', 'job.events'],
    [{ input: z.string(), output: 5 }, 'INVALID_INPUT', 'job.output must be a schema of zod 4'],
  ])('refuses %j', (config, code, message) => {
    expect(() => job(config as never)).toThrow(expect.objectContaining({ code }))
    expect(() => job(config as never)).toThrow(message)
  })

  it('is isolated only if its config says so', () => {
    const isolateOf = (isolate?: boolean | { memoryMb?: number }) =>
      job({ input: z.string(), isolate }).isolate
    expect(isolateOf(true)).toEqual({})
    expect(isolateOf({ memoryMb: 64 })).toEqual({ memoryMb: 64 })
    expect(isolateOf(false)).toBeUndefined()
    expect(isolateOf()).toBeUndefined()
  })

  it('does not compile with a wrong option', () => {
    // @ts-expect-error a text is not a priority
    expect(() => job({ input: z.string(), priority: 'high' })).toThrow()
    // @ts-expect-error no such strategy
    expect(() => job({ input: z.string(), retry: { strategy: 'linear' } })).toThrow()
  })
})

describe('a schema that no JSON can satisfy', () => {
  class Money {}
  const Node: z.ZodType = z.object({ at: z.date(), next: z.lazy(() => Node).optional() })

  it.each<[z.ZodType, string]>([
    [z.date(), 'job.input is z.date(), which JSON cannot represent'],
    [z.bigint(), 'job.input is z.bigint()'],
    [z.map(z.string(), z.string()), 'job.input is z.map()'],
    [z.set(z.string()), 'job.input is z.set()'],
    [z.nan(), 'job.input is z.nan()'],
    [z.symbol(), 'job.input is z.symbol()'],
    [z.promise(z.string()), 'job.input is z.promise()'],
    [z.literal(5n), 'job.input is z.bigint()'],
    [z.object({ order: z.object({ at: z.date() }) }), 'job.input.order.at is z.date()'],
    [z.object({ at: z.date().optional() }), 'job.input.at is z.date()'],
    [z.object({ at: z.date().nullable() }), 'job.input.at is z.date()'],
    [z.object({ at: z.date().nullish().readonly() }), 'job.input.at is z.date()'],
    [z.object({ nothing: z.void() }), 'job.input.nothing is z.void()'],
    [z.object({}).catchall(z.date()), 'job.input[…] is z.date()'],
    [z.array(z.bigint()), 'job.input[] is z.bigint()'],
    [z.tuple([z.string(), z.date()]), 'job.input[1] is z.date()'],
    [z.tuple([z.string()], z.date()), 'job.input[1] is z.date()'],
    [z.record(z.string(), z.set(z.string())), 'job.input[…] is z.set()'],
    [z.union([z.date(), z.bigint()]), 'job.input is z.date()'],
    [z.union([z.date(), z.null()]), 'job.input is z.date()'],
    [z.intersection(z.object({ a: z.string() }), z.object({ at: z.date() })), 'job.input.at is z.date()'],
    [z.date().transform((date) => date.getTime()), 'job.input is z.date()'],
    [Node, 'job.input.at is z.date()'],
  ])('is refused when the module is loaded, with its path: %#', (schema, message) => {
    expect(() => job({ input: schema })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    expect(() => job({ input: schema })).toThrow(message)
    expect(() => job({ input: z.unknown(), output: schema })).toThrow(message.replace('input', 'output'))
  })

  it('is searched once per schema, however unions refer to each other', () => {
    let looks = 0
    let node: z.ZodType = z.string()
    for (let depth = 0; depth < 16; depth++) {
      const inner = node
      const next = z.lazy(() => {
        looks++
        return inner
      })
      node = z.union([z.object({ left: next }), z.object({ right: next })])
    }
    job({ input: node })
    expect(looks).toBe(16)
  })

  it('is refused with what to write instead', () => {
    expect(() => job({ input: z.date() })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('z.coerce.date<string>()') }),
    )
  })

  it.each<z.ZodType[]>([
    [z.void()],
    [z.undefined()],
    [z.coerce.date()],
    [z.coerce.bigint()],
    [z.iso.datetime()],
    [z.string().transform((text) => new Date(text))],
    [z.string().pipe(z.coerce.date())],
    [z.preprocess(String, z.string())],
    [z.codec(z.string(), z.date(), { decode: (text) => new Date(text), encode: (at) => at.toISOString() })],
    [z.union([z.string(), z.date()])],
    [z.object({ at: z.date().default(() => new Date()) })],
    [z.object({ at: z.undefined().optional() })],
    [z.strictObject({ a: z.string() })],
    [z.instanceof(Money)],
    [z.literal([5n, 'five'])],
    [
      z.lazy(() => {
        throw new ReferenceError('further down')
      }),
    ],
  ])('is not one of these: %#', (schema) => {
    expect(job({ input: schema, output: schema }).input).toBe(schema)
  })
})

describe('defineJobs', () => {
  it('refuses an invalid topic and what job() did not make', () => {
    expect(() => defineJobs({ 'no good': job({ input: z.string() }) })).toThrow(
      'topic "no good" contains " "',
    )
    // @ts-expect-error a config is not a definition
    expect(() => defineJobs({ mail: { input: z.string() } })).toThrow('jobs.mail is not a definition')
    // @ts-expect-error undefined is not a definition
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
