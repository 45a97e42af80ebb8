import { defineJobs, defineWorkers, job } from '@oncue/core'
import { toRegistry } from '@oncue/core/internal'
import { openStore, type Store } from '@oncue/db'
import { createPostgresDatabase, createSqliteDatabase } from '@oncue/db/testing'
import { silentLogger } from '@oncue/runtime'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createPayloadValidation, type PayloadValidation } from '../src/enqueue/payload-validation.ts'

const input = z.strictObject({
  userId: z.string().min(2),
  items: z.array(z.object({ name: z.string(), count: z.int().positive() })).default([]),
  mode: z.enum(['fast', 'slow']).optional(),
  link: z.url().optional(),
  price: z.number().multipleOf(0.01).optional(),
  target: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('mail'), address: z.email() }),
      z.object({ kind: z.literal('push'), device: z.object({ id: z.uuid() }) }),
    ])
    .optional(),
  tags: z.union([z.string(), z.array(z.string())]).optional(),
})

const [announced] = toRegistry(
  defineWorkers(defineJobs({ mail: job({ input }) }), { mail: async () => null }),
).describe()

const topicOf = (schema: unknown, topic = 'mail') => ({ topic, input: schema, output: {}, policy: {} })

const DATABASES = {
  Postgres: () => createPostgresDatabase(inject('postgresUrl')),
  SQLite: createSqliteDatabase,
}

describe.each(Object.entries(DATABASES))('payloads of announced topics on %s', (_, createDatabase) => {
  let store: Store
  let drop: () => Promise<void>
  let warnings: string[]
  let payloads: PayloadValidation

  beforeAll(async () => {
    const database = await createDatabase()
    store = await openStore(database.url)
    drop = () => database.drop()
  })
  afterAll(async () => {
    await store.close()
    await drop()
  })
  beforeEach(async () => {
    warnings = []
    const log = { ...silentLogger, warn: (_: object, message: string) => warnings.push(message) }
    payloads = createPayloadValidation({ store, log, refreshMs: 0 })
    await store.announce([topicOf(announced?.input)])
  })

  test.each<[payload: unknown, path: string, reason: string]>([
    [undefined, 'payload', 'must be object'],
    ['text', 'payload', 'must be object'],
    [{}, 'payload.userId', 'is missing'],
    [{ userId: 12 }, 'payload.userId', 'must be string'],
    [{ userId: 'x' }, 'payload.userId', 'must NOT have fewer than 2 characters'],
    [{ userId: '😀' }, 'payload.userId', 'must NOT have fewer than 2 characters'],
    [{ userId: '123', more: 1 }, 'payload.more', 'is not a field of this topic'],
    [
      {
        userId: '123',
        items: [
          { name: 'a', count: 1 },
          { name: 'b', count: 0.5 },
        ],
      },
      'payload.items[1].count',
      'must be integer',
    ],
    [{ userId: '123', items: [{ count: 1 }] }, 'payload.items[0].name', 'is missing'],
    [{ userId: '123', mode: 'warp' }, 'payload.mode', 'must be one of "fast", "slow"'],
    [{ userId: '123', link: 'no link' }, 'payload.link', 'must match format "uri"'],
    [
      { userId: '123', target: { kind: 'push', device: { id: 'x' } } },
      'payload.target.device.id',
      'must match',
    ],
    [{ userId: '123', tags: ['a', 1] }, 'payload.tags[1]', 'must be string'],
  ])('%j is refused with the path of the fault', async (payload, path, reason) => {
    await expect(payloads.check('mail', payload, 'reject')).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: expect.stringContaining(`${path}: ${reason}`),
      details: { topic: 'mail', path },
    })
    expect(input.safeParse(payload).success).toBe(false)
  })

  test.each([
    [{ userId: '123' }],
    [{ userId: '😀😀' }],
    [{ userId: '123', link: 'https://exämple.org/ä', price: 0.29 }],
    [{ userId: '123', items: [{ name: 'a', count: 1, more: true }], tags: 'a' }],
    [{ userId: '123', target: { kind: 'mail', address: 'kim@example.org' } }],
  ])('%j is accepted, as by the handler', async (payload) => {
    await payloads.check('mail', payload, 'reject')
    expect(input.safeParse(payload).success).toBe(true)
  })

  test('a message never repeats the value, which may be secret', async () => {
    const wrong = { userId: '123', mode: 'hunter2' }
    const error = await payloads.check('mail', wrong, 'reject').catch((thrown) => thrown)
    expect(JSON.stringify(error)).not.toContain('hunter2')
  })

  test('mode warn logs it, mode off ignores it', async () => {
    await payloads.check('mail', {}, 'warn')
    expect(warnings).toEqual(['stored an invalid payload: payload.userId: is missing (schema of mail)'])
    await payloads.check('mail', {}, 'off')
    expect(warnings).toHaveLength(1)
  })

  test('a topic that no worker announced accepts any payload', async () => {
    await payloads.check('unknown', { any: 'thing' }, 'reject')
    await payloads.check('toString', { any: 'thing' }, 'reject')
  })

  test('a new announcement replaces the old one', async () => {
    await payloads.check('mail', { userId: '123' }, 'reject')
    await store.announce([topicOf({ $id: 'mail', type: 'object', required: ['to'] })])
    await expect(payloads.check('mail', { userId: '123' }, 'reject')).rejects.toThrow(
      'payload.to: is missing',
    )
    await store.announce([topicOf({ $id: 'mail', type: 'object', required: ['from'] })])
    await expect(payloads.check('mail', { to: 1 }, 'reject')).rejects.toThrow('payload.from: is missing')
  })

  test('schemas are read once while they are fresh, however many payloads are checked', async () => {
    let asked = 0
    const counting = {
      topics() {
        asked += 1
        return store.topics()
      },
    }
    const fresh = createPayloadValidation({ store: counting, log: silentLogger, refreshMs: 60_000 })
    await Promise.all(Array.from({ length: 50 }, () => fresh.check('mail', { userId: '123' }, 'reject')))
    await fresh.check('mail', { userId: '123' }, 'reject')
    expect(asked).toBe(1)
  })

  test('schemas of questions are compiled once, and the last 500 are kept', () => {
    const compile = vi.spyOn(Ajv2020.prototype, 'compile')
    onTestFinished(() => compile.mockRestore())
    const ask = (name: string, maximum: number) => {
      const question = { topic: 'mail', name, schema: { type: 'number', maximum } }
      payloads.checkAnswer(question, 0)
    }
    for (let n = 0; n < 3; n++) ask(`approve ${n}`, 0)
    expect(compile).toHaveBeenCalledTimes(1)
    for (let n = 1; n < 500; n++) ask('approve', n)
    ask('approve', 0)
    expect(compile).toHaveBeenCalledTimes(501)
  })

  test('a failed read of the schemas is repeated', async () => {
    let fails = true
    const flaky = { topics: async () => (fails ? Promise.reject(new Error('away')) : store.topics()) }
    const validation = createPayloadValidation({ store: flaky, log: silentLogger, refreshMs: 60_000 })
    await expect(validation.check('mail', {}, 'reject')).rejects.toThrow('away')
    fails = false
    await expect(validation.check('mail', {}, 'reject')).rejects.toThrow('payload.userId: is missing')
  })

  test.each([
    ['refers to a missing schema', { $ref: 'https://example.org/schema.json' }],
    ['has a pattern that is none', { type: 'object', properties: { a: { type: 'string', pattern: '(' } } }],
    ['is no schema', { type: 'nonsense' }],
    ['is a text', 'string'],
    ['is a number', 5],
    ['is null', null],
  ])('a schema that %s rejects no payload, and is reported once', async (_, schema) => {
    await store.announce([topicOf(schema)])
    await payloads.check('mail', { userId: 12 }, 'reject')
    await payloads.check('mail', { userId: 12 }, 'reject')
    expect(warnings).toEqual(['announced schema does not compile; payloads of this topic are not validated'])
  })

  test('a schema without known keywords accepts any payload', async () => {
    for (const schema of [{}, true, { 'x-unknown': 1, format: 'cuid' }]) {
      await store.announce([topicOf(schema)])
      await payloads.check('mail', 'cjld2cyuq0000t3rmniod1foy', 'reject')
    }
    expect(warnings).toEqual([])
  })
})
