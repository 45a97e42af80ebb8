import { describe, expect, expectTypeOf, it } from 'vitest'
import { newJobId } from '../job/id.ts'
import { toInputError } from '../job/input-error.ts'
import { type Job, jobSchema } from '../job/job.ts'
import { enqueueRequestSchema } from './enqueue.ts'
import { listJobsRequestSchema, listJobsResponseSchema } from './jobs.ts'
import { restEnqueueRequestSchema, statsResponseSchema, toRest } from './rest.ts'

describe('an enqueue request', () => {
  const expected = {
    topic: 'mail_digest',
    payload: { userId: '123' },
    runAt: new Date('2026-01-08T12:00:00Z'),
    maxRetries: 5,
  }

  it('has a topic, a payload and options', () => {
    expect(enqueueRequestSchema.parse(expected)).toEqual(expected)
  })

  it.each([
    ['in camelCase', { runAt: '2026-01-08T12:00:00Z', maxRetries: 5 }],
    ['in snake_case', { run_at: '2026-01-08T12:00:00Z', max_retries: 5 }],
    ['with an offset', { run_at: '2026-01-08T14:00:00+02:00', maxRetries: 5 }],
  ])('may come by REST %s', (_, options) => {
    expect(
      restEnqueueRequestSchema.parse({ topic: 'mail_digest', payload: { userId: '123' }, ...options }),
    ).toEqual(expected)
  })

  it.each<[object, string, string]>([
    [{ topic: 'no good' }, 'INVALID_TOPIC', 'request.topic: contains " "'],
    [{}, 'INVALID_TOPIC', 'request.topic: must be a string, got undefined'],
    [{ topic: 'x', run_at: 'tomorrow' }, 'INVALID_DATE', 'request.run_at: must be an ISO 8601 time'],
    [{ topic: 'x', runAt: '2026-01-08T12:00:00' }, 'INVALID_DATE', 'request.runAt: must be an ISO 8601 time'],
    [{ topic: 'x', run_at: '1969-01-08T12:00:00Z' }, 'INVALID_DATE', 'between 1970-01-01 and 9999-12-31'],
    [
      { topic: 'x', max_retries: 1, maxRetries: 2 },
      'INVALID_INPUT',
      'request.max_retries: is also given as maxRetries',
    ],
    [{ topic: 'x', max_tries: 1 }, 'INVALID_INPUT', 'request: Unrecognized key: "max_tries"'],
  ])('by REST is refused with a named error: %j', (request, code, message) => {
    const { error } = restEnqueueRequestSchema.safeParse(request)
    if (!error) throw new Error('was accepted')
    const named = toInputError(error, 'request', request)
    expect(named.code).toBe(code)
    expect(named.message).toContain(message)
  })
})

describe('a list request', () => {
  it('has a limit of 50 by default', () => {
    expect(listJobsRequestSchema.parse({ status: 'failed' })).toEqual({ status: 'failed', limit: 50 })
  })

  it.each([
    { limit: 0 },
    { limit: 1_001 },
    { offset: -1 },
    { status: 'done' },
    { topik: 'x' },
    { fingerprint: 'a\0' },
    { meta: { a: '\ud800' } },
    { meta: { '\0': 1 } },
    { meta: JSON.parse('{"__proto__":"x","a":1}') },
  ])('may not be %j', (request) => {
    expect(listJobsRequestSchema.safeParse(request).success).toBe(false)
  })
})

describe('responses', () => {
  const absent = Object.entries(jobSchema.shape).filter(([, field]) => field.safeParse(null).success)
  const job: Job = {
    ...(Object.fromEntries(absent.map(([name]) => [name, null])) as object as Job),
    id: newJobId(),
    queue: 'default',
    topic: 'mail_digest',
    status: 'pending',
    priority: 0,
    payload: { userId: '123' },
    runAt: new Date(0),
    visibleAt: new Date(0),
    run: 0,
    retries: 0,
    maxRetries: 3,
    crashes: 0,
    timeoutMs: 600_000,
    depsLeft: 0,
    meta: { agentId: 'a1' },
    created: new Date(0),
    updated: new Date(0),
  }

  it('contain jobs, and summaries of them in lists', () => {
    expect(jobSchema.parse(job)).toEqual(job)
    const rest = { total: 1, totalIsExact: true, nextCursor: null, limit: 50, offset: 0 }
    const page = listJobsResponseSchema.parse({ items: [job], ...rest })
    expect(page.items[0]).not.toHaveProperty('payload')
    expect(page.items[0]).not.toHaveProperty('result')
  })

  it('by REST are in snake_case, except for names of the user', () => {
    const rest = toRest(job)
    expectTypeOf(rest.run_at).toEqualTypeOf<Date>()
    expectTypeOf(rest.max_retries).toEqualTypeOf<number>()
    // @ts-expect-error the camelCase name is gone
    expect(rest.runAt).toBeUndefined()
    expect(JSON.parse(JSON.stringify(rest))).toMatchObject({
      run_at: '1970-01-01T00:00:00.000Z',
      max_retries: 3,
      payload: { userId: '123' },
      meta: { agentId: 'a1' },
    })
  })

  it('of stats are in snake_case', () => {
    const stats = {
      pending: 100,
      processing: 5,
      completed: 1000,
      failed: 10,
      success_rate: 0.99,
      avg_execution_time: 1500,
    }
    expect(statsResponseSchema.parse(stats)).toEqual(stats)
  })
})
