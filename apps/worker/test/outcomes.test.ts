import {
  Cancel,
  defineJobs,
  defineWorkers,
  type EnqueueOptions,
  type JobContext,
  type JobStatus,
  job,
  PermanentError,
  Snooze,
} from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { borrowPostgresDatabase, createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { afterAll, beforeAll, describe, expect, inject, it, test } from 'vitest'
import { z } from 'zod'
import type { AbortReason } from '../src/run/executor.ts'
import { Execution, START } from './execution.ts'
import { describeBoth } from './harness.ts'

class RateLimited extends Error {}
class Unknown extends Error {}

/** Resolves when the run is asked to end. */
const asked = ({ signal }: JobContext) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))

const jobs = defineJobs({
  plain: job({ input: z.object({ how: z.string() }) }),
  checked: job({ input: z.object({ how: z.string() }), output: z.object({ sent: z.number() }) }),
  nothing: job({ input: z.object({ how: z.string() }), output: z.void() }),
  perhaps: job({ input: z.object({ how: z.string() }), output: z.object({ sent: z.number() }).optional() }),
  fallback: job({
    input: z.object({ how: z.string() }),
    output: z.object({ sent: z.number() }).default({ sent: 0 }),
  }),
  picky: job({ input: z.object({ how: z.string() }), retry: { retryOn: [RateLimited] } }),
})

const DIALECTS: [string, () => Promise<TestDatabase>][] = [
  ['postgres', () => borrowPostgresDatabase(inject('postgresUrl'))],
  ['sqlite', createSqliteDatabase],
]

type How = (ctx: JobContext) => unknown

/** Every way in which a handler can end. */
const HOW: Record<string, How> = {
  'returns a value': () => ({ sent: 1 }),
  'returns nothing': () => undefined,
  'returns what does not fit its schema': () => ({ sent: 'one' }),
  'returns what is no JSON': () => ({ sent: 1, at: new Map() }),
  'returns more than a result may have': () => 'x'.repeat(1_048_577),
  'throws an error': () => Promise.reject(new TypeError('no such user')),
  'throws before its first await': () => {
    throw new TypeError('no such user')
  },
  'throws nothing at all': () => Promise.reject(undefined),
  'throws PermanentError': () => Promise.reject(new PermanentError('410 Gone')),
  'throws Snooze': () => Promise.reject(new Snooze(5_000)),
  'throws Cancel': () => Promise.reject(new Cancel('the user left')),
  'throws what it retries': () => Promise.reject(new RateLimited('429')),
  'throws what it does not retry': () => Promise.reject(new Unknown('?')),
  'throws the reason of its signal': async (ctx) => {
    await asked(ctx)
    throw ctx.signal.reason
  },
  'wraps the reason of its signal': async (ctx) => {
    await asked(ctx)
    throw new PermanentError('the upload stopped', { cause: ctx.signal.reason })
  },
  'throws an AbortError': async (ctx) => {
    await asked(ctx)
    throw new DOMException('This operation was aborted', 'AbortError')
  },
  'throws another error when asked to end': async (ctx) => {
    await asked(ctx)
    throw new TypeError('no such user')
  },
  'throws PermanentError when asked to end': async (ctx) => {
    await asked(ctx)
    throw new PermanentError('410 Gone')
  },
  'throws Snooze when asked to end': async (ctx) => {
    await asked(ctx)
    throw new Snooze(5_000)
  },
  'returns when asked to end': async (ctx) => {
    await asked(ctx)
    return 'nearly too late'
  },
  'ignores its signal': () => new Promise(() => {}),
}

const handler = (running: { payload: { how: string } }, ctx: JobContext) =>
  HOW[running.payload.how]?.(ctx) as never
const workers = defineWorkers(jobs, {
  plain: handler,
  checked: handler,
  nothing: handler,
  perhaps: handler,
  fallback: handler,
  picky: handler,
})

interface Expected {
  readonly status: JobStatus
  /** Milliseconds from the claim until the next run. */
  readonly later?: number
  readonly retries?: number
  readonly code?: string
  readonly class?: string
}

const MINUTE = 60_000
const completed: Expected = { status: 'completed' }
const cancelled: Expected = { status: 'cancelled' }
const released: Expected = { status: 'pending', later: 0, retries: 0 }
const snoozed: Expected = { status: 'pending', later: 5_000, retries: 0 }
const untouched: Expected = { status: 'processing', retries: 0 }
const retried = (why: Partial<Expected> = {}): Expected => ({
  status: 'pending',
  later: MINUTE,
  retries: 1,
  ...why,
})
const failed = (why: Partial<Expected> = {}): Expected => ({ status: 'failed', retries: 0, ...why })

type Case = {
  readonly how: string
  readonly topic?: keyof typeof jobs
  readonly aborted?: AbortReason
  /** With retries left, and without. */
  readonly left: Expected
  readonly none: Expected
}

const both = (expected: Expected) => ({ left: expected, none: expected })
/** Retried while possible, then failed, for the same reason. */
const charged = (why: Partial<Expected> = {}) => ({ left: retried(why), none: failed(why) })
const timeout = { code: 'JOB_TIMEOUT', class: 'OncueError' }

const CASES: Case[] = [
  { how: 'returns a value', ...both(completed) },
  { how: 'returns nothing', ...both(completed) },
  { how: 'returns a value', topic: 'checked', ...both(completed) },
  {
    how: 'returns what does not fit its schema',
    topic: 'checked',
    ...both(failed({ code: 'INVALID_RESULT' })),
  },
  { how: 'returns nothing', topic: 'checked', ...both(failed({ code: 'INVALID_RESULT' })) },
  { how: 'returns nothing', topic: 'nothing', ...both(completed) },
  { how: 'returns nothing', topic: 'perhaps', ...both(completed) },
  { how: 'returns nothing', topic: 'fallback', ...both(completed) },
  { how: 'returns a value', topic: 'nothing', ...both(failed({ code: 'INVALID_RESULT' })) },
  { how: 'returns what is no JSON', ...both(failed({ code: 'INVALID_RESULT' })) },
  { how: 'returns more than a result may have', ...both(failed({ code: 'INVALID_RESULT' })) },
  { how: 'throws an error', ...charged({ class: 'TypeError' }) },
  { how: 'throws before its first await', ...charged({ class: 'TypeError' }) },
  { how: 'throws nothing at all', ...charged({ class: 'undefined' }) },
  { how: 'throws PermanentError', ...both(failed({ class: 'PermanentError' })) },
  { how: 'throws Snooze', ...both(snoozed) },
  { how: 'throws Cancel', ...both(cancelled) },
  { how: 'throws what it retries', topic: 'picky', ...charged({ class: 'RateLimited' }) },
  { how: 'throws what it does not retry', topic: 'picky', ...both(failed({ class: 'Unknown' })) },

  { how: 'throws the reason of its signal', aborted: 'timeout', ...charged(timeout) },
  { how: 'wraps the reason of its signal', aborted: 'timeout', ...charged(timeout) },
  { how: 'throws an AbortError', aborted: 'timeout', ...charged(timeout) },
  { how: 'throws another error when asked to end', aborted: 'timeout', ...charged(timeout) },
  { how: 'throws another error when asked to end', topic: 'picky', aborted: 'timeout', ...charged(timeout) },
  {
    how: 'throws PermanentError when asked to end',
    aborted: 'timeout',
    ...both(failed({ class: 'PermanentError' })),
  },
  { how: 'throws Snooze when asked to end', aborted: 'timeout', ...both(snoozed) },
  { how: 'returns when asked to end', aborted: 'timeout', ...both(completed) },
  { how: 'ignores its signal', aborted: 'timeout', ...charged(timeout) },

  { how: 'throws the reason of its signal', aborted: 'cancelled', ...both(cancelled) },
  { how: 'wraps the reason of its signal', aborted: 'cancelled', ...both(cancelled) },
  { how: 'throws an AbortError', aborted: 'cancelled', ...both(cancelled) },
  {
    how: 'throws another error when asked to end',
    aborted: 'cancelled',
    ...charged({ class: 'TypeError' }),
  },
  { how: 'returns when asked to end', aborted: 'cancelled', ...both(completed) },
  { how: 'ignores its signal', aborted: 'cancelled', ...both(cancelled) },

  { how: 'throws the reason of its signal', aborted: 'shutdown', ...both(released) },
  { how: 'wraps the reason of its signal', aborted: 'shutdown', ...both(released) },
  { how: 'throws an AbortError', aborted: 'shutdown', ...both(released) },
  {
    how: 'throws another error when asked to end',
    aborted: 'shutdown',
    ...charged({ class: 'TypeError' }),
  },
  {
    how: 'throws PermanentError when asked to end',
    aborted: 'shutdown',
    ...both(failed({ class: 'PermanentError' })),
  },
  { how: 'returns when asked to end', aborted: 'shutdown', ...both(completed) },
  { how: 'ignores its signal', aborted: 'shutdown', ...both(released) },

  { how: 'throws the reason of its signal', aborted: 'lost', ...both(untouched) },
  { how: 'throws another error when asked to end', aborted: 'lost', ...both(untouched) },
  { how: 'returns when asked to end', aborted: 'lost', ...both(untouched) },
  { how: 'ignores its signal', aborted: 'lost', ...both(untouched) },
]

describe.each(DIALECTS)('the end of a handler decides the outcome of its job, on %s', (_, createDatabase) => {
  // One database for all rows, each with its own queue, because there are many.
  let database: TestDatabase
  let store: Store
  let queues = 0
  beforeAll(async () => {
    database = await createDatabase()
    store = await openStore(database.url, { clock: () => new Date(START) })
  })
  afterAll(async () => {
    await store.close()
    await database.drop()
  })

  const rows = CASES.flatMap(({ left, none, topic = 'plain', aborted, how }) => [
    { how, topic, aborted, maxRetries: 3, expected: left },
    { how, topic, aborted, maxRetries: 0, expected: none },
  ])

  it.each(rows)(
    '$topic $how ($aborted, $maxRetries retries left): $expected.status',
    async ({ how, topic, aborted, maxRetries, expected }) => {
      queues += 1
      const execution = Execution.with(store, workers, { abandonMs: 20 })
      // A timeout happens by itself, all else comes from outside.
      const timeoutMs = aborted === 'timeout' ? 10 : undefined
      const options: EnqueueOptions = { maxRetries, timeoutMs, queue: `q${queues}` }
      const run = await execution.start(topic, { how }, options)
      if (aborted && aborted !== 'timeout') run.abort(aborted)
      const ended = await execution.settled(run)

      expect(ended.status).toBe(expected.status)
      expect(ended.retries).toBe(expected.retries ?? 0)
      expect(ended.crashes).toBe(0)
      if (expected.later !== undefined) expect(ended.runAt.getTime() - START).toBe(expected.later)
      expect(ended.lastError?.code).toBe(expected.code)
      if (expected.class) expect(ended.lastError?.class).toBe(expected.class)
      expect((await run.ended).abandoned).toBe(how === 'ignores its signal')
    },
  )
})

describeBoth('a payload that no longer fits its schema', (bench) => {
  it.each([3, 0])('fails permanently and names the field (%i retries left)', async (maxRetries) => {
    const execution = await Execution.on(bench, workers)
    const ended = await execution.run('plain', { how: 5 }, { maxRetries })
    expect(ended).toMatchObject({ status: 'failed', retries: 0, lastError: { code: 'INVALID_PAYLOAD' } })
    expect(ended.lastError?.message).toContain('payload.how')
  })
})

describe('the delay before a retry', () => {
  const fixed = (baseDelay: number) => ({ strategy: 'fixed', baseDelay }) as const
  const defined = defineJobs({
    own: job({ input: z.unknown(), retry: fixed(2_000) }),
    none: job({ input: z.unknown() }),
  })
  const throws = () => {
    throw new Error('no')
  }
  const handlers = defineWorkers(defined, { own: throws, none: throws })

  describeBoth('follows', (bench) => {
    test.each([
      ['the job, if it has a policy', 'own', { retry: fixed(1_000) }, 1_000],
      ['then the topic', 'own', {}, 2_000],
      ['then the environment', 'none', {}, 3_000],
    ])('%s', async (_, topic, options, delay) => {
      const execution = await Execution.on(bench, handlers, { retry: fixed(3_000) })
      const ended = await execution.run(topic, {}, options)
      expect(ended.runAt.getTime() - START).toBe(delay)
    })
  })
})
