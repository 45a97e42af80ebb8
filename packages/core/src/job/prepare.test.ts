import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { job } from '../define/jobs.ts'
import { isOncueError } from '../errors.ts'
import { enqueueOptionsSchema } from './enqueue-options.ts'
import { isJobId, newJobId } from './id.ts'
import { LIMITS } from './limits.ts'
import { prepareJob, prepareOwnJob, readPolicy } from './prepare.ts'

function refusal(...args: Parameters<typeof prepareJob>) {
  try {
    prepareJob(...args)
  } catch (error) {
    if (isOncueError(error)) return error
    throw error
  }
  throw new Error('was accepted')
}

/** The options that take any text. */
function textOptions(): string[] {
  return Object.entries(enqueueOptionsSchema.shape).flatMap(([name, schema]) =>
    schema.safeParse('a').success ? [name] : [],
  )
}

it('takes from an announced policy what this version understands', () => {
  const policy = { queue: 'mail', priority: 99_999, retry: { strategy: 'newer' }, maxRetries: 0, isolate: 1 }
  expect(readPolicy(policy)).toEqual({ queue: 'mail', maxRetries: 0 })
  expect(readPolicy('odd')).toEqual({})
})

describe('prepareJob', () => {
  it.each(textOptions())('refuses a NUL in the option %s', (name) => {
    expect(refusal('x', null, { [name]: 'a\0b' }).message).toContain(`options.${name}`)
  })

  it('needs a topic and a payload; the rest has defaults', () => {
    const prepared = prepareJob('mail_digest', { userId: '123' })
    expect(isJobId(prepared.id)).toBe(true)
    const absent = Object.entries(prepared).filter(([, value]) => value === null)
    expect(prepared).toEqual({
      ...Object.fromEntries(absent),
      id: prepared.id,
      queue: 'default',
      topic: 'mail_digest',
      payload: '{"userId":"123"}',
      priority: 0,
      runAt: null,
      delayMs: 0,
      maxRetries: 3,
      retry: null,
      timeoutMs: 600_000,
      meta: null,
      trace: null,
      unique: null,
      idempotencyKey: null,
      internalKey: null,
      concurrencyKey: null,
      concurrencyLimit: null,
      after: [],
      onParentFailure: 'wait',
      parentId: null,
    })
  })

  it('applies the options', () => {
    const options = {
      parentId: newJobId(),
      queue: 'high',
      priority: -5,
      runAt: new Date(Date.UTC(2026, 0, 8)),
      timeoutMs: 1_000,
      maxRetries: 0,
      retry: { strategy: 'fixed', baseDelay: 100 },
      idempotencyKey: 'order-456',
      concurrencyKey: 'user:123',
      concurrencyLimit: 3,
      onParentFailure: 'go_on',
      trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      meta: { agent_id: 'a1' },
    } as const
    const after = [newJobId(), newJobId()]
    const unique = { key: 'digest:123', within: 60_000, onConflict: 'replace' } as const
    expect(prepareJob('mail_digest', null, { ...options, unique, after: [...after, ...after] })).toEqual({
      ...options,
      id: expect.any(String),
      after,
      unique: {
        ...{ key: 'digest:123', scope: 'topic', withinMs: 60_000, onConflict: 'replace', ifRunning: 'wait' },
      },
      internalKey: null,
      topic: 'mail_digest',
      payload: 'null',
      delayMs: 0,
      meta: '{"agent_id":"a1"}',
    })
  })

  it('leaves the end of a delay to the clock of the store', () => {
    expect(prepareJob('x', 1, { delay: 1_500 })).toMatchObject({ runAt: null, delayMs: 1_500 })
  })

  it('a unique key holds while its job is live, and returns the id of that job, by default', () => {
    const { unique } = prepareJob('x', 1, { unique: { key: 'k' } })
    expect(unique).toEqual({
      ...{ key: 'k', scope: 'topic', withinMs: null, onConflict: 'existing', ifRunning: 'wait' },
    })
  })

  it.each([
    [{ key: 'k', ifRunning: 'start' }, 'ifRunning'],
    [{ key: 'k', ifRunning: 'wait', onConflict: 'existing' }, 'ifRunning'],
    [{ key: 'k', scope: 'all', onConflict: 'replace' }, "scope 'all'"],
  ] as const)('refuses the rule %o, which would have no effect', (unique, named) => {
    expect(() => prepareJob('x', 1, { unique })).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(named) }),
    )
  })

  it('lets no caller use a key of the kind that Oncue uses itself', () => {
    // @ts-expect-error: there is no such option.
    expect(() => prepareJob('x', 1, { internalKey: 'schedule:digest:0' })).toThrow(/internalKey/)
  })

  it('jobs that share a concurrency key run one at a time by default', () => {
    expect(prepareJob('x', 1, { concurrencyKey: 'k' }).concurrencyLimit).toBe(1)
  })

  it('treats undefined options as absent', () => {
    expect(prepareJob('x', 1, { queue: undefined, runAt: undefined, retry: undefined }).queue).toBe('default')
  })
})

describe('a definition', () => {
  const definition = job({
    input: z.object({ at: z.coerce.date().optional(), n: z.number().default(1) }),
    queue: 'mail',
    priority: 7,
    timeoutMs: 5_000,
    retry: { max: 9, strategy: 'exponential' },
  })

  it('gives defaults that options override one by one', () => {
    expect(prepareJob('x', {}, undefined, definition)).toMatchObject({
      queue: 'mail',
      priority: 7,
      timeoutMs: 5_000,
      maxRetries: 9,
      retry: { strategy: 'exponential' },
    })
    expect(prepareJob('x', {}, { priority: 0, retry: { max: 1 } }, definition)).toMatchObject({
      queue: 'mail',
      priority: 0,
      maxRetries: 1,
      retry: { strategy: 'exponential' },
    })
    expect(prepareJob('x', {}, { retry: false }, definition).maxRetries).toBe(0)
  })

  it('checks the payload as its handler will see it, and stores it as it was sent', () => {
    expect(prepareJob('x', { at: new Date(0) }, undefined, definition).payload).toBe(
      '{"at":"1970-01-01T00:00:00.000Z"}',
    )
    const numeric = job({ input: z.object({ at: z.number() }) })
    expect(refusal('x', { at: new Date(0) }, undefined, numeric)).toMatchObject({
      code: 'INVALID_PAYLOAD',
      message: 'payload.at: Invalid input: expected number, received string (schema of x)',
    })
  })

  it.each([z.void(), z.undefined(), z.object({ a: z.string() }).optional(), z.number().default(5)])(
    'without a payload stores null where the schema accepts none',
    (input) => {
      expect(prepareJob('x', undefined, undefined, job({ input })).payload).toBe('null')
    },
  )

  it('with an asynchronous schema is refused', () => {
    const slow = job({ input: z.string().refine(async () => true) })
    expect(refusal('x', 'a', undefined, slow).message).toMatch(/schema of x is asynchronous/)
  })
})

it("prepareOwnJob makes Oncue's own jobs", () => {
  expect(prepareOwnJob('oncue:notify', {}, { queue: 'oncue' })).toMatchObject({
    topic: 'oncue:notify',
    queue: 'oncue',
  })
})

describe('prepareJob refuses with a named code', () => {
  const text = { payload: 1 }

  it.each<[string, Parameters<typeof prepareJob>, string]>([
    ['INVALID_TOPIC', ['mail digest', text], 'topic "mail digest" contains " "'],
    [
      'INVALID_QUEUE',
      ['x', text, { queue: 'a:b' }],
      'options.queue: contains ":", which is allowed only in topics, got "a:b"',
    ],
    ['TOPIC_NOT_ALLOWED', ['oncue:notify', text], 'The topic oncue:notify is reserved for Oncue'],
    ['INVALID_QUEUE', ['x', text, { queue: 'oncue' }], 'queue: "oncue" is reserved for Oncue\'s own jobs'],
    [
      'INVALID_QUEUE',
      ['x', text, undefined, job({ input: z.unknown(), queue: 'oncue' })],
      'queue: "oncue" is reserved',
    ],
    ['INVALID_PRIORITY', ['x', text, { priority: Number.NaN }], 'options.priority'],
    ['INVALID_PRIORITY', ['x', text, { priority: 1.5 }], 'got 1.5'],
    ['INVALID_PRIORITY', ['x', text, { priority: 40_000 }], '<=32767, got 40000'],
    [
      'INVALID_PRIORITY',
      ['x', text, { priority: '5' as never }],
      'expected number, received string, got "5"',
    ],
    ['INVALID_DATE', ['x', text, { runAt: new Date(Number.NaN) }], 'got an invalid Date'],
    [
      'INVALID_DATE',
      ['x', text, { runAt: new Date(Date.UTC(100_000, 0)) }],
      'between 1970-01-01 and 9999-12-31',
    ],
    ['INVALID_DATE', ['x', text, { runAt: new Date(-1) }], 'between 1970-01-01 and 9999-12-31'],
    ['INVALID_DATE', ['x', text, { runAt: '2026-01-08' as never }], 'options.runAt'],
    ['INVALID_TEXT', ['x', { a: 'b\0' }], 'payload.a contains a NUL character'],
    [
      'INVALID_TEXT',
      ['x', text, { unique: { key: 'a\ud800' } }],
      'options.unique.key contains a lone surrogate',
    ],
    ['INVALID_TEXT', ['x', text, { meta: { a: '\0' } }], 'meta.a contains a NUL character'],
    ['INVALID_PAYLOAD', ['x', { f() {} }], 'payload.f is a function'],
    ['UNSAFE_NUMBER', ['x', { id: 2n }], 'payload.id is a bigint'],
    ['PAYLOAD_TOO_LARGE', ['x', 'y'.repeat(LIMITS.payloadBytes)], 'payload takes 1048578 bytes'],
    [
      'INVALID_INPUT',
      ['x', text, { meta: JSON.parse('{"__proto__":"x"}') }],
      'options.meta: must not have a key __proto__',
    ],
    ['META_TOO_LARGE', ['x', text, { meta: { a: 'y'.repeat(LIMITS.metaBytes) } }], 'meta takes 8200 bytes'],
    ['INVALID_INPUT', ['x', text, { delay: LIMITS.delayMs + 1 }], 'options.delay'],
    ['INVALID_INPUT', ['x', text, { timeoutMs: 0 }], 'options.timeoutMs'],
    ['INVALID_INPUT', ['x', text, { maxRetries: -1 }], 'options.maxRetries'],
    ['INVALID_INPUT', ['x', text, { retry: { max: 1.5 } }], 'options.retry.max: Invalid input: expected int'],
    [
      'INVALID_INPUT',
      ['x', text, { retry: { minDelay: 2, maxDelay: 1 } }],
      'options.retry.minDelay: is greater than',
    ],
    ['INVALID_INPUT', ['x', text, { retry: true as never }], 'options.retry'],
    ['INVALID_INPUT', ['x', text, { unique: { key: '' } }], 'options.unique.key'],
    ['INVALID_INPUT', ['x', text, { parentId: '7' }], 'options.parentId'],
    [
      'INVALID_INPUT',
      ['x', text, { delay: 5, runAt: new Date() }],
      'options.runAt and options.delay cannot be combined',
    ],
    [
      'INVALID_INPUT',
      ['x', text, { maxRetries: 5, retry: false }],
      'options.maxRetries and options.retry.max cannot be combined',
    ],
    ['INVALID_INPUT', ['x', text, { runat: new Date() } as never], 'options: Unrecognized key: "runat"'],
    ['INVALID_INPUT', ['x', text, null as never], 'options: Invalid input: expected object'],
  ])('%s', (code, args, message) => {
    const error = refusal(...args)
    expect(error.code).toBe(code)
    expect(error.message).toContain(message)
  })

  it('does not repeat the payload in the message of a schema', () => {
    const definition = job({ input: z.object({ card: z.number() }) })
    expect(refusal('x', { card: '4242-4242' }, undefined, definition).message).not.toContain('4242')
  })
})
