import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { parsePayload, parseResult, parseSignal } from '../job/validate.ts'
import type { Received } from './context.ts'
import {
  defineJobs,
  type InputOf,
  job,
  type OutputOf,
  type PayloadOf,
  type ProgressInputOf,
  type ProgressOf,
  type ResultOf,
  type SignalInputOf,
} from './jobs.ts'
import { toRegistry } from './registry.ts'
import { defineWorkers } from './workers.ts'

const toNumber = v.pipe(v.string(), v.transform(Number))

const jobs = defineJobs({
  by_zod: job({
    input: z.object({ id: z.string().transform(Number) }),
    output: z.object({ sent: z.number() }),
    progress: z.object({ done: z.number() }),
    signals: { approve: z.object({ by: z.string() }) },
  }),
  by_valibot: job({
    input: v.object({ id: toNumber }),
    output: v.object({ sent: v.number() }),
    progress: v.object({ done: v.number() }),
    signals: { approve: v.object({ by: v.string() }) },
  }),
  by_arktype: job({
    input: type({ id: 'string.integer.parse' }),
    output: type({ sent: 'number' }),
    progress: type({ done: 'number' }),
    signals: { approve: type({ by: 'string' }) },
  }),
})
type Jobs = typeof jobs

describe.each(['by_zod', 'by_valibot', 'by_arktype'] as const)('%s', (topic) => {
  const { input, output, signals } = jobs[topic]

  it('parses a payload into what the handler gets', () => {
    expect(parsePayload(input, { id: '7' }, topic)).toEqual({ id: 7 })
    expect(parseResult(output, { sent: 3 }, topic)).toEqual({ sent: 3 })
    expect(parseSignal(signals.approve, { by: 'ada' }, topic)).toEqual({ by: 'ada' })
  })

  it('says where a value does not fit, and of which topic', () => {
    const parse = () => parsePayload(input, { id: 7 }, topic)
    expect(parse).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD' }))
    expect(parse).toThrow(/^payload\.id: .*string.* \(schema of by_\w+\)$/)
    expect(() => parseSignal(signals.approve, {}, topic)).toThrow(/^signal\.by: /)
    expect(() => parseResult(output, 3, topic)).toThrow(expect.objectContaining({ code: 'INVALID_RESULT' }))
  })
})

it('a definition has the types of its schemas, whichever library made them', () => {
  type Topics = keyof Jobs
  expectTypeOf<InputOf<Jobs, Topics>>().toEqualTypeOf<{ id: string }>()
  expectTypeOf<PayloadOf<Jobs, Topics>>().toEqualTypeOf<{ id: number }>()
  expectTypeOf<ResultOf<Jobs, Topics>>().toEqualTypeOf<{ sent: number }>()
  expectTypeOf<OutputOf<Jobs, Topics>>().toEqualTypeOf<{ sent: number }>()
  expectTypeOf<ProgressInputOf<Jobs, Topics>>().toEqualTypeOf<{ done: number }>()
  expectTypeOf<ProgressOf<Jobs, Topics>>().toEqualTypeOf<{ done: number }>()
  expectTypeOf<SignalInputOf<Jobs, Topics, 'approve'>>().toEqualTypeOf<{ by: string }>()
})

it('handlers are checked by them', () => {
  defineWorkers(jobs, {
    async by_valibot(job, ctx) {
      expectTypeOf(job.payload).toEqualTypeOf<{ id: number }>()
      expectTypeOf(ctx.receive('approve')).toEqualTypeOf<Promise<Received<{ by: string }>>>()
      ctx.progress({ done: 1 })
      // @ts-expect-error done is a number
      ctx.progress({ done: 'one' })
      // @ts-expect-error no such signal
      await ctx.receive('reject')
      return { sent: 1 }
    },
    // @ts-expect-error sent is a number
    by_arktype: async () => ({ sent: 'one' }),
  })
})

it('a definition without a progress schema accepts any', () => {
  const plain = defineJobs({ plain: job({ input: z.string() }) })
  expectTypeOf<ProgressInputOf<typeof plain, 'plain'>>().toEqualTypeOf<unknown>()
})

describe('a missing value, which is stored as null', () => {
  it.each([
    ['Valibot', v.optional(v.string())],
    ['ArkType', type('string | undefined')],
  ])('is undefined for a schema of %s that does not accept null', (_, schema) => {
    expect(parsePayload(schema, null, 'x')).toBeUndefined()
  })
})

describe('a schema that cannot be used', () => {
  it('is refused when it is defined, where the library says that it is asynchronous', () => {
    // @ts-expect-error a payload is checked where nothing can be awaited
    const define = () => job({ input: v.objectAsync({ id: v.string() }) })
    expect(define).toThrow('job.input is an asynchronous schema')
  })

  it('is refused when it is used, where only its result shows it', () => {
    const late = { '~standard': { version: 1, vendor: 'own', validate: () => Promise.reject(new Error()) } }
    expect(() => parsePayload(job({ input: late as never }).input, 1, 'x')).toThrow(
      'the payload schema of x is asynchronous; move the asynchronous part into the handler',
    )
  })

  it.each([[{ '~standard': {} }], [() => true], [undefined]])('is refused: %s', (input) => {
    expect(() => job({ input: input as never })).toThrow(
      'job.input must be a schema of zod 4, or of a library with Standard Schema',
    )
  })
})

describe('what a worker announces', () => {
  const describeInput = (input: Parameters<typeof job>[0]['input']) =>
    toRegistry(defineWorkers(defineJobs({ x: job({ input }) }), { x: () => null })).describe()[0]?.input

  it('is the JSON Schema of the library, if it has one', () => {
    const object = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
    expect(describeInput(type({ id: 'string' }))).toMatchObject(object)
    expect(describeInput(toStandardJsonSchema(v.object({ id: toNumber })))).toMatchObject(object)
  })

  it('accepts anything, if it has none, or cannot express the schema', () => {
    expect(describeInput(v.object({ id: v.string() }))).toEqual({})
    expect(describeInput(toStandardJsonSchema(v.object({ id: v.bigint() })))).toEqual({})
  })

  it('accepts null where a missing value is accepted', () => {
    expect(describeInput(toStandardJsonSchema(v.optional(v.string())))).toMatchObject({
      anyOf: [{ type: 'string' }, { type: 'null' }],
    })
  })

  it('accepts what a pattern with flags accepts', () => {
    const described = describeInput(type({ pattern: /^a$/i, kind: "'pattern'" }))
    expect(described).toMatchObject({
      properties: { pattern: { type: 'string' }, kind: { const: 'pattern' } },
    })
    expect(described).not.toHaveProperty('properties.pattern.pattern')
  })
})
