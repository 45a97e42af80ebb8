import { defineJobs, defineWorkers, isOncueError, job, type OncueError, PermanentError } from '@oncue/core'
import type { JobDetails } from '@oncue/db'
import { simulate } from '@oncue/runtime'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Middleware } from '../src/run/middleware.ts'
import { Execution } from './execution.ts'
import { describeBoth, Gate, until } from './harness.ts'

const hostile = () =>
  new Proxy(new Error('look away'), {
    get() {
      throw new Error('get')
    },
    has() {
      throw new Error('has')
    },
    getPrototypeOf() {
      throw new Error('getPrototypeOf')
    },
    ownKeys() {
      throw new Error('ownKeys')
    },
  })

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function circle(): Error {
  const error = new Error('round') as Error & { cause: unknown }
  error.cause = new Error('and round', { cause: error })
  return error
}

/** What a handler should not do, and the status of the job afterwards. */
const MISDEEDS: [
  what: string,
  deed: () => unknown,
  status: JobDetails['status'],
  message: string | undefined,
][] = [
  ['throws a proxy that throws', () => Promise.reject(hostile()), 'pending', undefined],
  ['throws a revoked proxy', () => Promise.reject(revoked({})), 'pending', undefined],
  ['throws with revoked causes', () => Promise.reject({ errors: revoked([]) }), 'pending', undefined],
  ['throws circular causes', () => Promise.reject(circle()), 'pending', 'round'],
  ['throws a symbol', () => Promise.reject(Symbol('odd')), 'pending', 'Symbol(odd)'],
  ['throws a function', () => Promise.reject(() => {}), 'pending', undefined],
  ['throws null', () => Promise.reject(null), 'pending', 'null'],
  ['throws a text of a megabyte', () => Promise.reject('x'.repeat(1e6)), 'pending', undefined],
  ['throws a NUL', () => Promise.reject(new Error('a\0b')), 'pending', 'a\ufffdb'],
  ['returns a bigint', () => 1n, 'failed', 'result is a bigint'],
  ['returns a function', () => () => {}, 'failed', 'result is a function'],
  ['returns a proxy that throws', () => ({ in: hostile() }), 'failed', undefined],
  ['returns a toJSON that throws', () => ({ toJSON: boom }), 'failed', undefined],
  ['returns half a character', () => '\ud800', 'failed', undefined],
  // biome-ignore lint/suspicious/noThenProperty: that is the misdeed.
  ['returns a then that throws', () => ({ then: boom }), 'pending', 'boom'],
  // biome-ignore lint/suspicious/noThenProperty: that is the misdeed.
  ['resolves and then rejects', () => ({ then: twice }), 'completed', undefined],
  // biome-ignore lint/suspicious/noThenProperty: that is the misdeed.
  ['returns a then that never calls', () => ({ then() {} }), 'pending', undefined],
]

function boom(): never {
  throw new Error('boom')
}

function twice(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
  resolve('first')
  reject(new Error('second'))
  resolve('third')
}

describeBoth('whatever a handler does, the executor goes on', (bench) => {
  it.each(MISDEEDS)('when it %s', async (_what, deed, status, message) => {
    const execution = await Execution.on(bench, { bad: deed, good: () => 'fine' }, { abandonMs: 10 })
    const bad = await execution.run('bad', {}, { timeoutMs: 200 })
    expect(bad.status).toBe(status)
    if (message !== undefined) expect(bad.lastError?.message).toBe(message)
    if (status !== 'completed') expect(bad.lastError?.fingerprint).toBeTruthy()

    expect(await execution.run('good')).toMatchObject({ status: 'completed', result: 'fine' })
  })

  it('when it changes its job object', async () => {
    const execution = await Execution.on(bench, {
      forger: (running) => void Object.assign(running, { id: 'x', run: 99, topic: 'y', payload: null }),
    })
    expect(await execution.run('forger')).toMatchObject({ status: 'completed', topic: 'forger' })
  })

  it('when a topic has no handler: the job is released, and the error logged', async () => {
    const execution = await Execution.on(bench, { known: () => {} })
    const given = await execution.run('unknown')
    expect(given).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
    expect(execution.log.of('error')).toEqual(['no handler for this topic; the job was released'])
  })
})

describeBoth('a run that is asked to end', (bench) => {
  it('gets the reason', async () => {
    const reasons: unknown[] = []
    const execution = await Execution.on(bench, {
      waits: async (_job, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reasons.push(signal.reason.code)
      },
    })
    for (const reason of ['cancelled', 'shutdown', 'lost'] as const) {
      const run = await execution.start('waits')
      run.abort(reason)
      await run.ended
    }
    await execution.run('waits', {}, { timeoutMs: 10 })
    expect(reasons).toEqual(['JOB_CANCELLED', 'WORKER_STOPPING', 'STALE_RUN', 'JOB_TIMEOUT'])
  })

  it('finds its signal aborted when it checks only afterwards', async () => {
    const asked = new Gate()
    let seen: unknown
    const execution = await Execution.on(bench, {
      late: async (_job, ctx) => {
        await asked.opened
        seen = ctx.signal.reason
        ctx.signal.throwIfAborted()
      },
    })
    const run = await execution.start('late')
    run.abort('shutdown')
    asked.open()
    expect((await run.ended).settlement).toMatchObject({ kind: 'release' })
    expect(isOncueError(seen, 'WORKER_STOPPING')).toBe(true)
  })

  it('keeps the first reason', async () => {
    const execution = await Execution.on(bench, { hangs: () => new Promise(() => {}) })
    const run = await execution.start('hangs')
    run.abort('cancelled')
    run.abort('shutdown')
    expect((await run.ended).settlement).toMatchObject({ kind: 'cancel' })
  })

  it('counts as lost when it is lost, whatever the first reason was', async () => {
    const execution = await Execution.on(bench, { hangs: () => new Promise(() => {}) })
    const run = await execution.start('hangs')
    run.abort('shutdown')
    run.abort('lost')
    expect(await run.ended).toEqual({ settlement: null, abandoned: true })
  })

  it('is not aborted any more once it has ended', async () => {
    const execution = await Execution.on(bench, { quick: () => 'done' })
    const run = await execution.start('quick')
    const first = await run.ended
    run.abort('lost')
    expect(await run.ended).toBe(first)
    expect(first.settlement).toMatchObject({ kind: 'complete' })
  })

  it('is abandoned when it ignores the signal; what it does afterwards has no effect', async () => {
    const gate = new Gate()
    let refused: unknown
    const execution = await Execution.on(bench, {
      deaf: async (_job, ctx) => {
        await gate.opened
        ctx.progress(99)
        ctx.log.info('still here')
        refused = await ctx.checkpoint(1).catch((error: unknown) => error)
        return 'too late'
      },
    })
    const run = await execution.start('deaf', {}, { timeoutMs: 10 })
    expect((await run.ended).abandoned).toBe(true)
    const settled = await execution.settled(run)
    expect(settled).toMatchObject({ status: 'pending', retries: 1, lastError: { code: 'JOB_TIMEOUT' } })
    expect(settled.lastError?.message).toContain('ignored ctx.signal for 50 ms')
    expect(execution.log.of('warn')).toContain('handler ignored ctx.signal and was abandoned')

    gate.open()
    await until(() => refused)
    expect(refused).toMatchObject({ code: 'STALE_RUN' })
    expect(await execution.store.get(run.job.id)).toMatchObject({ progress: null, cursor: null, retries: 1 })
  })

  it('counts the time for which handlers blocked the event loop', async () => {
    const runtime = simulate()
    const execution = await Execution.on(bench, { hangs: () => new Promise(() => {}) }, { runtime })
    const run = await execution.start('hangs', {}, { timeoutMs: 1_000 })
    // As if it had started 400 ms before its timer could be set.
    const late = execution.executor.start(run.job, undefined, runtime.monotonic() - 400)
    const ends: string[] = []
    void run.ended.then(() => ends.push('on time'))
    void late.ended.then(() => ends.push('late'))
    await runtime.sleep(0)
    await runtime.advance(600 + 49)
    expect(ends).toEqual([])
    await runtime.advance(1)
    expect(ends).toEqual(['late'])
    await runtime.advance(400)
    expect(ends).toEqual(['late', 'on time'])
  })

  it('leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const execution = await Execution.on(bench, { quick: () => {}, hangs: () => new Promise(() => {}) })
    const before = timers()
    const runs = await Promise.all(Array.from({ length: 50 }, () => execution.start('quick')))
    const hanging = await Promise.all(Array.from({ length: 50 }, () => execution.start('hangs')))
    for (const run of hanging) run.abort('shutdown')
    await Promise.all([...runs, ...hanging].map(({ ended }) => ended))
    // The test runner has a few timers of its own that come and go.
    expect(timers() - before).toBeLessThan(20)
  })
})

describeBoth('an error is stored', (bench) => {
  it('with its whole chain of causes', async () => {
    const execution = await Execution.on(bench, {
      fails: () => {
        const root = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
        throw new PermanentError('no mail today', { cause: new TypeError('no client', { cause: root }) })
      },
    })
    const { lastError, status } = await execution.run('fails')
    expect(status).toBe('failed')
    expect(lastError).toMatchObject({
      class: 'PermanentError',
      message: 'no mail today',
      causes: [
        { class: 'TypeError', message: 'no client' },
        { class: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
      ],
    })
    expect(lastError?.stack).toContain('executor.test.ts')
  })

  it('as the cause of a timeout', async () => {
    const execution = await Execution.on(bench, {
      slow: async (_job, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        throw new RangeError('half of it was sent')
      },
    })
    const { lastError } = await execution.run('slow', {}, { timeoutMs: 10 })
    expect(lastError).toMatchObject({
      code: 'JOB_TIMEOUT',
      message: 'the run took longer than its timeout of 10 ms',
      causes: [{ class: 'RangeError', message: 'half of it was sent' }],
    })
  })

  it('once, when a handler throws the reason of its timeout', async () => {
    const execution = await Execution.on(bench, {
      slow: async (_job, { signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        signal.throwIfAborted()
      },
    })
    const { lastError } = await execution.run('slow', {}, { timeoutMs: 10 })
    expect(lastError?.code).toBe('JOB_TIMEOUT')
    expect(lastError?.causes).toBeUndefined()
  })
})

describeBoth('middleware', (bench) => {
  const jobs = defineJobs({
    count: job({ input: z.object({ n: z.string().transform(Number) }), output: z.number() }),
  })
  const workers = defineWorkers(jobs, { count: ({ payload }) => payload.n })
  const around = (...middleware: Middleware[]) => Execution.on(bench, workers, { middleware })

  it('wraps the handler, the first outermost', async () => {
    const seen: unknown[] = []
    const noting =
      (name: string): Middleware =>
      async (running, ctx, next) => {
        seen.push(`${name} before`, running.payload, ctx.attempt)
        const result = await next()
        seen.push(`${name} after`, result)
        return result
      }
    const execution = await around(noting('outer'), noting('inner'))
    expect(await execution.run('count', { n: '3' })).toMatchObject({ status: 'completed', result: 3 })
    const before = (name: string) => [`${name} before`, { n: 3 }, 1]
    expect(seen).toEqual([...before('outer'), ...before('inner'), 'inner after', 3, 'outer after', 3])
  })

  it.each<[string, Middleware]>([
    ['before the handler', async () => Promise.reject(new Error('not today'))],
    ['after it', async (_job, _ctx, next) => next().then(() => Promise.reject(new Error('not today')))],
  ])('fails the run when it throws %s', async (_, middleware) => {
    const execution = await around(middleware)
    const ended = await execution.run('count', { n: '3' })
    expect(ended).toMatchObject({ status: 'pending', lastError: { message: 'not today' } })
  })

  it('decides the outcome of the run: it may swallow an error and change a result', async () => {
    const execution = await around((_job, _ctx, next) => next().catch(() => -1))
    expect(await execution.run('count', { n: 3 })).toMatchObject({ status: 'completed', result: -1 })
  })

  it('may keep the handler from running', async () => {
    const execution = await around(async () => 7)
    expect(await execution.run('count', { n: '3' })).toMatchObject({ status: 'completed', result: 7 })
  })

  it('cannot return a result that does not fit the schema', async () => {
    const execution = await around(async (_job, _ctx, next) => String(await next()))
    expect(await execution.run('count', { n: '3' })).toMatchObject({
      status: 'failed',
      lastError: { code: 'INVALID_RESULT' },
    })
  })

  it('sees an invalid payload as a failure', async () => {
    const seen: unknown[] = []
    const execution = await around(async (_job, _ctx, next) => {
      try {
        return await next()
      } catch (error) {
        seen.push((error as OncueError).code)
        throw error
      }
    })
    expect(await execution.run('count', { n: 3 })).toMatchObject({ status: 'failed' })
    expect(seen).toEqual(['INVALID_PAYLOAD'])
  })

  it('runs the handler once, even if it calls next() twice', async () => {
    const execution = await around(async (_job, _ctx, next) => {
      await next()
      return next()
    })
    const { status, lastError } = await execution.run('count', { n: '3' })
    expect([status, lastError?.message]).toEqual(['pending', 'a middleware called next() twice in one run'])
  })
})

describe('an isolated topic', () => {
  describeBoth('needs its modules', (bench) => {
    it('and no executor is created without them', async () => {
      const jobs = defineJobs({ heavy: job({ input: z.unknown(), isolate: true }) })
      const making = Execution.on(bench, defineWorkers(jobs, { heavy: () => {} }))
      await expect(making).rejects.toThrow('the topic "heavy" is isolated, but no modules are given')
    })
  })
})
