import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineJobs, job } from './jobs.ts'
import { toRegistry } from './registry.ts'
import { defineWorkers } from './workers.ts'

const jobs = defineJobs({
  mail_digest: job({
    input: z.object({ userId: z.string(), since: z.string().default('monday') }),
    output: z.object({ sent: z.number() }),
    queue: 'mail',
    retry: { max: 5, strategy: 'fixed' },
    isolate: { memoryMb: 64 },
  }),
})
const workers = defineWorkers(jobs, { mail_digest: async () => ({ sent: 1 }) })

describe('toRegistry', () => {
  it('collects the topics of several modules', () => {
    const registry = toRegistry(workers, { plain: async () => {} })
    expect(registry.topics()).toEqual(['mail_digest', 'plain'])
    expect(registry.get('mail_digest')?.definition).toBe(jobs.mail_digest)
    expect(registry.get('toString')).toBeUndefined()
  })

  it('refuses two handlers for one topic', () => {
    expect(() => toRegistry(workers, { mail_digest: async () => {} })).toThrow(
      'two handlers for the topic "mail_digest"',
    )
  })
})

describe('describe', () => {
  it('returns JSON Schemas of what producers send and of what they get', () => {
    const [topic] = toRegistry(workers).describe()
    expect(topic).toMatchObject({
      topic: 'mail_digest',
      // `since` has a default, so producers may omit it.
      input: { type: 'object', required: ['userId'], properties: { since: { type: 'string' } } },
      output: { type: 'object', required: ['sent'] },
      queue: 'mail',
      maxRetries: 5,
      retry: { strategy: 'fixed' },
      isolate: { memoryMb: 64 },
    })
  })

  it('returns {} for what JSON Schema cannot express', () => {
    const strange = defineJobs({ x: job({ input: z.object({ at: z.custom<string>(() => true) }) }) })
    const [topic] = toRegistry(defineWorkers(strange, { x() {} })).describe()
    expect(topic?.input).toMatchObject({ properties: { at: {} } })

    const hostile = z.lazy(() => {
      throw new Error('not now')
    })
    const [other] = toRegistry(
      defineWorkers(defineJobs({ y: job({ input: hostile }) }), { y() {} }),
    ).describe()
    expect(other?.input).toEqual({})
  })

  it('accepts null where the payload may be omitted: that is how it is stored', () => {
    const inputOf = (input: z.ZodType) =>
      toRegistry(defineWorkers(defineJobs({ x: job({ input }) }), { x() {} })).describe()[0]?.input
    expect(inputOf(z.object({ a: z.string() }).optional())).toMatchObject({
      anyOf: [{ type: 'object', required: ['a'] }, { type: 'null' }],
    })
    expect(inputOf(z.number().default(5))).toMatchObject({ anyOf: [{ type: 'number' }, { type: 'null' }] })
    for (const input of [z.void(), z.undefined()]) expect(inputOf(input)).toEqual({ type: 'null' })
    expect(inputOf(z.unknown())?.anyOf).toBeUndefined()

    const Node = z.object({
      get next() {
        return Node.optional()
      },
    })
    const described = inputOf(z.object({ first: Node, second: Node }).optional())
    for (const [ref] of JSON.stringify(described).matchAll(/#\/\$defs\/\w+/g)) {
      expect(described?.$defs).toHaveProperty([ref.split('/').at(-1) ?? ''])
    }
  })

  it('refuses no payload that the schema itself accepts', () => {
    const input = z.object({
      coerced: z.coerce.number().min(3),
      prepared: z.preprocess(String, z.string()),
      caught: z.string().catch('nothing'),
      trimmed: z.string().trim().max(3),
      flagged: z.string().regex(/^a$/i),
      both: z.string().regex(/^a/i).regex(/b$/i),
      plain: z.string().regex(/^a$/).max(3).optional(),
    })
    const [topic] = toRegistry(defineWorkers(defineJobs({ x: job({ input }) }), { x() {} })).describe()
    expect(topic?.input.properties).toEqual({
      coerced: {},
      prepared: {},
      caught: {},
      trimmed: { type: 'string' },
      flagged: { type: 'string' },
      both: { type: 'string' },
      plain: { type: 'string', pattern: '^a$', maxLength: 3 },
    })
  })
})
