import {
  defineJobs,
  defineWorkers,
  type Handlers,
  type JobContext,
  type JobError,
  job,
  PermanentError,
  prepareJob,
} from '@oncue/core'
import { signalOf } from '@oncue/core/internal'
import type { JobDetails, Store } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Middleware } from '../src/index.ts'
import type { ExecutorOptions, Run } from '../src/run/executor.ts'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth, Gate, until } from './harness.ts'

const jobs = defineJobs({
  order: job({ input: z.unknown(), signals: { bank: z.object({ ok: z.boolean() }) }, retry: false }),
  page: job({ input: z.unknown() }),
})
type Handle = NonNullable<Handlers<typeof jobs>['order']>

const STANDING: Runtime = { ...systemRuntime, monotonic: () => 0 }
const HOUR = 3_600_000
const NOW = { max: 1, strategy: 'fixed', baseDelay: 0 } as const

/** One job, run by run, on a clock that the test moves. */
class Life {
  readonly execution: Execution
  readonly #clock: { ms: number }
  id = ''

  private constructor(execution: Execution, clock: { ms: number }) {
    this.execution = execution
    this.#clock = clock
  }

  static async on(bench: Bench, order: Handle, options: Partial<ExecutorOptions> = {}): Promise<Life> {
    const clock = { ms: START }
    const store = await bench.open({ clock: () => new Date(clock.ms) })
    const workers = defineWorkers(jobs, { order })
    return new Life(Execution.with(store, workers, { runtime: STANDING, ...options }), clock)
  }

  get store(): Store {
    return this.execution.store
  }

  async begin(): Promise<JobDetails> {
    const done = await this.execution.run('order', {}, { retry: false })
    this.id = done.id
    return done
  }

  /** The next run, after so long. */
  async goOn(ms = 0): Promise<JobDetails> {
    return this.execution.settled(await this.start(ms))
  }

  start(ms = 0): Promise<Run> {
    this.#clock.ms += ms
    return this.execution.startNext('order')
  }

  async cancel(): Promise<void> {
    expect(await this.store.cancel([this.id])).toMatchObject({ done: 1 })
  }

  /** Again, by other code. */
  async deployed(order: Handle): Promise<JobDetails> {
    const other = Execution.with(this.store, defineWorkers(jobs, { order }), { runtime: STANDING })
    return other.settled(await other.startNext('order'))
  }

  async keys(): Promise<string[]> {
    return (await this.store.durable.outcomes(this.id)).map(({ key }) => key)
  }
}

/** What handlers did outside of the database. */
let effects: string[] = []
const did = (what: string) => {
  effects.push(what)
  return what
}

/** Charges and books, and knows how to undo both. */
const charge = async ({ step, undo }: JobContext<typeof jobs, 'order'>) => {
  const receipt = await step('charge', () => did('charge'))
  await undo('refund', () => did(`refund ${receipt}`))
  const ticket = await step('book', () => did('book'))
  await undo('unbook', () => did(`unbook ${ticket}`))
}

const UNDONE = ['charge', 'book', 'unbook book', 'refund charge']

const undoing = (status: 'failed' | 'cancelled') => ({ status: 'pending', ending: { status }, waits: null })

function fresh(): void {
  effects = []
  onTestFinished(() => {
    effects = []
  })
}

describeBoth('a job with undos', (bench) => {
  it('that fails for good runs them in its next run, the last one first, each once', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, ctx) => {
      ctx.log.info('began')
      await charge(ctx)
      throw new PermanentError('out of stock')
    })
    expect(await life.begin()).toMatchObject({ ...undoing('failed'), lastError: { message: 'out of stock' } })
    expect(effects).toEqual(['charge', 'book'])
    const done = await life.goOn()
    expect(done).toMatchObject({ status: 'failed', run: 2, lastError: { message: 'out of stock' } })
    expect(done.lastError?.causes).toBeUndefined()
    expect(effects).toEqual(UNDONE)
    // The second run is no story of its own.
    expect(done.events.map(({ type }) => type)).toEqual([
      'log',
      'step_finished',
      'step_finished',
      'run_failed',
      'undoing',
      'undone',
      'undone',
    ])
    expect(await life.keys()).toEqual([
      'step:charge',
      'undo:refund',
      'step:book',
      'undo:unbook',
      'undone:unbook',
      'undone:refund',
    ])
  })

  it('that is cancelled while it waits comes to its wait again, and no further', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, ctx) => {
      await charge(ctx)
      await ctx.receive('bank')
      did('went on')
      await ctx.step('ship', () => did('ship'))
    })
    expect(await life.begin()).toMatchObject({ status: 'blocked', ending: null })
    await life.cancel()
    expect(await life.goOn()).toMatchObject({ status: 'cancelled', lastError: null, ending: null })
    expect(effects).toEqual(UNDONE)
  })

  const beyond: Record<string, (ctx: JobContext<typeof jobs, 'order'>) => Promise<unknown>> = {
    step: (ctx) => ctx.step('ship', () => did('ship')),
    'step.each': (ctx) => ctx.step.each('ship', [1, 2], () => did('ship'), { concurrency: 2 }),
    'a short sleep': (ctx) => ctx.sleep('nap', 1),
    sleep: (ctx) => ctx.sleep('night', '8h'),
    ask: (ctx) => ctx.ask('ok', 'Go on?', z.object({})),
    since: (ctx) => ctx.since('change'),
    spawn: (ctx) => ctx.spawn('page', 1),
    all: (ctx) => ctx.all([ctx.spawn('page', 1), ctx.spawn('page', 2)]),
    enqueue: (ctx) => ctx.enqueue('page', 1),
    undo: (ctx) => ctx.undo('unship', () => did('unship')),
  }
  it.each(Object.keys(beyond))('does nothing new while it is undone: %s', async (call) => {
    fresh()
    let isFirst = true
    const life = await Life.on(bench, async (_job, ctx) => {
      await charge(ctx)
      if (isFirst) await ctx.receive('bank')
      await beyond[call]?.(ctx)
      did('went on')
    })
    await life.begin()
    isFirst = false
    await life.cancel()
    const keys = await life.keys()
    expect(await life.goOn()).toMatchObject({ status: 'cancelled' })
    expect(effects).toEqual(UNDONE)
    expect(await life.keys()).toEqual([...keys, 'undone:unbook', 'undone:refund'])
    expect(await life.store.stats()).toMatchObject({ pending: 0, cancelled: 1 })
  })

  it('is undone if its handler ignores what stopped it, and if middleware does', async () => {
    fresh()
    const seen: unknown[] = []
    const swallow: Middleware = async (_job, _ctx, next) => {
      try {
        return await next()
      } catch (error) {
        seen.push(signalOf(error)?.kind)
        return 'all is well'
      }
    }
    const life = await Life.on(
      bench,
      async (_job, ctx) => {
        await charge(ctx)
        await ctx.receive('bank')
      },
      { middleware: [swallow] },
    )
    await life.begin()
    await life.cancel()
    expect(await life.goOn()).toMatchObject({ status: 'cancelled' })
    expect(seen).toEqual(['suspend', 'suspend'])
    expect(effects).toEqual(UNDONE)
  })

  it('finds the undos of branches that go on at the same time', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, { step, undo, sleep }) => {
      const branch = async (name: string) => {
        await step(name, () => did(name))
        await undo(`un-${name}`, () => did(`un-${name}`))
        await sleep(`rest ${name}`, '1h')
      }
      await Promise.all([branch('a'), branch('b')])
    })
    await life.begin()
    await life.cancel()
    expect(await life.goOn()).toMatchObject({ status: 'cancelled' })
    expect(effects.slice(2).toSorted()).toEqual(['un-a', 'un-b'])
  })

  it('gives an undo that was registered before its step what the step returned', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, { step, undo }) => {
      let receipt: string | undefined
      await undo('refund', () => did(`refund ${receipt}`))
      receipt = await step('charge', () => did('charge'))
      throw new PermanentError('no')
    })
    await life.begin()
    await life.goOn()
    expect(effects).toEqual(['charge', 'refund charge'])
  })

  it('is not undone while it has retries left, nor if it completes', async () => {
    fresh()
    let runs = 0
    const order: Handle = async (_job, ctx) => {
      await charge(ctx)
      runs += 1
      if (runs === 1) throw new Error('busy')
    }
    const execution = await Execution.on(bench, defineWorkers(jobs, { order }), { runtime: STANDING })
    expect(await execution.run('order', {}, { retry: NOW })).toMatchObject({
      status: 'pending',
      ending: null,
    })
    expect(await execution.settled(await execution.startNext('order'))).toMatchObject({ status: 'completed' })
    expect(effects).toEqual(['charge', 'book'])
  })

  it('goes on with other runs only after a pause of an undo that fails', async () => {
    fresh()
    let failures = 2
    const life = await Life.on(bench, async (_job, { step, undo }) => {
      await step('charge', () => did('charge'))
      await undo('refund', () => did('refund'))
      await undo(
        'unbook',
        () => {
          did('unbook')
          failures -= 1
          if (failures >= 0) throw new Error('busy')
        },
        { retry: { max: 2, strategy: 'fixed', baseDelay: HOUR } },
      )
      throw new PermanentError('no')
    })
    await life.begin()
    expect(await life.goOn()).toMatchObject({
      status: 'pending',
      ending: { status: 'failed' },
      waits: { for: [{ kind: 'retry', name: 'unbook' }] },
      runAt: new Date(START + HOUR),
    })
    expect(await life.goOn(HOUR)).toMatchObject({ waits: { for: [{ name: 'unbook' }] } })
    const undoing = { retrying: 0, undoing: 1, failed: 0, nextTryAt: new Date(START + 2 * HOUR) }
    expect(await life.store.failures()).toMatchObject([undoing])
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'failed', lastError: { message: 'no' } })
    expect(effects).toEqual(['charge', 'unbook', 'unbook', 'unbook', 'refund'])
  })

  it('tells why each attempt of an undo failed, as soon as it is to be repeated', async () => {
    fresh()
    let failures = 2
    const life = await Life.on(bench, async (_job, { undo }) => {
      const undoing = () => {
        did('refund')
        failures -= 1
        if (failures >= 0) throw Object.assign(new TypeError(`no route ${failures}`), { code: 'ENOROUTE' })
      }
      await undo('refund', undoing, { retry: { max: 2, strategy: 'fixed', baseDelay: HOUR } })
      throw new PermanentError('no')
    })
    await life.begin()
    const told = ({ events }: JobDetails) =>
      events.flatMap(({ type, data }) => (type === 'undo_retried' ? [data] : []))
    const attempt = (n: number) => ({
      name: 'refund',
      attempt: n,
      error: { class: 'TypeError', message: `no route ${2 - n}`, code: 'ENOROUTE' },
    })
    const waiting = await life.goOn()
    expect(told(waiting)).toEqual([attempt(1)])
    // With why it is undone.
    expect(waiting.lastError).toMatchObject({ message: 'no route 1', causes: [{ message: 'no' }] })
    expect(told(await life.goOn(HOUR))).toEqual([attempt(1), attempt(2)])
    const done = await life.goOn(HOUR)
    expect(told(done)).toEqual([attempt(1), attempt(2)])
    expect(done).toMatchObject({ status: 'failed', lastError: { message: 'no' } })
    const story = await life.store.timeline(life.id)
    const entries = story?.entries.filter(({ kind, name }) => kind === 'event' && name === 'undo_retried')
    expect(entries?.map(({ data }) => data)).toEqual([attempt(1), attempt(2)])
  })

  it('repeats a failed undo ten times unless it says otherwise', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, { undo }) => {
      await undo('refund', () => {
        did('refund')
        throw new Error('busy')
      })
      throw new PermanentError('no')
    })
    await life.begin()
    let done = await life.goOn()
    while (done.status === 'pending') done = await life.goOn(HOUR)
    expect(effects).toHaveLength(11)
    expect(done).toMatchObject({ status: 'failed', lastError: { code: 'UNDO_FAILED' } })
  })

  it('fails with an undo that keeps failing, its error and why it had to be undone; earlier ones are left', async () => {
    fresh()
    let isBroken = true
    const life = await Life.on(bench, async (_job, { step, undo }) => {
      await step('charge', () => did('charge'))
      await undo('refund', () => did('refund'))
      await step('book', () => did('book'))
      await undo(
        'unbook',
        () => {
          if (isBroken) throw new TypeError('no route')
          did('unbook')
        },
        { retry: NOW },
      )
      await step('ship', () => did('ship'))
      await undo('unship', () => did('unship'))
      throw new PermanentError('out of stock')
    })
    await life.begin()
    const failed = await life.goOn()
    const { code, message, causes = [] } = failed.lastError as JobError
    expect(failed).toMatchObject({ status: 'failed', ending: null })
    expect([code, message]).toEqual([
      'UNDO_FAILED',
      'the undo "unbook" failed: no route; not undone either: "refund"',
    ])
    expect(causes).toMatchObject([{ class: 'TypeError', message: 'no route' }, { message: 'out of stock' }])
    expect(effects).toEqual(['charge', 'book', 'ship', 'unship'])

    // A requeue repeats what was undone, and undoes the rest if it fails again.
    effects = []
    isBroken = false
    await life.store.requeue([life.id])
    expect(await life.goOn()).toMatchObject(undoing('failed'))
    expect(effects).toEqual(['ship'])
    expect(await life.goOn()).toMatchObject({ status: 'failed', lastError: { message: 'out of stock' } })
    expect(effects).toEqual(['ship', 'unship', 'unbook', 'refund'])

    effects = []
    await life.store.requeue([life.id])
    await life.goOn()
    expect(effects).toEqual(['charge', 'book', 'ship'])
  })

  it('fails with UNDO_MISSING if the handler no longer comes to an undo: none runs', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, ctx) => {
      await charge(ctx)
      await ctx.receive('bank')
    })
    await life.begin()
    await life.cancel()
    const done = await life.deployed(async (_job, { step, undo, receive }) => {
      await step('charge', () => did('charge'))
      await undo('refund', () => did('refund'))
      await receive('bank')
    })
    expect(done).toMatchObject({ status: 'failed', lastError: { code: 'UNDO_MISSING' } })
    expect(done.lastError?.message).toContain('"unbook"')
    expect(effects).toEqual(['charge', 'book'])
  })

  it('tries again if the handler throws before it comes to its undos', async () => {
    fresh()
    let isAway = false
    const life = await Life.on(bench, async (_job, ctx) => {
      if (isAway) throw new Error('no configuration')
      await charge(ctx)
      await ctx.receive('bank')
    })
    await life.begin()
    await life.cancel()
    isAway = true
    expect(await life.goOn()).toMatchObject({
      status: 'pending',
      retries: 1,
      lastError: { code: 'UNDO_MISSING', causes: [{ message: 'no configuration' }] },
    })
    isAway = false
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'cancelled', lastError: null })
    expect(effects).toEqual(UNDONE)
  })

  it.each(['shutdown', 'timeout'] as const)('leaves the rest to the next run at a %s', async (reason) => {
    fresh()
    const reached = new Gate()
    let isFirst = true
    const life = await Life.on(bench, async (_job, { undo }) => {
      await undo('first', () => did('first'))
      await undo('second', async (signal) => {
        if (!isFirst) return did('second')
        isFirst = false
        reached.open()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      })
      await undo('third', () => did('third'))
      throw new PermanentError('no')
    })
    await life.begin()
    const run = await life.start()
    await reached.opened
    run.abort(reason)
    expect(await life.execution.settled(run)).toMatchObject({
      status: 'pending',
      ending: { status: 'failed' },
    })
    expect(effects).toEqual(['third'])
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'failed', lastError: { message: 'no' } })
    expect(effects).toEqual(['third', 'second', 'first'])
  })

  it('limits an attempt by its timeout', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, { undo }) => {
      await undo(
        'refund',
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        { timeout: 1, retry: { max: 0 } },
      )
      throw new PermanentError('no')
    })
    await life.begin()
    expect(await life.goOn()).toMatchObject({ status: 'failed', lastError: { code: 'UNDO_FAILED' } })
  })

  it('releases what the run holds when the undos have run', async () => {
    fresh()
    const life = await Life.on(bench, async (_job, ctx) => {
      ctx.defer(() => did('closed'))
      await charge(ctx)
      throw new PermanentError('no')
    })
    await life.begin()
    effects = []
    await life.goOn()
    expect(effects).toEqual(['unbook book', 'refund charge', 'closed'])
  })
})

describeBoth('ctx.undo', (bench) => {
  const refused: Record<string, [Handle, string]> = {
    'the same name twice': [
      async (_job, { undo }) => {
        await undo('a', () => {})
        await undo('a', () => {})
      },
      'DUPLICATE_STEP',
    ],
    'no function': [(_job, { undo }) => undo('a', 'refund' as never), 'INVALID_INPUT'],
    'no name': [(_job, { undo }) => undo('', () => {}), 'INVALID_INPUT'],
    'retries that make no sense': [
      (_job, { undo }) => undo('a', () => {}, { retry: { max: -1 } }),
      'INVALID_INPUT',
    ],
    'a timeout that makes no sense': [
      (_job, { undo }) => undo('a', () => {}, { timeout: 'soon' as never }),
      'INVALID_INPUT',
    ],
    'a call within a step': [
      async (_job, { step, undo }) => {
        await step('a', () => undo('b', () => {}))
      },
      'NESTED_CALL',
    ],
  }
  it.each(Object.keys(refused))('refuses %s', async (what) => {
    const [order, code] = refused[what] as [Handle, string]
    const life = await Life.on(bench, order)
    let done = await life.begin()
    while (done.status === 'pending') done = await life.goOn(HOUR)
    expect(done).toMatchObject({ status: 'failed', lastError: { code } })
  })

  it('refuses calls of the context within an undo', async () => {
    const life = await Life.on(bench, async (_job, { step, undo }) => {
      await undo('a', () => step('b', () => {}), { retry: { max: 0 } })
      throw new PermanentError('no')
    })
    await life.begin()
    const { lastError } = await life.goOn()
    expect(lastError).toMatchObject({
      code: 'UNDO_FAILED',
      causes: [{ code: 'NESTED_CALL' }, { message: 'no' }],
    })
  })
})

describeBoth('a worker whose job is undone', (bench) => {
  it('tells its end once, when it is undone', async () => {
    fresh()
    const store = await bench.open()
    const told: unknown[] = []
    const ends: string[] = []
    const workers = defineWorkers(jobs, {
      async order(_job, ctx) {
        await charge(ctx)
        throw new PermanentError('out of stock')
      },
    })
    await bench.start({
      store,
      workers,
      onFailed: (_job, error) => void told.push(error.message),
      onSettled: (_job, { kind }) => void ends.push(kind),
    })
    const [id = ''] = await store.enqueue([prepareJob('order', {}, { retry: false })])
    await until(async () => (await store.get(id))?.status === 'failed')
    await until(() => told.length > 0)
    expect(told).toEqual(['out of stock'])
    expect(ends).toEqual(['retry', 'fail'])
    expect(effects).toEqual(UNDONE)
  })
})

describe('the types of ctx.undo', () => {
  it('are checked', () => {
    const order: Handle = async (_job, { undo }) => {
      expectTypeOf(undo('a', async (signal) => signal.aborted)).toEqualTypeOf<Promise<void>>()
      await undo('b', () => {}, { retry: { max: 1 }, timeout: '5s' })
      // @ts-expect-error: without what undoes
      await undo('c')
      // @ts-expect-error: no duration
      await undo('d', () => {}, { timeout: 'soon' })
    }
    expect(order).toBeTypeOf('function')
  })
})
