import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { JobId } from '../job/id.ts'
import { unknownTopic } from '../job/names.ts'
import type { JobContext, RunningJob } from './context.ts'
import { defineJobs, job } from './jobs.ts'
import { defineWorkers, readWorkers } from './workers.ts'

const jobs = defineJobs({
  mail_digest: job({ input: z.object({ userId: z.string() }), output: z.object({ sent: z.number() }) }),
  check_payment: job({ input: z.object({ orderId: z.coerce.number<string>() }) }),
})

describe('defineWorkers', () => {
  it('joins definitions and handlers; some topics may be served elsewhere', () => {
    const mail_digest = async () => ({ sent: 3 })
    const workers = readWorkers(defineWorkers(jobs, { mail_digest, check_payment: undefined }))
    expect([...workers]).toEqual([['mail_digest', { definition: jobs.mail_digest, handler: mail_digest }]])
  })

  it('gives handlers the types of their topic', () => {
    defineWorkers(jobs, {
      async mail_digest(job, ctx) {
        expectTypeOf(job.topic).toEqualTypeOf<'mail_digest'>()
        expectTypeOf(job.payload).toEqualTypeOf<{ userId: string }>()
        expectTypeOf(ctx.job.payload).toEqualTypeOf<{ userId: string }>()
        expectTypeOf(ctx.signal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(ctx.step('one', async () => 1)).toEqualTypeOf<Promise<number>>()
        expectTypeOf(ctx.spawn('check_payment', { orderId: '7' })).resolves.toEqualTypeOf<JobId>()
        return { sent: 3 }
      },
      async check_payment(job, ctx) {
        expectTypeOf(job.payload).toEqualTypeOf<{ orderId: number }>()
        // @ts-expect-error no such topic
        await ctx.enqueue('check', { orderId: '7' })
        // @ts-expect-error producers send the input type, a text
        await ctx.spawn('check_payment', { orderId: 7 })
        // @ts-expect-error spawn itself sets the parent
        await ctx.spawn('check_payment', { orderId: '7' }, { parentId: job.id })
      },
    })
  })

  it('does not compile with a wrong result', () => {
    defineWorkers(jobs, {
      // @ts-expect-error sent is a number
      mail_digest: async () => ({ sent: 'three' }),
    })
    defineWorkers(jobs, {
      // @ts-expect-error the output schema requires a result
      async mail_digest() {},
    })
  })

  it('compiles with literals of the output schema, and with no others', () => {
    const orders = defineJobs({
      order: job({
        input: z.null(),
        output: z.object({ state: z.enum(['paid', 'refused']), kind: z.literal('a') }),
      }),
    })
    defineWorkers(orders, { order: () => ({ state: 'paid', kind: 'a' }) })
    defineWorkers(orders, {
      async order(_, ctx) {
        if (ctx.signal.aborted) return { state: 'refused', kind: 'a' }
        return { state: 'paid', kind: 'a' }
      },
    })
    defineWorkers(orders, { order: async () => ({ state: 'paid', kind: 'a' }) }, { complete: true })
    // @ts-expect-error no such state
    defineWorkers(orders, { order: async () => ({ state: 'lost', kind: 'a' }) })
  })

  it('does not compile with a payload of another type', () => {
    defineWorkers(jobs, {
      // @ts-expect-error userId is a text
      mail_digest: async (_job: RunningJob<'mail_digest', { userId: number }>) => ({ sent: 3 }),
    })
  })

  it('refuses a handler for a topic that is not defined', () => {
    const other = async () => {}
    // @ts-expect-error no such topic
    expect(() => defineWorkers(jobs, { other })).toThrow(expect.objectContaining({ code: 'UNKNOWN_TOPIC' }))
    // @ts-expect-error inherited names are not topics either
    expect(() => defineWorkers(jobs, { toString: other })).toThrow('"toString", which is not defined in jobs')
  })

  it('accepts a handler without a return where the result is optional', () => {
    const input = z.string()
    const quiet = defineJobs({
      a: job({ input, output: z.undefined() }),
      b: job({ input, output: z.string().optional() }),
      c: job({ input, output: z.number().default(1) }),
    })
    const nothing = async () => {}
    defineWorkers(quiet, { a: nothing, b: nothing, c: nothing })
    // @ts-expect-error a text is expected
    defineWorkers(defineJobs({ d: job({ input, output: z.string() }) }), { d: nothing })
  })

  it('lists the topics that exist when one is wrong', () => {
    // @ts-expect-error no such topic
    expect(() => defineWorkers(jobs, { mail: async () => {} })).toThrow(
      'there are mail_digest, check_payment',
    )
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`t${n}`, job({ input: z.void() })]))
    expect(unknownTopic('t', 'is unknown', Object.keys(many)).message).toMatch(
      /^"t" is unknown: there are t0, .* and 5 more$/,
    )
    expect(unknownTopic('t', 'is unknown', []).message).toBe('"t" is unknown: there are none')
  })

  it('refuses a topic without a handler when all are required', () => {
    const mail_digest = async () => ({ sent: 3 })
    const check_payment = async () => {}
    expect(readWorkers(defineWorkers(jobs, { mail_digest, check_payment }, { complete: true })).size).toBe(2)
    // @ts-expect-error check_payment is missing
    expect(() => defineWorkers(jobs, { mail_digest }, { complete: true })).toThrow(
      'workers has no handler for check_payment',
    )
    expect(() =>
      // @ts-expect-error undefined is not a handler
      defineWorkers(jobs, { mail_digest, check_payment: undefined }, { complete: true }),
    ).toThrow('workers has no handler for check_payment')
  })

  it('refuses a handler that is not a function', () => {
    // @ts-expect-error not a function
    expect(() => defineWorkers(jobs, { mail_digest: 'send' })).toThrow(
      'workers: the handler of "mail_digest" must be a function, not "send"',
    )
  })
})

describe('readWorkers', () => {
  it('reads a plain object of handlers', () => {
    const mail_digest = async (_job: RunningJob, _ctx: JobContext) => {}
    const workers = readWorkers({ mail_digest }, './jobs.mjs')
    expect(workers.get('mail_digest')?.handler).toBe(mail_digest)
    expect(workers.get('mail_digest')?.definition).toMatchObject({ maxRetries: undefined, retryOn: [] })
  })

  it('reads what another copy of this package defined', () => {
    const map = new Map()
    expect(readWorkers({ [Symbol.for('oncue.workers')]: map })).toBe(map)
  })

  it.each<[unknown, string]>([
    [undefined, './jobs.mjs exports no `workers`'],
    [null, './jobs.mjs exports null as `workers`'],
    [[], './jobs.mjs exports an array as `workers`'],
    [async () => {}, './jobs.mjs exports a function as `workers`'],
    [{ mail: 5 }, './jobs.mjs: the handler of "mail" must be a function, not 5'],
    [{ 'no good': () => {} }, 'topic "no good" contains " "'],
  ])('refuses %j', (exported, message) => {
    expect(() => readWorkers(exported, './jobs.mjs')).toThrow(message)
  })
})
