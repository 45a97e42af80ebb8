import { defineJobs, defineWorkers, type JobContext, job, OncueError, prepareJob, Snooze } from '@oncue/core'
import type { JobEvent, Store } from '@oncue/db'
import type { Logger } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { Run } from '../src/run/executor.ts'
import { Execution } from './execution.ts'
import { describeBoth, Gate, until } from './harness.ts'

const told = (events: readonly JobEvent[], type: string) =>
  events.filter((event) => event.type === type).map(({ data }) => data)

/** Settles the run from outside, as a rescue would. */
const takeAway = (store: Store, { job: { id, run } }: Pick<Run, 'job'>) =>
  store.settle([{ id, run, kind: 'release' }])

/** The store, with a way to make one of its calls fail. */
const breakProgress = (store: Store, recordProgress: Store['recordProgress']): Store =>
  new Proxy(store, {
    get(target, key) {
      if (key === 'recordProgress') return recordProgress
      const value = Reflect.get(target, key, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

describeBoth('ctx.log', (bench) => {
  it('stores lines with the job', async () => {
    const execution = await Execution.on(bench, {
      talks: (_job, { log }) => {
        log.debug('looked')
        log.info('sent', { to: 'ada', parts: 3 })
        log.warn('slow')
        log.error('bounced')
      },
    })
    const { events } = await execution.run('talks')
    expect(told(events, 'log')).toEqual([
      { level: 'debug', message: 'looked' },
      { level: 'info', message: 'sent', fields: { to: 'ada', parts: 3 } },
      { level: 'warn', message: 'slow' },
      { level: 'error', message: 'bounced' },
    ])
  })

  it('writes lines to the log of the worker, with job, topic and run', async () => {
    const lines: object[] = []
    const line = (level: string) => (fields: object, message: string) =>
      lines.push({ level, message, fields })
    const logger = (bound: object): Logger => ({
      debug: (fields, message) => line('debug')({ ...bound, ...fields }, message),
      info: (fields, message) => line('info')({ ...bound, ...fields }, message),
      warn: (fields, message) => line('warn')({ ...bound, ...fields }, message),
      error: (fields, message) => line('error')({ ...bound, ...fields }, message),
      child: (fields) => logger({ ...bound, ...fields }),
    })
    const execution = await Execution.on(
      bench,
      { talks: (_job, ctx) => ctx.log.info('sent', { to: 'ada' }) },
      { log: logger({}) },
    )
    const { id } = await execution.run('talks')
    const fields = { job: id, topic: 'talks', run: 1, to: 'ada' }
    expect(lines).toContainEqual({ level: 'info', message: 'sent', fields })
  })

  it('accepts any value, and never fails the job', async () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const execution = await Execution.on(bench, {
      talks: (_job, { log }) => {
        log.error('failed', { error: new TypeError('no', { cause: new Error('root') }) })
        log.info('odd', { big: 1n, map: new Map([['a', 1]]), circle, run: () => {} })
        log.info('a\0b', { 'a\0b': '\ud800' })
        log.info('x'.repeat(100_000), { long: 'x'.repeat(100_000) })
        log.info(undefined as never, 5 as never)
        log.info(Object.create(null), {
          get secret() {
            throw new Error('no')
          },
        })
        log.error(
          'many',
          Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`e${n}`, new Error('x'.repeat(1e5))])),
        )
      },
    })
    const { status, events } = await execution.run('talks')
    expect(status).toBe('completed')
    const lines = told(events, 'log') as { message: string; fields?: Record<string, unknown> }[]
    expect(lines).toHaveLength(7)
    expect(lines[0]?.fields?.error).toMatchObject({
      class: 'TypeError',
      message: 'no',
      causes: [{ message: 'root' }],
    })
    expect(lines[1]?.fields).toMatchObject({ big: '1n', map: "Map(1) { 'a' => 1 }" })
    expect(lines[2]?.message).toBe('a\ufffdb')
    expect(JSON.stringify(lines[3]).length).toBeLessThan(10_000)
    expect(lines[4]).toEqual({ level: 'info', message: 'undefined' })
    expect(lines[5]).toMatchObject({ fields: { omitted: 'fields that cannot be read' } })
    expect(lines[6]?.fields).toEqual({ omitted: expect.stringMatching(/^fields of \d+ bytes$/) })
  })

  it('stores a thousand lines of a run, then one that says that it stops', async () => {
    const execution = await Execution.on(bench, {
      talks: (_job, { log }) => {
        for (let n = 1; n <= 1_500; n++) log.info(`line ${n}`)
      },
    })
    const run = await execution.start('talks')
    const { id } = await execution.settled(run)
    const first = await execution.store.events.list(id)
    const rest = await execution.store.events.list(id, { afterVersion: 1_000 })
    expect(told(first, 'log')).toHaveLength(1_000)
    expect(told(rest, 'log')).toEqual([
      { level: 'warn', message: "further lines of this run are only in the worker's log" },
    ])
    expect(execution.log.of('info')).toHaveLength(1_500)
  })
})

describeBoth('ctx.progress', (bench) => {
  it('shows the last value while the job runs', async () => {
    const gate = new Gate()
    const execution = await Execution.on(bench, {
      counts: async (_job, { progress }) => {
        for (let done = 0; done <= 5; done++) progress({ done })
        await gate.opened
      },
    })
    const run = await execution.start('counts')
    await eventually(async () => expect(await progressOf(run.job.id)).toEqual({ done: 5 }))
    gate.open()
    expect(await execution.settled(run)).toMatchObject({ status: 'completed', progress: { done: 5 } })

    async function progressOf(id: string) {
      return (await execution.store.get(id))?.progress
    }
  })

  it('is written before the end of a run that ends at once', async () => {
    const execution = await Execution.on(bench, { counts: (_job, ctx) => ctx.progress(100) })
    expect(await execution.run('counts')).toMatchObject({ status: 'completed', progress: 100 })
  })

  it('must be small JSON', async () => {
    const execution = await Execution.on(bench, { counts: (_job, ctx) => ctx.progress('x'.repeat(9_000)) })
    expect((await execution.run('counts')).lastError).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  it('must fit the definition, and is stored as it was given', async () => {
    const jobs = defineJobs({
      counts: job({
        input: v.object({ to: v.pipe(v.string(), v.transform(Number)) }),
        output: v.object({ counted: v.number() }),
        progress: v.object({ done: v.pipe(v.string(), v.transform(Number)) }),
      }),
    })
    const workers = defineWorkers(jobs, {
      counts({ payload }, { progress }) {
        progress({ done: '1' })
        if (payload.to > 1) progress({ done: payload.to as never })
        return { counted: payload.to }
      },
    })
    const execution = await Execution.on(bench, workers)
    expect(await execution.run('counts', { to: '1' })).toMatchObject({
      status: 'completed',
      progress: { done: '1' },
      result: { counted: 1 },
    })
    expect((await execution.run('counts', { to: '2' })).lastError).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringMatching(/^progress\.done: .* \(schema of counts\)$/),
    })
  })
})

describeBoth('ctx.checkpoint', (bench) => {
  it('is stored when it returns, and found by the next run', async () => {
    const cursors: unknown[] = []
    const stored: unknown[] = []
    const execution: Execution = await Execution.on(
      bench,
      {
        pages: async (running, { checkpoint }) => {
          cursors.push(running.cursor)
          if (running.cursor) return 'done'
          await checkpoint({ page: 7 })
          stored.push((await execution.store.get(running.id))?.cursor)
          throw new Error('cut off')
        },
      },
      { retry: { strategy: 'fixed', baseDelay: 0 } },
    )
    await execution.run('pages')
    expect(stored).toEqual([{ page: 7 }])
    expect(await execution.settled(await execution.startNext('pages'))).toMatchObject({ result: 'done' })
    expect(cursors).toEqual([null, { page: 7 }])
  })
})

describeBoth('ctx.emit', (bench) => {
  it('appends events in order', async () => {
    const execution = await Execution.on(bench, {
      agent: async (_job, { emit, log }) => {
        await emit('plan_generated', { nodes: 2 })
        log.info('planned')
        await Promise.all([emit('node_started', { node: 1 }), emit('node_started', { node: 2 })])
        await emit('node_finished')
      },
    })
    const { events } = await execution.run('agent')
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['plan_generated', { nodes: 2 }],
      ['log', { level: 'info', message: 'planned' }],
      ['node_started', { node: 1 }],
      ['node_started', { node: 2 }],
      ['node_finished', null],
    ])
  })

  it.each([
    ['a bad type', 'no good', undefined],
    ['a type that Oncue writes itself', 'step_finished', { name: 'charge', result: 'forged' }],
    ['data that is not JSON', 'tool_called', { run: () => {} }],
  ])('refuses %s', async (_, type, data) => {
    const execution = await Execution.on(bench, { agent: (_job, { emit }) => emit(type, data) })
    expect(await execution.run('agent')).toMatchObject({
      status: 'pending',
      lastError: { code: 'INVALID_INPUT' },
    })
  })
})

describeBoth('ctx.step', (bench) => {
  const again = { retry: { strategy: 'fixed', baseDelay: 0 } } as const

  it('runs a step once for the whole job, however often the job runs', async () => {
    const charges: number[] = []
    const mails: number[] = []
    const execution = await Execution.on(
      bench,
      {
        order: async (_job, { step, attempt }) => {
          const receipt = await step('charge', async () => {
            charges.push(attempt)
            return { id: 'r1', at: new Date(0) }
          })
          await step('nothing', () => undefined)
          await step('mail', () => {
            mails.push(attempt)
            if (attempt < 3) throw new Error('no mail')
          })
          return receipt
        },
      },
      again,
    )
    await execution.run('order')
    await execution.settled(await execution.startNext('order'))
    const done = await execution.settled(await execution.startNext('order'))
    // After a round trip through JSON, also in the run that made it.
    expect(done).toMatchObject({ status: 'completed', result: { id: 'r1', at: '1970-01-01T00:00:00.000Z' } })
    expect(charges).toEqual([1])
    expect(mails).toEqual([1, 2, 3])
    expect(told(done.events, 'step_finished')).toEqual([
      { name: 'charge', result: { id: 'r1', at: '1970-01-01T00:00:00.000Z' } },
      { name: 'nothing' },
      { name: 'mail' },
    ])
  })

  it.each([
    ['finished', () => 1],
    [
      'failed',
      () => {
        throw new Error('no')
      },
    ],
  ])('refuses the name of a step that %s in the same run', async (_, first) => {
    let calls = 0
    const execution = await Execution.on(bench, {
      order: async (_job, { step }) => {
        await step('a', first).catch(() => {})
        await step('a', () => ++calls)
      },
    })
    expect(await execution.run('order')).toMatchObject({
      status: 'pending',
      lastError: { code: 'DUPLICATE_STEP', message: 'a step with the name "a" was used before in this run' },
    })
    expect(calls).toBe(0)
  })

  it('forgets steps, cursor and progress when the job is replaced while it waits for a retry', async () => {
    const charged: unknown[] = []
    const found: unknown[] = []
    const execution: Execution = await Execution.on(
      bench,
      {
        order: async (running, { step, checkpoint, progress }) => {
          found.push([running.cursor, (await execution.store.get(running.id))?.progress])
          const receipt = await step('charge', () => charged.push(running.payload))
          progress(0.5)
          await checkpoint({ row: 5_000 })
          if (charged.length < 3) throw new Error('no mail')
          return receipt
        },
      },
      again,
    )
    const unique = { key: 'customer-7', onConflict: 'replace' } as const
    const { id } = await execution.run('order', 1, { unique })
    expect(await execution.run('order', 2, { unique })).toMatchObject({
      id,
      cursor: { row: 5_000 },
      retries: 2,
    })
    await execution.store.enqueue([prepareJob('order', 3, { unique })])
    await execution.store.enqueue([prepareJob('order', 4, { unique })])
    expect(await execution.store.get(id)).toMatchObject({ cursor: null, progress: null, retries: 2 })
    expect(await execution.settled(await execution.startNext('order'))).toMatchObject({ id, result: 3 })
    expect(charged).toEqual([1, 2, 4])
    expect(found).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ])
  })

  it('keeps the steps of a job that was replaced while it ran, for a requeue', async () => {
    let charges = 0
    let successor = ''
    const unique = { key: 'customer-7', onConflict: 'replace' } as const
    const execution: Execution = await Execution.on(bench, {
      order: async ({ id }, { step }) => {
        const receipt = await step('charge', () => ++charges)
        if (successor) return receipt
        ;[successor = id] = await execution.store.enqueue([prepareJob('order', 2, { unique })])
        throw new Error('no mail')
      },
    })
    const { id, status } = await execution.run('order', 1, { unique })
    expect(status).toBe('cancelled')
    expect(await execution.store.cancel([successor])).toMatchObject({ done: 1 })
    expect(await execution.store.requeue([id])).toMatchObject({ done: 1 })
    expect(await execution.settled(await execution.startNext('order'))).toMatchObject({ id, result: 1 })
    expect(charges).toBe(1)
  })

  it('finds a step behind more events than one page has', async () => {
    let charges = 0
    const execution = await Execution.on(
      bench,
      {
        order: async (_job, { step, log, attempt }) => {
          for (let n = 0; n < 1_000; n++) log.info('busy')
          await step('charge', () => {
            charges += 1
          })
          if (attempt === 1) throw new Error('once more')
        },
      },
      again,
    )
    await execution.run('order')
    const done = await execution.settled(await execution.startNext('order'))
    expect([done.status, charges]).toEqual(['completed', 1])
  })
})

describeBoth('a step whose result cannot be stored', (bench) => {
  const again = { retry: { strategy: 'fixed', baseDelay: 0 } } as const
  const UNSTORABLE: [string, () => unknown, string][] = [
    ['a bigint', () => ({ total: 5n }), 'result.total is a bigint'],
    ['a Map', () => new Map(), 'result is an instance of Map'],
    ['over 1 MB', () => 'x'.repeat(1_048_576), 'at most 1048576 are allowed'],
  ]
  const fault = (why: string) => ({
    status: 'failed',
    retries: 0,
    lastError: {
      code: 'INVALID_RESULT',
      message: expect.stringMatching(
        new RegExp(`^the step "charge" has run, but its result cannot be stored: .*${why}`),
      ),
    },
  })

  it.each(UNSTORABLE)('fails its job, which is not retried: %s', async (_, result, why) => {
    let charges = 0
    const charge = () => {
      charges += 1
      return result()
    }
    const execution = await Execution.on(
      bench,
      {
        plain: (_job, { step }) => step('charge', charge),
        wraps: async (_job, { step }) => {
          await step('charge', charge).catch((cause) => {
            throw new Error('could not charge', { cause })
          })
        },
        snoozes: async (_job, { step }) => {
          await step('charge', charge).catch(() => {
            throw new Snooze(1)
          })
        },
        tries_again: async (_job, { step }) => {
          await step('charge', charge).catch(() => step('charge', charge))
        },
      },
      again,
    )
    for (const [n, topic] of ['plain', 'wraps', 'snoozes', 'tries_again'].entries()) {
      expect(await execution.run(topic), topic).toMatchObject(fault(why))
      expect(charges, topic).toBe(n + 1)
    }
  })

  it('fails its job also when the worker stops meanwhile, or the database refuses the result', async () => {
    const real = await bench.open()
    const refuse = () => Promise.reject(new OncueError('DATABASE_REFUSED', 'no such type'))
    Object.assign(real.durable, { record: refuse })
    const charged = new Gate()
    const execution = Execution.with(real, {
      stopped: async (_job, { step, signal }) => {
        await step('charge', () => 1n as unknown).catch(() => {})
        const stops = new Promise((resolve) => signal.addEventListener('abort', resolve))
        charged.open()
        await stops
        throw signal.reason
      },
      refused: (_job, { step }) => step('charge', () => 'r-1'),
    })
    const stopped = await execution.start('stopped')
    await charged.opened
    stopped.abort('shutdown')
    expect(await execution.settled(stopped)).toMatchObject(fault('result is a bigint'))
    expect(await execution.run('refused')).toMatchObject(fault('no such type'))
  })

  it('does not fail a job whose handler catches the error', async () => {
    const execution = await Execution.on(bench, {
      order: (_job, { step }) => step('charge', () => 1n as unknown).catch(() => 'charged by hand'),
    })
    expect(await execution.run('order')).toMatchObject({ status: 'completed', result: 'charged by hand' })
  })

  it('is not one whose result is as large as a payload may be', async () => {
    const result = 'x'.repeat(1_048_574)
    let charges = 0
    const execution = await Execution.on(
      bench,
      {
        order: async (_job, { step, attempt }) => {
          const steps = ['a', 'b', 'c'].map((name) =>
            step(name, () => {
              charges += 1
              return result
            }),
          )
          const results = await Promise.all(steps)
          if (attempt === 1) throw new Error('once more')
          return results.every((text) => text === result)
        },
      },
      again,
    )
    await execution.run('order')
    const done = await execution.settled(await execution.startNext('order'))
    expect([done.status, done.result, charges]).toEqual(['completed', true, 3])
  })

  it('is not a step whose name cannot be stored: that one does not run', async () => {
    let runs = 0
    const execution = await Execution.on(bench, {
      order: async ({ payload }, { step }) => {
        await step((payload as { name: string }).name, () => {
          runs += 1
        })
      },
    })
    const codeOf = async (name: string) => (await execution.run('order', { name })).lastError?.code
    expect(await codeOf('')).toBe('INVALID_INPUT')
    expect(await codeOf('x'.repeat(256))).toBe('INVALID_INPUT')
    expect(runs).toBe(0)
    expect(await codeOf('\u0001'.repeat(255))).toBeUndefined()
    expect(runs).toBe(1)
  })
})

describe('the type of a step result', () => {
  const typed = (step: JobContext['step']) => {
    expectTypeOf(
      step('a', () => ({ id: 'r1', at: new Date(), tags: ['a'] as const })),
    ).resolves.toEqualTypeOf<{
      id: string
      at: string
      tags: readonly ['a']
    }>()
    expectTypeOf(step('a', async () => {})).resolves.toEqualTypeOf<void>()
    expectTypeOf(step('a', () => 1 as unknown)).resolves.toEqualTypeOf<unknown>()
    expectTypeOf(step('a', () => JSON.parse('1'))).resolves.toBeAny()
    expectTypeOf(step('a', async () => null as Row | null)).resolves.toEqualTypeOf<Row | null>()
    expectTypeOf(step('a', () => [] as Tree[])).resolves.toExtend<Tree[]>()
    // @ts-expect-error a bigint
    void step('a', () => 1n)
    // @ts-expect-error a Map, within
    void step('a', async () => ({ rows: [{ byId: new Map<string, string>() }] }))
    // @ts-expect-error one of the alternatives
    void step('a', () => null as { total?: bigint } | null)
    // @ts-expect-error a function
    void step('a', () => ({ undo: () => {} }))
  }
  interface Row {
    id: number
    name?: string | undefined
  }
  interface Tree {
    children: Tree[]
    parent?: Tree
  }

  it('is checked by the compiler', () => {
    expect(typed).toBeTypeOf('function')
  })
})

describeBoth('ctx.spawn and ctx.enqueue', (bench) => {
  const jobs = defineJobs({
    parent: job({ input: z.object({}) }),
    child: job({ input: z.object({ n: z.number() }), queue: 'children', priority: 5 }),
  })
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  const run = async (handler: (ctx: JobContext<typeof jobs, 'parent'>) => Promise<unknown>) => {
    const workers = defineWorkers(jobs, { parent: (_job, ctx) => handler(ctx), child: () => {} })
    const execution = await Execution.on(bench, workers)
    const parent = await execution.run('parent', {}, { trace })
    const { items } = await execution.store.list({ topic: 'child' })
    return { parent, children: items }
  }

  it('spawn makes children, with the options of their definition and the trace of the parent', async () => {
    const { parent, children } = await run(({ spawn }) => spawn('child', { n: 1 }, { meta: { a: 1 } }))
    expect(children).toMatchObject([
      { id: parent.result, parentId: parent.id, queue: 'children', priority: 5, trace, meta: { a: 1 } },
    ])
  })

  it('enqueue makes jobs without a parent', async () => {
    const other = trace.replace('b7', 'c8')
    const { parent, children } = await run(({ enqueue }) => enqueue('child', { n: 1 }, { trace: other }))
    expect(children).toMatchObject([{ id: parent.result, parentId: null, trace: other }])
  })

  it('refuses a payload that does not fit', async () => {
    const { parent, children } = await run(({ spawn }) => spawn('child', { n: 'one' as never }))
    expect(parent.lastError).toMatchObject({ code: 'INVALID_PAYLOAD' })
    expect(children).toEqual([])
  })

  it('both can wait for other jobs', async () => {
    const { children } = await run(async ({ spawn }) => {
      const first = await spawn('child', { n: 1 })
      await spawn('child', { n: 2 }, { after: [first] })
    })
    expect(children.map(({ status }) => status).sort()).toEqual(['blocked', 'pending'])
  })
})

describeBoth('ctx.attempt', (bench) => {
  it('counts retries, not snoozes or releases', async () => {
    const attempts: number[] = []
    const execution = await Execution.on(
      bench,
      {
        tries: async (running, { attempt }) => {
          attempts.push(attempt)
          if (running.run < 3) throw new Error('again')
        },
      },
      { retry: { strategy: 'fixed', baseDelay: 0 } },
    )
    await execution.run('tries')
    const second = await execution.startNext('tries')
    await takeAway(execution.store, second)
    await execution.settled(await execution.startNext('tries'))
    expect(attempts).toEqual([1, 2, 2])
  })
})

describeBoth('a run that lost its job', (bench) => {
  it('learns of it from a failed write, and writes nothing', async () => {
    const gate = new Gate()
    let refused: unknown
    let reason: unknown
    const execution = await Execution.on(bench, {
      slow: async (_job, ctx) => {
        await gate.opened
        refused = await ctx.checkpoint({ page: 1 }).catch((error: unknown) => error)
        reason = ctx.signal.reason
        ctx.progress(50)
        ctx.log.info('going on')
        await ctx.spawn('slow', {}).catch(() => {})
        return 'late'
      },
    })
    const run = await execution.start('slow')
    await takeAway(execution.store, run)
    gate.open()
    expect(await run.ended).toEqual({ settlement: null, abandoned: false })
    expect(refused).toMatchObject({ code: 'STALE_RUN' })
    expect(reason).toMatchObject({ code: 'STALE_RUN' })
    expect(await execution.store.get(run.job.id)).toMatchObject({
      status: 'pending',
      cursor: null,
      progress: null,
      events: [],
    })
    expect((await execution.store.list({ topic: 'slow' })).total).toBe(1)
  })

  it('may ignore the failed write', async () => {
    const gate = new Gate()
    const execution = await Execution.on(bench, {
      careless: async (_job, ctx) => {
        await gate.opened
        // An unhandled rejection would fail this test, as it would end a process.
        void ctx.emit('one')
        void ctx.checkpoint(1)
        ctx.signal.addEventListener('abort', () => void ctx.emit('two'))
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      },
    })
    const run = await execution.start('careless')
    await takeAway(execution.store, run)
    gate.open()
    expect((await run.ended).settlement).toBeNull()
  })

  it('settles nothing also when only its last events show the loss', async () => {
    const gate = new Gate()
    const execution = await Execution.on(bench, {
      slow: async (_job, ctx) => {
        await gate.opened
        ctx.progress(100)
        return 'late'
      },
    })
    const run = await execution.start('slow')
    await takeAway(execution.store, run)
    gate.open()
    expect((await run.ended).settlement).toBeNull()
  })
})

describeBoth('job events', (bench) => {
  it('are kept while the database is down, and the run waits for them', async () => {
    const real = await bench.open()
    let failures = 3
    const store = breakProgress(real, async (updates) => {
      failures -= 1
      if (failures >= 0) throw new OncueError('DATABASE_UNAVAILABLE', 'away')
      return real.recordProgress(updates)
    })
    const execution = Execution.with(store, { talks: (_job, ctx) => ctx.log.info('kept') })
    const { status, events } = await execution.run('talks')
    expect(status).toBe('completed')
    expect(told(events, 'log')).toHaveLength(1)
    expect(execution.log.of('warn')).toEqual(['could not write job events; retrying'])
  })

  it('that are refused affect no other run, and do not keep their run from ending', async () => {
    const real = await bench.open()
    let poisoned: string | undefined
    const store = breakProgress(real, async (updates) => {
      if (updates.some(({ id }) => id === poisoned)) throw new OncueError('DATABASE_REFUSED', 'no')
      return real.recordProgress(updates)
    })
    const gate = new Gate()
    const execution = Execution.with(store, {
      talks: async (_job, ctx) => {
        await gate.opened
        ctx.log.info('kept')
      },
    })
    const bad = await execution.start('talks')
    const good = await execution.start('talks')
    poisoned = bad.job.id
    gate.open()
    const [first, second] = await Promise.all([execution.settled(bad), execution.settled(good)])
    expect([first.status, first.events]).toEqual(['completed', []])
    expect([second.status, told(second.events, 'log').length]).toEqual(['completed', 1])
    expect(execution.log.of('error')).toEqual(['events of a run were lost'])
  })

  it('are given up when the executor closes while the database is still down', async () => {
    const real = await bench.open()
    const store = breakProgress(real, () => Promise.reject(new OncueError('DATABASE_UNAVAILABLE', 'away')))
    const execution = Execution.with(store, { talks: (_job, ctx) => ctx.log.info('lost') })
    const run = await execution.start('talks')
    await until(() => execution.log.of('warn').length)
    await execution.executor.close()
    expect((await run.ended).settlement).toMatchObject({ kind: 'complete' })
  })
})
